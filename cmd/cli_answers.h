/* Writes the answers of --answer-each: one line for each line of the input. */
#ifndef STALLKIT_CMD_CLI_ANSWERS_H
#define STALLKIT_CMD_CLI_ANSWERS_H

#include "base/sink.h"
#include "base/strbuf.h"
#include "cli.h"

/* The row of the option --answer-each, a flag. */
#define CLI_ANSWER_EACH_OPTION(id, type, member)                                                   \
    {                                                                                              \
        (id), 0, "answer-each", NULL,                                                              \
            "each line of stdin gives one line: dump, array of dumps, or why it is refused",       \
            CLI_FLAG(type, member)                                                                 \
    }

/* The row of the option --heads, a flag. */
#define CLI_HEADS_OPTION(id, type, member)                                                         \
    {                                                                                              \
        (id), 0, "heads", NULL, "… each dump behind its id, hour, bucket and so on, with tabs",    \
            CLI_FLAG(type, member)                                                                 \
    }

/* The answers of a run. Zero-initialised = off. For each dump of a line, a command writes a line
 * of JSON to `lines`; at the end of the line it calls cli_answers_end. */
struct cli_answers {
    bool on, heads;          /* heads: each record has a head, see answer_head.h */
    struct strbuf text;      /* lines of JSON that the current line has given so far */
    struct sink lines;       /* appends to text */
    uint64_t count, refused; /* count: number of lines answered so far; refused: number of those
                                that were refused, whole or in part */
    bool refuses;            /* a part of the current line was refused */
};

/* Prepares for answers if `on` is set. The struct must not be copied from then on. */
void cli_answers_begin(struct cli_answers *a);
/* Does --answer-each fit the operands: are there none, or is "-" the only one? False after a
 * printed usage error. */
bool cli_answers_check(const struct cli_tool *tool, char **operands, size_t count);
/* Adds to the answer the reason why the line at `where` ("INPUT:LINE"), or a part of it, gave no
 * dump. */
void cli_answers_refuse(struct cli_answers *a, const char *where, const struct err *why);
/* Adds the reason of a stall-refused/1, which an earlier filter wrote. */
void cli_answers_pass_refused(struct cli_answers *a, const char *text, size_t len);
/* Counts a line, and writes its answer: the line of JSON that it gave, or an array of them if it
 * gave none or several; with heads, its records with tabs between them. If memory ran out, the
 * answer is a refusal for this reason. */
void cli_answers_end(struct cli_answers *a, struct sink *out);
/* Frees the text of the answers. */
void cli_answers_release(struct cli_answers *a);

#endif
