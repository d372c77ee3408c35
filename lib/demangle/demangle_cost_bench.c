/* Measures the cost of the most expensive names: processor time of one call, and peak memory. Names
 * are the lines of the file given as argument, else the first column of
 * testdata/demangle/swift.tsv. Prints a line for each name past 10 ms or 16 MB, and the maxima at
 * the end; exit status 1 if a name passed a limit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/parse.h"
#include "base/strbuf.h"
#include "demangle/demangle.h"

enum { TIME_LIMIT_US = 10000, MEMORY_LIMIT_KB = 16 * 1024, TRIES = 5 };

struct name_cost {
    uint64_t us, kb;
};

/* Returns the number of kB after a word of /proc/self/status; 0 where there is none. */
static uint64_t status_kb(const char *word) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    uint64_t kb = 0;
    bool done = false;
    while (f && !done && fgets(line, sizeof line, f)) {
        if (strncmp(line, word, strlen(word)) == 0) {
            const char *number = line + strlen(word) + strspn(line + strlen(word), " \t");
            done = parse_u64(number, strspn(number, "0123456789"), UINT64_MAX, &kb);
        }
    }
    if (f) {
        fclose(f);
    }
    return done ? kb : 0;
}

/* Gives free memory back to the system, resets the peak (proc(5), clear_refs), and returns the kB
 * that the process has now. */
static uint64_t reset_peak(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f) {
        fputs("5\n", f);
        fclose(f);
    }
    return status_kb("VmRSS:");
}

static uint64_t processor_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Measures one call. False: out of memory. */
static bool measure_once(const char *name, size_t len, enum demangle_style style,
                         struct name_cost *out) {
    struct strbuf text = {0};
    uint64_t before_kb = reset_peak(), start = processor_us();
    enum st st = demangle(name, len, style, &text, NULL);
    out->us = processor_us() - start;
    uint64_t peak_kb = status_kb("VmHWM:");
    out->kb = peak_kb > before_kb ? peak_kb - before_kb : 0;
    strbuf_release(&text);
    return st != ST_ERR;
}

static bool is_over(const struct name_cost *c) {
    return c->us > TIME_LIMIT_US || c->kb > MEMORY_LIMIT_KB;
}

/* Measures one call; if it passes a limit, returns the least of several calls, because the machine
 * may be busy. */
static bool measure(const char *name, size_t len, enum demangle_style style,
                    struct name_cost *out) {
    bool done = measure_once(name, len, style, out);
    for (int i = 1; done && i < TRIES && is_over(out); i++) {
        struct name_cost again;
        done = measure_once(name, len, style, &again);
        out->us = again.us < out->us ? again.us : out->us;
        out->kb = again.kb < out->kb ? again.kb : out->kb;
    }
    return done;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "testdata/demangle/swift.tsv";
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0, names = 0, over = 0;
    struct name_cost most = {0};
    bool done = f != NULL;
    while (done && getline(&line, &room, f) > 0) {
        size_t len = strcspn(line, "\t\n");
        names++;
        for (int style = DEMANGLE_SIMPLIFIED; done && style <= DEMANGLE_FULL; style++) {
            struct name_cost c = {0};
            done = measure(line, len, (enum demangle_style)style, &c);
            most.us = c.us > most.us ? c.us : most.us;
            most.kb = c.kb > most.kb ? c.kb : most.kb;
            if (is_over(&c)) {
                over++;
                printf("over: %.40s, %zu bytes: %" PRIu64 " us, %" PRIu64 " kB\n", line, len, c.us,
                       c.kb);
            }
        }
    }
    free(line);
    if (f) {
        fclose(f);
    }
    if (!done) {
        printf("cost of names: %s: not there, or out of memory\n", path);
        return 1;
    }
    printf("cost of names: %zu, at most %.2f ms and %.1f MB of one\n", names,
           (double)most.us / 1000, (double)most.kb / 1024);
    return over > 0;
}
