/* Takes the facts about functions from a dump's own names. */
#include "symbolize/learn_dump.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"
#include "base/vec.h"
#include "dump/frame_address.h"

struct dump_facts {
    const struct dump *d;
    struct address_rules rules;
    VEC(struct learned_fact) facts; /* their ids point into d->images */
};

/* Does the start of the function follow from the name's offset? Offset 0 may also mean that the
 * offset is unknown. It is taken for a real 0 in an exact frame without a line: such a name is from
 * a symbol table, and the function has just been entered. (A return address at offset 0 follows a
 * call that never returns, in the function before.) */
static bool tells_start(const struct dump_name *name, bool exact) {
    return name->offset > 0 || (exact && !name->file);
}

/* Adds the fact that follows from the name of frame i, if its image has an id and a known place,
 * and holds the start. False: out of memory. */
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

static int compare_facts(const void *a, const void *b) {
    const struct learned_fact *x = a, *y = b;
    const struct learned_function *f = &x->function, *g = &y->function;
    if (x->id != y->id) {
        return COMPARE(x->id, y->id);
    }
    if (f->start != g->start) {
        return COMPARE(f->start, g->start);
    }
    return f->name && g->name ? strcmp(f->name, g->name)
                              : COMPARE(f->name != NULL, g->name != NULL);
}

/* Joins the facts about each function to one, which has a name if all names are the same text: a
 * dump that contradicts itself tells only where the function starts. */
static void join_facts(struct dump_facts *f) {
    size_t kept = 0;
    if (f->facts.len > 1) {
        qsort(f->facts.data, f->facts.len, sizeof *f->facts.data, compare_facts);
    }
    for (size_t i = 0, next; i < f->facts.len; i = next) {
        struct learned_fact fact = f->facts.data[i];
        bool differ = false;
        for (next = i + 1; next < f->facts.len && f->facts.data[next].id == fact.id &&
                           f->facts.data[next].function.start == fact.function.start;
             next++) {
            const struct learned_function *other = &f->facts.data[next].function;
            differ = differ || (fact.function.name && strcmp(other->name, fact.function.name) != 0);
            fact.function.name = other->name; /* names come after NULL in the order */
            fact.function.end = other->end > fact.function.end ? other->end : fact.function.end;
        }
        if (differ) {
            fact.function.name = NULL;
            fact.function.end = fact.function.start;
        }
        f->facts.data[kept++] = fact;
    }
    f->facts.len = kept;
}

static size_t put_number(unsigned char *bytes, uint64_t v) {
    for (size_t i = 0; i < sizeof v; i++) {
        bytes[i] = (unsigned char)(v >> 8 * i);
    }
    return sizeof v;
}

/* Returns the number of the one who tells a fact: the user, or else the dump by its id. It differs
 * between functions, so that the numbers in a store do not show what a user's dumps told about
 * several of them. */
static uint32_t teller_of(uint64_t teller, const struct learned_fact *fact) {
    unsigned char bytes[2 * sizeof(uint64_t) + IMAGE_ID_MAX];
    size_t len = put_number(bytes, teller);
    len += put_number(bytes + len, fact->function.start);
    memcpy(bytes + len, fact->id->bytes, fact->id->len);
    uint32_t number = (uint32_t)hash_bytes(bytes, len + fact->id->len);
    return number ? number : 1;
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
    const char *teller = d->user ? d->user : d->stall.id;
    uint64_t number = teller ? hash_bytes(teller, strlen(teller)) : 0;
    join_facts(&f);
    for (size_t i = 0; i < f.facts.len; i++) {
        f.facts.data[i].function.told_by[0] = teller_of(number, &f.facts.data[i]);
    }
    enum st st = taken ? learned_names_add(n, f.facts.data, f.facts.len, e) : err_nomem(e);
    VEC_RELEASE(&f.facts);
    return st;
}
