/* A shop app whose main thread stalls in seven ways, a healthy second apart: what `make demo`
 * records. Nothing in it knows the recorder, which is preloaded (`stallrec -- stalls`), unless
 * --hooks asks it to call stallrec.h's hooks around its wait.
 *
 * Every stall goes through functions of its own, named as an app would name them, so that a bucket
 * can name them too. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "loop.h"
#include "stallrec.h"

enum { TICK_MS = 40, HEALTHY_TICKS = 25, WORKERS = 3, VIEW_DEPTH = 32 };

static long stall_ms = 2700;
static const char *release = "1.0"; /* version that the app says it has, with --hooks */
static struct loop app_loop;
static volatile uint64_t sink;

/* ---- worker threads ---- */

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static void (*queued_job)(void);

static void *worker(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&queue_lock);
        while (!queued_job) {
            pthread_cond_wait(&queue_filled, &queue_lock);
        }
        void (*job)(void) = queued_job;
        queued_job = NULL;
        pthread_mutex_unlock(&queue_lock);
        job();
    }
    return NULL;
}

static void worker_run(void (*job)(void)) {
    pthread_mutex_lock(&queue_lock);
    queued_job = job;
    pthread_cond_signal(&queue_filled);
    pthread_mutex_unlock(&queue_lock);
}

static void start_thread(void *(*run)(void *), const char *name) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) {
        die("pthread_create");
    }
    pthread_setname_np(thread, name);
    pthread_detach(thread);
}

/* ---- compute: the search ranks its results on the main thread ---- */

OWN_FRAME static uint64_t score_product(uint64_t seed) {
    for (int i = 0; i < 2000000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        seed ^= seed >> 29;
    }
    return seed;
}

OWN_FRAME static void rank_search_results(void) {
    int64_t until = now_ms() + stall_ms;
    while (now_ms() < until) {
        sink += score_product(sink);
    }
}

OWN_FRAME static void on_search_typed(void) {
    rank_search_results();
    KEEP_FRAME();
}

/* ---- lock: a worker synchronises the cart and holds its lock over the network ---- */

static pthread_mutex_t cart_lock = PTHREAD_MUTEX_INITIALIZER;

OWN_FRAME static void sync_cart_holding_lock(void) {
    pthread_mutex_lock(&cart_lock);
    loop_post(&app_loop); /* the user taps while the lock is held */
    sleep_ms(stall_ms);
    pthread_mutex_unlock(&cart_lock);
}

OWN_FRAME static void cart_total_price(void) {
    pthread_mutex_lock(&cart_lock);
    sink++;
    pthread_mutex_unlock(&cart_lock);
    KEEP_FRAME();
}

OWN_FRAME static void on_cart_tapped(void) {
    cart_total_price();
    KEEP_FRAME();
}

/* ---- disk: every order line is written and synced on the main thread ---- */

static int journal_fd = -1;

static void open_journal(void) {
    const char *dir = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/stalls-journal-XXXXXX", dir && *dir ? dir : "/var/tmp");
    journal_fd = mkstemp(path);
    if (journal_fd < 0) {
        die(path);
    }
    unlink(path);
}

OWN_FRAME static void append_to_journal(const char *page, size_t size) {
    if (pwrite(journal_fd, page, size, 0) != (ssize_t)size || fsync(journal_fd) != 0) {
        die("journal");
    }
    KEEP_FRAME();
}

OWN_FRAME static void save_order_lines(void) {
    static char page[1 << 20];
    int64_t until = now_ms() + stall_ms;
    while (now_ms() < until) {
        page[sink++ % sizeof page]++;
        append_to_journal(page, sizeof page);
    }
}

OWN_FRAME static void on_order_saved(void) {
    save_order_lines();
    KEEP_FRAME();
}

/* ---- network: a blocking read from a slow server ---- */

static struct sockaddr_in server_address = {.sin_family = AF_INET};
static int server_fd = -1;

static void *slow_server(void *unused) {
    (void)unused;
    for (;;) {
        int fd = accept(server_fd, NULL, NULL);
        char request[64];
        if (fd < 0 || read(fd, request, sizeof request) <= 0) {
            die("server");
        }
        sleep_ms(stall_ms);
        if (write(fd, "catalogue", 9) != 9) {
            die("server");
        }
        close(fd);
    }
    return NULL;
}

