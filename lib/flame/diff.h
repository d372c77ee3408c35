/* Shows the changes between two sets of stacks: as marks for the picture of their union, as text,
 * and against limits. The two sets are a stack_pair. Not thread safe. */
#ifndef STALLKIT_FLAME_DIFF_H
#define STALLKIT_FLAME_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "flame/stacks/stack_pair.h"
#include "flame/svg/svg.h"

/* ---- the picture ---- */

/* Colours frames by their change and puts both weights into their titles. Borrows the pair and the
 * unit. marks.ctx points to this struct, so it must not be moved. */
struct diff_marks {
    struct svg_marks marks; /* for svg_options */
    const struct stack_pair *pair;
    const char *unit;
};
void diff_marks_init(struct diff_marks *m, const struct stack_pair *pair, const char *unit);

/* ---- text ---- */

/* Writes the largest changes of functions' self weights, at most `most` and none of 0, as a table
 * in GitHub's Markdown, the largest first, equal ones by name, below a line with both totals; a
 * sentence replaces a table without rows. A frame's function is its text without the mark of
 * inlining. Write errors stick to the sink; ST_ERR: ERR_NOMEM. */
struct diff_text {
    const char *title; /* NULL = "Flame graph" */
    const char *unit;
    bool normalised; /* the weights were scaled to one total, and the text mentions that */
    size_t most;
};
enum st diff_markdown(const struct stack_pair *pair, const struct diff_text *o, struct sink *out,
                      struct err *e) BASE_MUST_USE;

/* Writes each stack with both weights, "a;b 3 5", for tools that read difffolded.pl's output. Write
 * errors stick to the sink; ST_ERR: ERR_NOMEM. */
enum st diff_folded(const struct stack_pair *pair, struct sink *out, struct err *e) BASE_MUST_USE;

/* ---- limits ---- */

enum diff_limit_kind {
    DIFF_PERCENT, /* percent of the base weight: +5% */
    DIFF_POINTS,  /* percentage points of the share of all weights: +2pp */
    DIFF_WEIGHT   /* a difference in the unit of the weights: +200 */
};

/* A limit on the growth of the weight of the stacks with a matching frame. */
struct diff_limit {
    const char *text; /* the limit as given, borrowed */
    struct regex *regex;
    enum diff_limit_kind kind;
    uint64_t value;   /* in thousandths of a percent, a point or a unit */
    const char *unit; /* unit of DIFF_WEIGHT, borrowed from text; "" = that of the weights */
};
/* Parses REGEX:+LIMIT, split at the last ':'. LIMIT is a number with %, pp, a unit of weight or
 * nothing after it. REGEX is a POSIX extended expression that is searched for in a frame's text,
 * IMAGE`FUNCTION. ST_ERR: ERR_USAGE for another form, or regex_compile's error. */
enum st diff_limit_parse(struct diff_limit *l, const char *text, struct err *e) BASE_MUST_USE;
void diff_limit_release(struct diff_limit *l);

/* Sets sums[side], for both sides, to the sum of the weights of the stacks with a matching frame,
 * each stack once. ST_ERR: ERR_LIMIT if the expression takes too long on a frame's text,
 * ERR_NOMEM. */
enum st diff_limit_measure(const struct diff_limit *l, const struct stack_pair *pair,
                           uint64_t sums[STACK_SIDES], struct err *e) BASE_MUST_USE;
/* Does the growth from sums[STACK_BASE] to sums[STACK_NEW] exceed the limit? With DIFF_PERCENT any
 * growth from 0 does; with DIFF_POINTS a side without any weight has a share of 0. */
bool diff_limit_passed(const struct diff_limit *l, const struct stack_pair *pair,
                       const uint64_t sums[STACK_SIDES]);

/* Appends both weights and the change: "12 ms → 18 ms, +50 %", or "new" for a base of 0, "gone" for
 * a new weight of 0, "the same" for equal weights, "× 12" (at most "× 1000") instead of a
 * percentage from +1000 % on. */
void diff_change(struct strbuf *out, const uint64_t sides[STACK_SIDES], unsigned decimals,
                 const char *unit);

#endif
