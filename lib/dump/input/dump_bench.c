/* Measures how fast dumps are found, parsed and spliced, in comparison with Jansson's parser on the
 * same text. It prints the speeds of one thread, by its CPU time, over many copies of
 * testdata/dumps/triage.jsonl. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/strbuf.h"
#include "dump/dump.h"
#include "dump/input/dump_stream.h"

enum { COPIES = 300 };

enum job { FIND, TREE, PARSE, SPLICE };

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool do_job(enum job job, const char *text, size_t len) {
    struct dump d;
    if (job == FIND) {
        return true;
    }
    if (job == TREE) {
        json_t *root = json_loadb(text, len, 0, NULL);
        json_decref(root);
        return root;
    }
    bool done = dump_parse(&d, text, len, NULL) == ST_OK;
    if (done && job == SPLICE) {
        struct dump_addition nothing = {0};
        struct sink s = sink_to_nowhere();
        done = dump_write_spliced(&d, &nothing, &s, NULL) == ST_OK;
        done = sink_close(&s, NULL) == ST_OK && done;
    }
    dump_release(&d);
    return done;
}

/* Runs one job over all documents of the file and counts them. Returns the CPU seconds; -1: the
 * file cannot be opened, or a job failed. */
static double run(enum job job, const char *path, size_t *documents) {
    struct dump_stream *s;
    const char *text;
    size_t len;
    uint64_t line;
    double start = cpu_seconds();
    if (dump_stream_open(&s, open(path, O_RDONLY), path, NULL) != ST_OK) {
        return -1;
    }
    bool done = true;
    *documents = 0;
    while (done && dump_stream_next(s, &text, &len, &line, NULL) == ST_OK) {
        done = do_job(job, text, len);
        ++*documents;
    }
    dump_stream_close(s);
    return done ? cpu_seconds() - start : -1;
}

int main(void) {
    static const char *const names[] = {"find documents", "Jansson tree", "dump_parse",
                                        "dump_parse and splice"};
    struct filemap file = {0};
    char path[] = "/tmp/dump_bench.XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || filemap_open(&file, "testdata/dumps/triage.jsonl", 0, NULL) != ST_OK) {
        fprintf(stderr, "dump_bench: no testdata/dumps/triage.jsonl here\n");
        return 1;
    }
    for (int i = 0; i < COPIES; i++) {
        if (write(fd, file.data, file.size) != (ssize_t)file.size) {
            perror(path);
            return 1;
        }
    }
    double megabytes = (double)file.size * COPIES / 1e6, seconds[4];
    dump_library_init();
    for (int job = FIND; job <= SPLICE; job++) {
        size_t documents;
        seconds[job] = run((enum job)job, path, &documents);
        printf("dump: %-22s %6.0f dumps/s %5.0f MB/s  %.2f of Jansson's time\n", names[job],
               (double)documents / seconds[job], megabytes / seconds[job],
               job == FIND ? seconds[FIND] / run(TREE, path, &documents)
                           : seconds[job] / seconds[TREE]);
    }
    unlink(path);
    close(fd);
    filemap_release(&file);
    return 0;
}
