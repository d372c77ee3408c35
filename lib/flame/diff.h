/* What changed between two sets of stacks: as marks for the picture of their union, as text, and
 * against limits. Everything is read from a stack_pair. Not thread safe. */
#ifndef STALLKIT_FLAME_DIFF_H
#define STALLKIT_FLAME_DIFF_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "flame/stacks/stack_pair.h"
#include "flame/svg/svg.h"

/* ---- the picture ---- */

/* Frames in the colour of their change, with both sides in their titles. Borrows the pair and the
 * unit, and is what marks.ctx points to: not to be moved. */
struct diff_marks {
    struct svg_marks marks; /* for svg_options */
    const struct stack_pair *pair;
    const char *unit;
};
void diff_marks_init(struct diff_marks *m, const struct stack_pair *pair, const char *unit);

/* ---- text ---- */

/* Writes the `most` largest changes as a table in GitHub's Markdown: of what functions weigh
 * themselves, the largest first, equal ones by name. A frame's function is its text without the
 * mark of inlining. Write errors stick to the sink; ERR_NOMEM. */
struct diff_text {
    const char *title; /* NULL = "Flame graph" */
    const char *unit;
    bool normalised; /* the text says so */
    size_t most;
};
enum st diff_markdown(const struct stack_pair *pair, const struct diff_text *o, struct sink *out,
                      struct err *e) BASE_MUST_USE;

/* Writes each stack with both weights, "a;b 3 5": the input of difffolded-aware tools. */
enum st diff_folded(const struct stack_pair *pair, struct sink *out, struct err *e) BASE_MUST_USE;

/* ---- limits ---- */

enum diff_limit_kind {
    DIFF_PERCENT, /* of what there was: +5% */
    DIFF_POINTS,  /* of the share of everything: +2pp */
    DIFF_WEIGHT   /* in the unit of the weights: +200 */
};

/* How much more the stacks with a frame that matches may weigh. */
struct diff_limit {
    const char *text; /* as given, borrowed */
    regex_t regex;
    enum diff_limit_kind kind;
    uint64_t value;   /* in thousandths */
    const char *unit; /* of DIFF_WEIGHT, borrowed from text; "" = whatever the weights are */
};
/* Parses REGEX:+NUMBER and %, pp, a unit of weights or nothing; split at the last ':'. The
 * expression is POSIX extended and is searched for in a frame's text, IMAGE`FUNCTION. ERR_USAGE. */
enum st diff_limit_parse(struct diff_limit *l, const char *text, struct err *e) BASE_MUST_USE;
void diff_limit_release(struct diff_limit *l);

/* Sums up, on both sides, the stacks that have a frame that matches: each once. ERR_NOMEM. */
enum st diff_limit_measure(const struct diff_limit *l, const struct stack_pair *pair,
                           uint64_t sums[STACK_SIDES], struct err *e) BASE_MUST_USE;
/* Do these sums pass the limit? */
bool diff_limit_passed(const struct diff_limit *l, const struct stack_pair *pair,
                       const uint64_t sums[STACK_SIDES]);

/* Appends "12 ms → 18 ms, +50 %", from nothing "new", to nothing "gone". */
void diff_change(struct strbuf *out, const uint64_t sides[STACK_SIDES], unsigned decimals,
                 const char *unit);

#endif
