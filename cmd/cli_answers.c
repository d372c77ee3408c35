/* Implements --answer-each. */
#include "cli_answers.h"

#include <string.h>
#include <unistd.h>

#include "dump/input/pipe_room.h"
#include "dump/input/answer_head.h"
#include "dump/input/dump_pipeline.h"
#include "dump/input/stream_record.h"

void cli_answers_begin(struct cli_answers *a) {
    if (a->on) {
        a->lines = sink_to_strbuf(&a->text);
        pipe_widen(STDOUT_FILENO);
    }
}

bool cli_answers_check(const struct cli_tool *tool, char **operands, size_t count) {
    if (count == 0 || (count == 1 && strcmp(operands[0], "-") == 0)) {
        return true;
    }
    return cli_reject(tool, "--answer-each reads the standard input, and nothing else");
}

static void write_refused_reason(const char *reason, struct sink *out) {
    const struct answer_head head = {.kind = "refused", .title = reason};
    answer_head_write(&head, 0, out);
    sink_char(out, '\n');
}

static void write_refusal(const struct cli_answers *a, const char *where, const struct err *why,
                          struct sink *out) {
    if (a->heads) {
        write_refused_reason(why->text, out);
    } else {
        stall_refused_write(where, why, out);
    }
}

void cli_answers_refuse(struct cli_answers *a, const char *where, const struct err *why) {
    a->refuses = true;
    write_refusal(a, where, why, &a->lines);
}

void cli_answers_pass_refused(struct cli_answers *a, const char *text, size_t len) {
    struct strbuf reason = {0};
    struct err e = {0};
    if (!a->heads) {
        dump_pipeline_write_line(&a->lines, text, len);
    } else if (stall_refused_reason(&reason, (struct span){text, text + len}, &e) == ST_ERR) {
        write_refusal(a, "", &e, &a->lines);
    } else {
        write_refused_reason(strbuf_cstr(&reason), &a->lines);
    }
    strbuf_release(&reason);
}

/* Writes lines as one, with `between` between them. */
static void write_joined(const char *text, size_t len, const char *between, struct sink *out) {
    while (len > 0) {
        const char *feed = memchr(text, '\n', len);
        size_t line = feed ? (size_t)(feed - text) : len;
        sink_write(out, text, line);
        line += feed != NULL;
        text += line;
        len -= line;
        sink_str(out, len > 0 ? between : "");
    }
}

void cli_answers_end(struct cli_answers *a, struct sink *out) {
    enum { KEPT_MAX = 1024 * 1024 };
    struct err e = {0};
    a->count++;
    if (sink_close(&a->lines, &e) != ST_OK) {
        a->refuses = true;
        write_refusal(a, "", &e, out);
    } else {
        const char *text = strbuf_cstr(&a->text);
        const char *feed = memchr(text, '\n', a->text.len);
        if (feed && feed + 1 == text + a->text.len) {
            sink_write(out, text, a->text.len);
        } else {
            sink_str(out, a->heads ? "" : "[");
            write_joined(text, a->text.len, a->heads ? "\t" : ",", out);
            sink_str(out, a->heads ? "\n" : "]\n");
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