static void start_server(void) {
    socklen_t size = sizeof server_address;
    server_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server_fd < 0 || bind(server_fd, (struct sockaddr *)&server_address, size) != 0 ||
        listen(server_fd, 4) != 0 ||
        getsockname(server_fd, (struct sockaddr *)&server_address, &size) != 0) {
        die("loopback server");
    }
    start_thread(slow_server, "slow-server");
}

OWN_FRAME static void read_http_response(int fd) {
    char response[64];
    while (read(fd, response, sizeof response) > 0) {
        sink++;
    }
    KEEP_FRAME();
}

OWN_FRAME static void fetch_catalogue(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&server_address, sizeof server_address) != 0 ||
        write(fd, "GET /catalogue", 14) != 14) {
        die("catalogue");
    }
    read_http_response(fd);
    close(fd);
}

OWN_FRAME static void on_pull_to_refresh(void) {
    fetch_catalogue();
    KEEP_FRAME();
}

/* ---- ipc: a callback polls for a reply from another thread ---- */

static int reply_fds[2];

OWN_FRAME static void decode_avatar_slowly(void) {
    sleep_ms(stall_ms);
    if (write(reply_fds[1], "", 1) != 1) {
        die("reply");
    }
}

OWN_FRAME static void wait_for_avatar_reply(void) {
    struct pollfd reply = {.fd = reply_fds[0], .events = POLLIN};
    char byte;
    while (poll(&reply, 1, -1) < 0 && errno == EINTR) {
    }
    if (read(reply_fds[0], &byte, 1) != 1) {
        die("reply");
    }
    KEEP_FRAME();
}

OWN_FRAME static void load_avatar_synchronously(void) {
    worker_run(decode_avatar_slowly);
    wait_for_avatar_reply();
    KEEP_FRAME();
}

OWN_FRAME static void on_profile_opened(void) {
    load_avatar_synchronously();
    KEEP_FRAME();
}

/* ---- layout: a deep tree of views measures itself again and again ---- */

OWN_FRAME static uint64_t measure_text(uint64_t width) {
    for (int i = 0; i < 20000; i++) {
        width = width * 2862933555777941757u + 3037000493u;
    }
    return width >> 32;
}

OWN_FRAME static uint64_t layout_subviews(unsigned depth, uint64_t width) {
    if (depth == 0) {
        uint64_t sum = 0;
        for (int line = 0; line < 100; line++) {
            sum += measure_text(width + (uint64_t)line);
        }
        return sum;
    }
    uint64_t inner = layout_subviews(depth - 1, width - 1);
    KEEP_FRAME();
    return inner + depth;
}

OWN_FRAME static void on_device_rotated(void) {
    int64_t until = now_ms() + stall_ms;
    while (now_ms() < until) {
        sink += layout_subviews(VIEW_DEPTH, sink);
    }
}

/* ---- sleep: a retry waits on the main thread ---- */

OWN_FRAME static void back_off_before_retry(void) {
    sleep_ms(stall_ms);
    KEEP_FRAME();
}

OWN_FRAME static void on_payment_failed(void) {
    back_off_before_retry();
    KEEP_FRAME();
}

/* ---- the app ---- */

struct action {
    const char *name;
    void (*run)(void);
    void (*first)(void); /* a worker does this and then posts the event; NULL: nothing */
    bool skipped;
};

