/* Measures how many Swift names one thread demangles per second, in both forms: the names of
 * testdata/demangle/swift.tsv, and those of REAL/demangle/swift-oracle.tsv.xz if the environment
 * has REAL. No answer is cached. SWIFT_ORACLE may name a program that does the same with Swift's
 * own reader, "PROGRAM bench ROUNDS < NAMES". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "demangle/swift_name.h"

enum { NAMES_AT_LEAST = 500000 };

struct names {
    struct arena arena;
    char **items;
    size_t count;
    size_t room;
};

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Reads the Swift names in the first column of a table. False: there is no file, or out of memory.
 */
static bool read_names(struct names *n, FILE *f) {
    char *line = NULL;
    size_t room = 0;
    bool done = f != NULL;
    while (done && getline(&line, &room, f) > 0) {
        const char *name = line + (strncmp(line, "__", 2) == 0);
        size_t len = strcspn(name, "\t\n");
        if (!swift_has_prefix(name, len)) {
            continue;
        }
        if (n->count == n->room) {
            size_t wanted = n->room ? n->room * 2 : 1024;
            char **items = realloc(n->items, wanted * sizeof *items);
            if (!items) {
                done = false;
                break;
            }
            n->items = items;
            n->room = wanted;
        }
        n->items[n->count] = arena_strdup(&n->arena, name, len);
        done = n->items[n->count++] != NULL;
    }
    free(line);
    return done;
}

/* Returns the CPU seconds of one round, the least of several rounds. */
static double best_round(const struct names *n, bool simplified) {
    struct swift_scratch scratch = {0};
    struct strbuf out = {0};
    double best = 1e9;
    for (size_t done = 0; done < NAMES_AT_LEAST; done += n->count) {
        double start = cpu_seconds();
        for (size_t i = 0; i < n->count; i++) {
            strbuf_clear(&out);
            enum st st =
                swift_demangle(&scratch, n->items[i], strlen(n->items[i]), simplified, &out, NULL);
            if (st == ST_ERR) {
                return -1;
            }
        }
        double seconds = cpu_seconds() - start;
        best = seconds < best ? seconds : best;
    }
    strbuf_release(&out);
    swift_scratch_release(&scratch);
    return best;
}

static void report(const char *what, FILE *f) {
    struct names n = {0};
    if (!read_names(&n, f) || n.count == 0) {
        printf("swift names, %s: not there\n", what);
    } else {
        double count = (double)n.count * 1e-6;
        printf("swift names, %s: %zu, %.2f million/s in full, %.2f simplified\n", what, n.count,
               count / best_round(&n, false), count / best_round(&n, true));
    }
    free(n.items);
    arena_release(&n.arena);
}

static void report_oracle(const char *real) {
    const char *oracle = getenv("SWIFT_ORACLE");
    char command[8192];
    if (!oracle || !*oracle) {
        printf("swift names, Swift's own reader: SWIFT_ORACLE names none\n");
        return;
    }
    snprintf(command, sizeof command,
             "xz -dc '%s/demangle/swift-oracle.tsv.xz' | cut -f 1 | '%s' bench 5", real, oracle);
    fflush(stdout);
    if (system(command) != 0) {
        printf("swift names, %s: failed\n", oracle);
    }
}

int main(void) {
    const char *real = getenv("REAL");
    FILE *own = fopen("testdata/demangle/swift.tsv", "r");
    report("one of each kind", own);
    if (own) {
        fclose(own);
    }
    if (real && *real) {
        char command[4096];
        snprintf(command, sizeof command, "xz -dc '%s/demangle/swift-oracle.tsv.xz'", real);
        FILE *names = popen(command, "r");
        report("real", names);
        if (names) {
            pclose(names);
        }
        report_oracle(real);
    }
    return 0;
}
