/* Takes the facts about functions from a dump's own names. */
#include "symbolize/learn_dump.h"

#include "base/vec.h"
#include "dump/frame_address.h"

struct dump_facts {
    const struct dump *d;
    struct address_rules rules;
    VEC(struct learned_fact) facts;
};

/* Does the start of the function follow from the name's offset? Offset 0 may also mean that the
 * offset is unknown. It is taken for a real 0 in an exact frame without a line: such a name is from
 * a symbol table, and the function has just been entered. (A return address at offset 0 follows a
 * call that never returns, in the function before.) */
static bool tells_start(const struct dump_name *name, bool exact) {
    return name->offset > 0 || (exact && !name->file);
}

/* Adds the fact that follows from the name of frame i. False: out of memory. */
static bool learn_frame(struct dump_facts *f, const struct dump_stack *stack, size_t i,
                        const struct dump_name *name) {
    uint64_t looked_up = address_of_frame(&f->rules, stack, i);
    uint64_t address = address_strip(&f->rules, stack->frames[i]);
    int32_t at = dump_image_at(f->d, looked_up);
    const struct dump_image *image = at >= 0 ? &f->d->images[at] : NULL;
    if (!image || image->unplaced || image_id_is_zero(&image->id) || name->offset > address ||
        address - name->offset < image->load) {
        return true;
    }
    struct learned_fact fact = {.id = &image->id};
    fact.function.start = fact.function.end = address - name->offset - image->load;
    if (name->offset <= LEARNED_OFFSET_MAX && learned_is_name(name->symbol)) {
        fact.function.name = name->symbol;
        fact.function.end = looked_up - image->load + 1;
    }
    return VEC_PUSH(&f->facts, fact);
}

static bool learn_stack(struct dump_facts *f, const struct dump_stack *stack) {
    for (size_t i = 0; i < stack->frame_count; i++) {
        const struct dump_name *name = dump_name_at(f->d, stack->frames[i]);
        if (name && tells_start(name, dump_frame_exact(stack, i)) &&
            !learn_frame(f, stack, i, name)) {
            return false;
        }
    }
    return true;
}

enum st learn_dump(struct learned_names *n, const struct dump *d, struct err *e) {
    struct dump_facts f = {.d = d, .rules = address_rules_of(d)};
    bool taken = true;
    for (size_t i = 0; taken && d->name_count > 0 && i < d->thread_count; i++) {
        taken = learn_stack(&f, &d->threads[i].stack);
    }
    for (size_t i = 0; taken && d->name_count > 0 && i < d->sample_count; i++) {
        taken = learn_stack(&f, &d->samples[i]);
    }
    enum st st = taken ? learned_names_add(n, f.facts.data, f.facts.len, e) : err_nomem(e);
    VEC_RELEASE(&f.facts);
    return st;
}