static struct action actions[] = {
    {"compute", on_search_typed, NULL, false},
    {"lock", on_cart_tapped, sync_cart_holding_lock, false},
    {"disk", on_order_saved, NULL, false},
    {"network", on_pull_to_refresh, NULL, false},
    {"ipc", on_profile_opened, NULL, false},
    {"layout", on_device_rotated, NULL, false},
    {"sleep", on_payment_failed, NULL, false},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

static unsigned next_action, healthy_ticks;

OWN_FRAME static void on_tick(struct loop *loop, uint64_t ticks) {
    (void)ticks;
    while (next_action < ACTIONS && actions[next_action].skipped) {
        next_action++;
    }
    if (++healthy_ticks != HEALTHY_TICKS) {
        return;
    }
    if (next_action == ACTIONS) {
        loop->stopped = true;
    } else if (actions[next_action].first) {
        worker_run(actions[next_action].first);
    } else {
        loop_post(loop);
    }
}

OWN_FRAME static void on_event(struct loop *loop) {
    (void)loop;
    struct action *action = &actions[next_action++];
    int64_t start = now_ms();
    action->run();
    printf("%s: stalled for %lld ms\n", action->name, (long long)(now_ms() - start));
    fflush(stdout);
    healthy_ticks = 0;
}

/* ---- the recorder built in ---- */

static struct stallrec_loop *watched;

static void before_wait(void) {
    stallrec_loop_sleep(watched);
}

static void after_wait(void) {
    stallrec_loop_wake(watched);
}

static void say_written(void *unused, const char *path) {
    (void)unused;
    printf("wrote %s\n", path);
}

static struct stallrec *start_recorder(const char *directory, long threshold_ms) {
    struct stallrec_config config;
    struct stallrec *recorder;
    stallrec_config_init(&config, sizeof config);
    config.directory = directory;
    config.app_id = "com.example.shop";
    config.app_version = release;
    config.callbacks.dump_written = say_written;
    if (threshold_ms) {
        config.threshold_ms = (uint32_t)threshold_ms;
    }
    enum stallrec_error error = stallrec_start(&recorder, &config);
    if (error != STALLREC_OK) {
        fprintf(stderr, "stalls: %s: %s\n", directory, stallrec_error_text(error));
        exit(1);
    }
    watched = stallrec_main_loop(recorder);
    return recorder;
}

/* ---- command line ---- */

static int usage(FILE *to) {
    fputs("usage: stalls [--ms MS] [--only NAME[,NAME]...] [--hooks DIR [--threshold MS] "
          "[--release VERSION]]\n"
          "Stalls once in each way, a healthy second apart: ",
          to);
    for (unsigned i = 0; i < ACTIONS; i++) {
        fprintf(to, "%s%s", actions[i].name, i + 1 < ACTIONS ? ", " : "\n");
    }
    return to == stdout ? 0 : 2;
}

static bool choose(const char *names) {
    for (unsigned i = 0; i < ACTIONS; i++) {
        actions[i].skipped = true;
    }
    while (*names) {
        size_t len = strcspn(names, ",");
        bool known = false;
        for (unsigned i = 0; i < ACTIONS; i++) {
            if (strlen(actions[i].name) == len && !strncmp(actions[i].name, names, len)) {
                actions[i].skipped = false;
                known = true;
            }
        }
        if (!known) {
            fprintf(stderr, "stalls: no such stall: %.*s\n", (int)len, names);
            return false;
        }
        names += len + (names[len] == ',');
    }
    return true;
}

/* Milliseconds, 1 to 600000; 0 = something else. */
static long milliseconds(const char *text) {
    char *end;
    long ms = strtol(text, &end, 10);
    return *end || ms < 1 || ms > 600000 ? 0 : ms;
}

int main(int argc, char **argv) {
    const char *hooks = NULL;
    long threshold_ms = 0;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--help")) {
            return usage(stdout);
        } else if (!value) {
            return usage(stderr);
        } else if (!strcmp(argv[i], "--ms") && milliseconds(value)) {
            stall_ms = milliseconds(value);
        } else if (!strcmp(argv[i], "--only")) {
            if (!choose(value)) {
                return 2;
            }
        } else if (!strcmp(argv[i], "--hooks")) {
            hooks = value;
        } else if (!strcmp(argv[i], "--release")) {
            release = value;
        } else if (!strcmp(argv[i], "--threshold") && milliseconds(value)) {
            threshold_ms = milliseconds(value);
        } else {
            return usage(stderr);
        }
    }
    if (pipe(reply_fds) != 0) {
        die("pipe");
    }
    open_journal();
    start_server();
    for (int i = 0; i < WORKERS; i++) {
        start_thread(worker, "worker");
    }
    app_loop.on_tick = on_tick;
    app_loop.on_event = on_event;
    loop_open(&app_loop, TICK_MS);
    struct stallrec *recorder = hooks ? start_recorder(hooks, threshold_ms) : NULL;
    loop_run(&app_loop, hooks ? before_wait : NULL, hooks ? after_wait : NULL);
    stallrec_stop(recorder);
    return 0;
}
