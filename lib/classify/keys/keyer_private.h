/* Between the parts of the keyer: which stack, which frames, why. */
#ifndef STALLKIT_CLASSIFY_KEYER_PRIVATE_H
#define STALLKIT_CLASSIFY_KEYER_PRIVATE_H

#include "classify/keys/frame_info.h"
#include "classify/keys/key.h"

/* A frame; with inlined functions asked for, one for each of them. */
struct judged_frame {
    struct frame_info *info;
    const struct dump_line *line; /* NULL = unknown */
};

/* A stack, looked at frame by frame. */
struct judged_stack {
    const struct dump_stack *stack;
    size_t first, count; /* its frames in keyer.frames, innermost first */
    struct frame_info
        *top;  /* its innermost relevant function, or the loop that waits; NULL = none */
    bool idle; /* the latter */
    const struct frame_info *told; /* which tells the cause; NULL = none does */
    uint64_t newest;               /* higher = seen later */
};

struct keyer {
    struct frame_table table;
    struct key_options options;
    VEC(struct frame_info *) by_location; /* of the dump at hand; NULL = not looked at yet */
    VEC(struct judged_frame) frames;      /* of its stacks */
    VEC(struct judged_stack) samples;
    uint64_t epoch; /* one per dump: makes votes of earlier dumps void */
    struct strbuf text;
};

/* stack_choice.c. Looks at a stack's frames. ST_ERR: out of memory. */
enum st judge_stack(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                    struct judged_stack *out, struct err *e) BASE_MUST_USE;
/* Looks at all samples. */
enum st judge_samples(struct keyer *k, const struct dump *d, struct err *e) BASE_MUST_USE;
/* The stack that the dump is about. ST_NONE: it has none. */
enum st choose_stack(struct keyer *k, const struct dump *d, struct judged_stack *out,
                     struct err *e) BASE_MUST_USE;
/* Frame i of a stack. */
static inline const struct judged_frame *judged_at(const struct keyer *k,
                                                   const struct judged_stack *s, size_t i) {
    return &k->frames.data[s->first + i];
}

/* cause.c. Fills in cause, confidence and reason of a dump whose stack is known. */
enum st judge_cause(struct keyer *k, const struct dump *d, const struct judged_stack *chosen,
                    struct stall_key *out, struct err *e) BASE_MUST_USE;

#endif
