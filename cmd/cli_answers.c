/* Implements --answer-each. */
#include "cli_answers.h"

#include <string.h>

#include "dump/input/stream_record.h"

void cli_answers_begin(struct cli_answers *a) {
    if (a->on) {
        a->lines = sink_to_strbuf(&a->text);
    }
}

bool cli_answers_check(const struct cli_tool *tool, char **operands, size_t count) {
    if (count == 0 || (count == 1 && strcmp(operands[0], "-") == 0)) {
        return true;
    }
    return cli_reject(tool, "--answer-each reads the standard input, and nothing else");
}

void cli_answers_refuse(struct cli_answers *a, const char *where, const struct err *why) {
    a->refuses = true;
    stall_refused_write(where, why, &a->lines);
}

/* Writes lines of JSON as the elements of an array. */
static void write_array(const char *text, size_t len, struct sink *out) {
    sink_char(out, '[');
    while (len > 0) {
        const char *feed = memchr(text, '\n', len);
        size_t line = feed ? (size_t)(feed - text) : len;
        sink_write(out, text, line);
        line += feed != NULL;
        text += line;
        len -= line;
        sink_str(out, len > 0 ? "," : "");
    }
    sink_str(out, "]\n");
}

void cli_answers_end(struct cli_answers *a, struct sink *out) {
    enum { KEPT_MAX = 1024 * 1024 };
    struct err e = {0};
    a->count++;
    if (sink_close(&a->lines, &e) != ST_OK) {
        a->refuses = true;
        stall_refused_write("", &e, out);
    } else {
        const char *text = strbuf_cstr(&a->text);
        const char *feed = memchr(text, '\n', a->text.len);
        if (feed && feed + 1 == text + a->text.len) {
            sink_write(out, text, a->text.len);
        } else {
            write_array(text, a->text.len, out);
        }
    }
    a->refused += a->refuses;
    a->refuses = false;
    if (a->text.cap > KEPT_MAX) {
        strbuf_release(&a->text);
    }
    strbuf_reset(&a->text); /* clears the failure of text, which the answer has reported */
    a->lines = sink_to_strbuf(&a->text);
}

void cli_answers_release(struct cli_answers *a) {
    strbuf_release(&a->text);
}
