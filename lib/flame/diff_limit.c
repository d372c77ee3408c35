/* Parses limits on growth, and measures stacks against them. */
#include <string.h>

#include "base/map.h"
#include "base/parse.h"
#include "base/regex_text.h"
#include "flame/diff.h"
#include "flame/stacks/folded.h"
#include "flame/stacks/weigh.h"

/* ---- parsing ---- */

/* Reads a number with at most three decimal places, in thousandths. False: the text is no such
 * number, or is 2^32 or more. */
static bool limit_take_number(const char *text, size_t len, uint64_t *out) {
    const char *point = memchr(text, '.', len);
    size_t whole = point ? (size_t)(point - text) : len;
    size_t places = point ? len - whole - 1 : 0;
    uint64_t units = 0, part = 0;
    if (!parse_u64(text, whole, UINT32_MAX, &units) || places > 3 ||
        (point && !parse_u64(point + 1, places, 999, &part))) {
        return false;
    }
    for (; places < 3; places++) {
        part *= 10;
    }
    *out = units * 1000 + part;
    return true;
}

static bool limit_take_amount(struct diff_limit *l, const char *text) {
    if (text[0] != '+') {
        return false;
    }
    size_t digits = strspn(++text, "0123456789.");
    const char *unit = text + digits + strspn(text + digits, " ");
    l->unit = "";
    if (strcmp(unit, "%") == 0) {
        l->kind = DIFF_PERCENT;
    } else if (strcmp(unit, "pp") == 0) {
        l->kind = DIFF_POINTS;
    } else {
        l->kind = DIFF_WEIGHT;
        l->unit = unit;
    }
    return l->unit[strspn(l->unit, "abcdefghijklmnopqrstuvwxyz")] == '\0' &&
           limit_take_number(text, digits, &l->value);
}

enum st diff_limit_parse(struct diff_limit *l, const char *text, struct err *e) {
    const char *colon = strrchr(text, ':');
    *l = (struct diff_limit){.text = text};
    if (!colon || colon == text || !limit_take_amount(l, colon + 1)) {
        return err_set(e, ERR_USAGE,
                       "'%s' is not REGEX:+LIMIT, as in 'parse:+5%%', 'parse:+2pp' or "
                       "'parse:+200ms'",
                       text);
    }
    struct strbuf pattern = {0};
    strbuf_add(&pattern, text, (size_t)(colon - text));
    enum st st = strbuf_check(&pattern, e);
    if (st == ST_OK && regex_compile(&l->regex, strbuf_cstr(&pattern), e) != ST_OK) {
        st = err_context(e, "'%s'", strbuf_cstr(&pattern));
    }
    strbuf_release(&pattern);
    return st;
}

void diff_limit_release(struct diff_limit *l) {
    regex_free(l->regex);
    l->regex = NULL;
}

/* ---- measuring ---- */

struct measuring {
    const struct diff_limit *limit;
    const struct stack_pair *pair;
    uint64_t *sums;
    struct map frames; /* frame's text -> does it match the expression? */
    struct strbuf name;
};

static enum st limit_matches_frame(struct measuring *m, const char *text, size_t len, bool *out,
                                   struct err *e) {
    bool added;
    struct map_entry *known = map_put(&m->frames, text, len, 0, &added);
    if (!known) {
        return err_nomem(e);
    }
    if (added) {
        strbuf_clear(&m->name);
        folded_unescape(&m->name, text, len);
        if (strbuf_check(&m->name, e) != ST_OK) {
            return ST_ERR;
        }
        enum st st = regex_search(m->limit->regex, strbuf_cstr(&m->name), m->name.len, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        known->value = st == ST_OK;
    }
    *out = known->value;
    return ST_OK;
}

static enum st limit_measure_stack(void *ctx, const char *text, size_t len, uint64_t weight,
                                   struct err *e) {
    struct measuring *m = ctx;
    bool found = false;
    (void)weight;
    for (size_t at = 0; at <= len && !found;) {
        size_t stop = at + stack_frame_len(text + at, len - at);
        if (limit_matches_frame(m, text + at, stop - at, &found, e) != ST_OK) {
            return ST_ERR;
        }
        at = stop + 1;
    }
    const struct stack_sides *sides = stack_pair_sides(m->pair, text, len);
    for (int side = 0; side < STACK_SIDES && found; side++) {
        m->sums[side] += sides->self[side];
    }
    return ST_OK;
}

enum st diff_limit_measure(const struct diff_limit *l, const struct stack_pair *pair,
                           uint64_t sums[STACK_SIDES], struct err *e) {
    struct measuring m = {.limit = l, .pair = pair, .sums = sums};
    memset(sums, 0, STACK_SIDES * sizeof *sums);
    enum st st = stack_tree_each(&pair->tree, limit_measure_stack, &m, e);
    map_release(&m.frames);
    strbuf_release(&m.name);
    return st;
}

bool diff_limit_passed(const struct diff_limit *l, const struct stack_pair *pair,
                       const uint64_t sums[STACK_SIDES]) {
    typedef unsigned __int128 wide;
    wide base = sums[STACK_BASE], now = sums[STACK_NEW], limit = l->value;
    if (now <= base && l->kind != DIFF_POINTS) {
        return false;
    }
    if (l->kind == DIFF_PERCENT) {
        return (now - base) * 100000 > base * limit;
    }
    if (l->kind == DIFF_WEIGHT) {
        return (now - base) * 1000 > limit * weigh_power_of_ten(pair->tree.decimals);
    }
    /* Shares are in 10^-9, because the products of two 64-bit sums would not fit 128 bits when
     * multiplied further. */
    const wide whole = 1000000000;
    wide all[STACK_SIDES] = {pair->nodes[0].total[STACK_BASE], pair->nodes[0].total[STACK_NEW]};
    wide before = all[STACK_BASE] ? base * whole / all[STACK_BASE] : 0;
    wide after = all[STACK_NEW] ? now * whole / all[STACK_NEW] : 0;
    return after > before && (after - before) * 100000 > limit * whole;
}
