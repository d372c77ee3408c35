/* Any bytes as an input: the stream ends, its lines rise, and each document is handed out once. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "dump/dump.h"
#include "dump/input/dump_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[] = "/tmp/dump_stream_fuzz.XXXXXX";
    int fd = mkstemp(path);
    require(fd >= 0);
    unlink(path);
    require(write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    struct dump_stream *s = NULL;
    if (dump_stream_open(&s, fd, "input", NULL) != ST_OK) {
        return 0;
    }
    uint64_t last = 0;
    for (;;) {
        const char *text = NULL;
        size_t len = 0;
        uint64_t line = 0;
        struct err e = {0};
        enum st st = dump_stream_next(s, &text, &len, &line, &e);
        if (st == ST_NONE) {
            break;
        }
        require(line >= last && line > 0);
        last = line;
        if (st == ST_OK) {
            struct dump d;
            require(text && len > 0 && len <= DUMP_TEXT_MAX);
            (void)!dump_parse(&d, text, len, NULL);
            dump_release(&d);
        } else {
            require(err_is(&e));
        }
    }
    dump_stream_close(s);
    return 0;
}
