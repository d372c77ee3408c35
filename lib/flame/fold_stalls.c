/* Collects stalls that may have several dumps. */
#include "flame/fold_stalls.h"

#include <string.h>

/* Does the dump with this number and these stacks come before the one that is known? Equal numbers
 * are ordered by the stacks' text. */
static bool is_before(int64_t seq, const struct strbuf *stacks, const struct fold_first *known) {
    if (seq != known->seq) {
        return seq < known->seq;
    }
    size_t shorter = stacks->len < known->stacks.len ? stacks->len : known->stacks.len;
    int order = memcmp(strbuf_cstr(stacks), strbuf_cstr(&known->stacks), shorter);
    return order ? order < 0 : stacks->len < known->stacks.len;
}

enum st fold_stalls_offer(struct fold_stalls *s, uint64_t stall, int64_t seq,
                          const struct strbuf *stacks, bool *added, struct err *e) {
    if (!VEC_RESERVE(&s->firsts, 1)) {
        return err_nomem(e);
    }
    const struct map_entry *entry =
        map_put(&s->by_number, &stall, sizeof stall, s->firsts.len, added);
    if (!entry) {
        return err_nomem(e);
    }
    struct fold_first *first = &s->firsts.data[entry->value];
    if (*added) {
        s->firsts.len++;
        *first = (struct fold_first){.seq = seq};
    } else if (!is_before(seq, stacks, first)) {
        return ST_OK;
    }
    first->seq = seq;
    strbuf_clear(&first->stacks);
    strbuf_add(&first->stacks, strbuf_cstr(stacks), stacks->len);
    return strbuf_check(&first->stacks, e);
}

enum st fold_stalls_add(const struct fold_stalls *s, struct stack_tree *tree, struct err *e) {
    for (size_t i = 0; i < s->firsts.len; i++) {
        const struct strbuf *stacks = &s->firsts.data[i].stacks;
        const char *text = strbuf_cstr(stacks);
        for (size_t at = 0; at < stacks->len;) {
            size_t len = strlen(text + at); /* canonical text has no NUL */
            if (stack_tree_add(tree, text + at, len, 1, 0, e) != ST_OK) {
                return ST_ERR;
            }
            at += len + 1;
        }
    }
    return ST_OK;
}

void fold_stalls_release(struct fold_stalls *s) {
    for (size_t i = 0; i < s->firsts.len; i++) {
        strbuf_release(&s->firsts.data[i].stacks);
    }
    VEC_RELEASE(&s->firsts);
    map_release(&s->by_number);
}
