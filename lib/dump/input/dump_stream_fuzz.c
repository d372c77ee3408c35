/* Reads any bytes as an input: the stream ends, the line numbers of its documents never fall, and
 * the documents are the same whether dump_stream_line is tried first or not. */
#include <stdint.h>
#include <stdlib.h>

#include "dump/dump.h"
#include "dump/input/stream_support_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

/* The facts about the documents that were read from an input. */
struct seen {
    uint64_t line; /* line of the last document */
    struct strbuf text;
};

static void see(void *ctx, enum st st, const char *text, size_t len, uint64_t line,
                const struct err *e) {
    struct seen *seen = ctx;
    require(line >= seen->line && line > 0);
    seen->line = line;
    strbuf_addu64(&seen->text, line);
    strbuf_addc(&seen->text, st == ST_OK ? ':' : '!');
    if (st == ST_OK) {
        require(text && len > 0 && len <= DUMP_TEXT_MAX);
        strbuf_add(&seen->text, text, len);
    } else {
        require(err_is(e));
        strbuf_addstr(&seen->text, e->text);
    }
    strbuf_addc(&seen->text, '\n');
}

static void parse(void *ctx, enum st st, const char *text, size_t len, uint64_t line,
                  const struct err *e) {
    (void)e;
    (void)ctx;
    (void)line;
    struct dump d;
    if (st == ST_OK) {
        (void)!dump_parse(&d, text, len, NULL);
        dump_release(&d);
    }
}

static bool read_input(const uint8_t *data, size_t size, bool lines, stream_see what, void *ctx) {
    struct dump_stream *s = NULL;
    int fd = stream_file_of(data, size);
    require(fd >= 0);
    if (dump_stream_open(&s, fd, "input", NULL) != ST_OK) {
        return false;
    }
    dump_stream_ask(s, stream_is_ready, NULL, NULL);
    stream_walk(s, lines, what, ctx);
    dump_stream_close(s);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seen all = {0}, lines = {0};
    require(read_input(data, size, false, see, &all) == read_input(data, size, true, see, &lines));
    require(strcmp(strbuf_cstr(&all.text), strbuf_cstr(&lines.text)) == 0 &&
            all.text.len == lines.text.len);
    (void)read_input(data, size, true, parse, NULL);
    strbuf_release(&all.text);
    strbuf_release(&lines.text);
    return 0;
}
