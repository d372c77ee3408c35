/* Demangles names in a stream of text. Bytes that may be the start of a name wait for the next
 * read; no name is as long as the buffer, so a word that fills it is written as it is. */
#include "demangle_filter.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "demangle/demangle_text.h"

enum { FILTER_BYTES = 128 * 1024 };

struct filter {
    enum demangle_style style;
    struct cli_output *output;
    struct cli_failures *failures;
    struct strbuf out;
    char *bytes;       /* buffer of FILTER_BYTES; NULL: out of memory */
    size_t have;       /* number of waiting bytes */
    bool in_long_word; /* the start of the current word was written, because the word is longer than
                          the buffer */
};

static void put_text(struct filter *f, const char *text, size_t len) {
    struct err e = {0};
    strbuf_reset(&f->out);
    if (demangle_text(text, len, f->style, &f->out, &e) != ST_OK) {
        cli_fail(f->failures, NULL, &e);
    }
    sink_write(&f->output->sink, strbuf_cstr(&f->out), f->out.len);
}

/* Writes the waiting bytes that are whole words, and those of a word that is longer than the buffer
 * as they are; all waiting bytes if `end`. */
static void put_waiting(struct filter *f, bool end) {
    size_t start = 0, whole = end ? f->have : demangle_text_whole(f->bytes, f->have);
    if (f->in_long_word) {
        while (start < f->have && demangle_text_whole(f->bytes + start, 1) == 0) {
            start++;
        }
        sink_write(&f->output->sink, f->bytes, start);
        f->in_long_word = start == f->have;
        whole = whole > start ? whole : start;
    }
    put_text(f, f->bytes + start, whole - start);
    if (whole == 0 && f->have == FILTER_BYTES) {
        sink_write(&f->output->sink, f->bytes, f->have);
        f->in_long_word = true;
        whole = f->have;
    }
    memmove(f->bytes, f->bytes + whole, f->have - whole);
    f->have -= whole;
}

/* Filters an input. The output is flushed whenever no input is ready, as a reader may wait for
 * it. */
static void on_input(void *ctx, int fd, const char *name, bool found) {
    (void)found;
    struct filter *f = ctx;
    struct err e = {0};
    while (!cli_output_failed(f->output)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 0) == 0) {
            sink_flush(&f->output->sink);
        }
        ssize_t n = read(fd, f->bytes + f->have, FILTER_BYTES - f->have);
        if (n <= 0) {
            if (n < 0) {
                err_sys(&e, errno, "cannot read");
                cli_fail(f->failures, name, &e);
            }
            break;
        }
        f->have += (size_t)n;
        put_waiting(f, false);
    }
    put_waiting(f, true);
    close(fd);
}

static void on_failure(void *ctx, const char *where, const struct err *why) {
    struct filter *f = ctx;
    cli_fail(f->failures, where, why);
}

/* Demangles the standard input; named: by the operand "-", which permits a terminal. Returns
 * CLI_OK, also if memory ran out, which is printed; CLI_USAGE after a message. */
static int put_stdin(struct filter *f, const struct cli_tool *tool, bool named) {
    char input[] = "-", *inputs[] = {input};
    struct err e = {0};
    if (!named && isatty(STDIN_FILENO) == 1) {
        return cli_usage_error(tool, "nothing to demangle: give a name, or pipe text in");
    }
    if (!f->bytes) {
        err_nomem(&e);
        cli_fail(f->failures, NULL, &e);
        return CLI_OK;
    }
    return cli_for_each_input(tool, inputs, 1, on_input, on_failure, f);
}

int demangle_filter(const struct cli_tool *tool, char **operands, size_t count,
                    enum demangle_style style, struct cli_output *output,
                    struct cli_failures *failures) {
    struct filter f = {
        .style = style, .output = output, .failures = failures, .bytes = malloc(FILTER_BYTES)};
    int status = count == 0 ? put_stdin(&f, tool, false) : CLI_OK;
    for (size_t i = 0; i < count && status == CLI_OK; i++) {
        if (strcmp(operands[i], "-") == 0) {
            status = put_stdin(&f, tool, true);
        } else {
            put_text(&f, operands[i], strlen(operands[i]));
            sink_write(&output->sink, "\n", 1);
        }
    }
    strbuf_release(&f.out);
    free(f.bytes);
    return status;
}
