/* Chooses one name for each function. */
#include "symbolize/learned_choice.h"

#include <stdbool.h>

static bool told_by_two(const struct learned_function *f) {
    return f->told_by[1] != 0;
}

/* Chooses from the count > 0 functions at `of`, which have one start: a name that two reports tell,
 * else the only name, else none. *chosen is a conflict if several names stand equal; the number of
 * names that stand behind others is added to counts->outvoted. Returns whether two reports or more
 * tell the start, with the same name or not. */
static bool choose_name(const struct learned_function *of, size_t count,
                        struct learned_function *chosen, struct learned_counts *counts) {
    size_t best = 0, names = 0;
    /* A start in conflict was given more than LEARNED_READINGS_MAX names, at most one by each
     * report. */
    bool two = of[0].conflict;
    *chosen = of[0];
    for (size_t i = 0; i < count; i++) {
        two = two || told_by_two(&of[i]) || of[i].told_by[0] != of[0].told_by[0];
        if (!of[i].name) {
            continue;
        }
        names++;
        if (!chosen->name || told_by_two(&of[i]) > told_by_two(chosen)) {
            *chosen = of[i];
            best = 1;
        } else {
            best += told_by_two(&of[i]) == told_by_two(chosen);
        }
    }
    counts->outvoted += names - best;
    if (best > 1) {
        *chosen =
            (struct learned_function){.start = of[0].start, .end = of[0].start, .conflict = true};
    }
    return two;
}

void learned_list_choose(struct learned_list *l, struct learned_counts *counts) {
    size_t kept = 0;
    uint64_t reach = 0; /* greatest end so far of a name that two reports tell */
    for (size_t i = 0, next; i < l->len; i = next) {
        next = i + 1;
        while (next < l->len && l->data[next].start == l->data[i].start) {
            next++;
        }
        struct learned_function f;
        if (!choose_name(&l->data[i], next - i, &f, counts) && f.start < reach) {
            counts->outvoted++;
            continue;
        }
        if (f.name && told_by_two(&f) && f.end > reach) {
            reach = f.end;
        }
        counts->conflicts += f.conflict;
        l->data[kept++] = f;
    }
    l->len = kept;
}
