/* A program to be killed: its main thread stalls again and again, and its recorder says on stdout,
 * at once, which stalls it found. What was said may not be lost, whenever the program is killed.
 *
 *     mortal DIR [MS] [background | once | remove]
 *
 * Stalls of MS ms (60); with 0 it starts and stops the recorder, so that what others left in DIR is
 * written. background: as if the app had left the foreground. once: one stall that does not end.
 * remove: DIR goes when the first stall was found. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stallrec.h"

enum { HEALTHY_MS = 3 };

static const char *directory, *mode = "";

static void sleep_ms(long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static void say(const char *what, const char *which) {
    char line[8192];
    int len = snprintf(line, sizeof line, "%s %s\n", what, which);
    ssize_t n = write(STDOUT_FILENO, line, (size_t)len);
    (void)n;
}

static void on_begin(void *user, const struct stallrec_stall *stall) {
    (void)user;
    say("begin", stall->id);
    if (strcmp(mode, "remove") == 0) {
        char command[4200];
        snprintf(command, sizeof command, "rm -r '%s'", directory);
        if (system(command) != 0) {
            say("cannot remove", directory);
        }
        mode = "";
    }
}

static void on_written(void *user, const char *path) {
    (void)user;
    say("written", path);
}

static void on_lost(void *user, const char *path, enum stallrec_error why) {
    (void)user, (void)path;
    say("lost", stallrec_error_text(why));
}

int main(int argc, char **argv) {
    struct stallrec_config config;
    struct stallrec *rec;
    long ms = argc > 2 ? strtol(argv[2], NULL, 10) : 60;
    directory = argc > 1 ? argv[1] : "";
    mode = argc > 3 ? argv[3] : "";
    stallrec_config_init(&config, sizeof config);
    config.directory = directory;
    config.app_id = "mortal";
    config.threshold_ms = 20;
    config.check_ms = 10;
    config.sample_ms = 5;
    config.first_sample_ms = 5;
    config.threads_after_ms = 30;
    config.callbacks.stall_begin = on_begin;
    config.callbacks.dump_written = on_written;
    config.callbacks.dump_lost = on_lost;
    enum stallrec_error st = stallrec_start(&rec, &config);
    if (st != STALLREC_OK) {
        say("not started", stallrec_error_text(st));
        return 1;
    }
    if (strcmp(mode, "background") == 0) {
        stallrec_foreground(rec, 0);
    }
    struct stallrec_loop *loop = stallrec_main_loop(rec);
    for (int left = strcmp(mode, "once") == 0 ? 1 : 1000; ms > 0 && left > 0; left--) {
        stallrec_loop_sleep(loop);
        sleep_ms(HEALTHY_MS);
        stallrec_loop_wake(loop);
        sleep_ms(ms);
    }
    stallrec_stop(rec);
    return 0;
}
