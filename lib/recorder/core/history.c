/* Keeps samples of the watched thread, by which past stretches are judged once its loop is
 * known. */
#include "core/history.h"

#include <string.h>

static struct rec_kept_stack *history_newest(const struct rec_history *history) {
    if (history->count == 0) {
        return NULL;
    }
    return &history->kept[(history->next + REC_HISTORY - 1) % REC_HISTORY];
}

static const struct rec_kept_stack *history_at(const struct rec_history *history, uint32_t i) {
    return &history->kept[(history->next + REC_HISTORY - history->count + i) % REC_HISTORY];
}

void rec_history_add(struct rec_history *history, const struct rec_stack *stack, uint64_t at_ns) {
    struct rec_kept_stack *newest = history_newest(history);
    if (newest != NULL && newest->stack.count == stack->count &&
        newest->stack.rest == stack->rest &&
        memcmp(newest->stack.frames, stack->frames, stack->count * sizeof *stack->frames) == 0) {
        newest->to_ns = at_ns;
        newest->count++;
        return;
    }
    struct rec_kept_stack *kept = &history->kept[history->next];
    uint64_t *frames = history->frames + (size_t)2 * history->next * history->cap;
    *kept = (struct rec_kept_stack){
        .stack = {.frames = frames, .starts = frames + history->cap, .cap = history->cap},
        .from_ns = at_ns,
        .to_ns = at_ns,
        .count = 1};
    rec_stack_copy(&kept->stack, stack);
    history->next = (history->next + 1) % REC_HISTORY;
    history->count += history->count < REC_HISTORY;
}

void rec_history_extend(struct rec_history *history, uint64_t until_ns, uint64_t interval_ns) {
    struct rec_kept_stack *newest = history_newest(history);
    if (newest != NULL && until_ns > newest->to_ns && interval_ns > 0) {
        uint64_t more = (until_ns - newest->to_ns) / interval_ns;
        uint64_t room = UINT32_MAX - newest->count;
        newest->count += (uint32_t)(more < room ? more : room);
        newest->to_ns = until_ns;
    }
}

/* Returns how many of a stack's samples were taken between from_ns and to_ns, if its samples are
 * assumed to be evenly spaced. */
static uint32_t count_between(const struct rec_kept_stack *kept, uint64_t from_ns, uint64_t to_ns) {
    uint64_t begin = kept->from_ns > from_ns ? kept->from_ns : from_ns;
    uint64_t end = kept->to_ns < to_ns ? kept->to_ns : to_ns;
    if (begin > end) {
        return 0;
    }
    if (kept->count < 2 || kept->to_ns == kept->from_ns) {
        return kept->count;
    }
    uint64_t apart = (kept->to_ns - kept->from_ns) / (kept->count - 1);
    uint64_t count = apart > 0 ? (end - begin) / apart + 1 : kept->count;
    return count < kept->count ? (uint32_t)count : kept->count;
}

/* Does the same as count_between for a thread that works; returns 0 for one that rests. */
static uint32_t count_working(const struct rec_kept_stack *kept, uint64_t from_ns, uint64_t to_ns) {
    return kept->stack.rest != REC_REST_NONE ? 0 : count_between(kept, from_ns, to_ns);
}

void rec_history_recall(const struct rec_history *history, uint64_t from_ns, uint64_t to_ns,
                        struct rec_ring *ring) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < history->count; i++) {
        all += count_working(history_at(history, i), from_ns, to_ns);
    }
    uint64_t seen = 0, given = 0;
    for (uint32_t i = 0; i < history->count; i++) {
        const struct rec_kept_stack *kept = history_at(history, i);
        seen += count_working(kept, from_ns, to_ns);
        uint64_t due = all > ring->cap ? seen * ring->cap / all : seen;
        for (; given < due; given++) {
            rec_ring_push(ring, &kept->stack);
        }
    }
}

const struct rec_stack *rec_history_rest(const struct rec_history *history, enum rec_rest last,
                                         uint64_t from_ns, uint64_t to_ns, uint64_t *begin_ns,
                                         uint64_t *end_ns) {
    for (uint32_t i = 0; i < history->count && from_ns < to_ns; i++) {
        const struct rec_kept_stack *kept = history_at(history, i);
        if (kept->stack.rest != REC_REST_NONE && kept->stack.rest <= last &&
            kept->to_ns > from_ns && kept->from_ns < to_ns) {
            *begin_ns = kept->from_ns > from_ns ? kept->from_ns : from_ns;
            *end_ns = kept->to_ns < to_ns ? kept->to_ns : to_ns;
            return &kept->stack;
        }
    }
    return NULL;
}

void rec_history_clear(struct rec_history *history) {
    history->next = history->count = 0;
}
