/* Chooses one name for each function from the names that reports tell: what two reports tell counts
 * before what one report tells alone, so that one forged or mistaken report takes no name away that
 * two others agree on. All reports of one user count as one report. */
#ifndef STALLKIT_SYMBOLIZE_LEARNED_CHOICE_H
#define STALLKIT_SYMBOLIZE_LEARNED_CHOICE_H

#include <stdint.h>

#include "symbolize/learned_names.h"

/* What learned_list_choose left without effect. */
struct learned_counts {
    uint64_t conflicts; /* functions without a name, because several names are told equally well or
                           there are more than LEARNED_READINGS_MAX */
    /* names, and starts inside of a function, that one report tells against two */
    uint64_t outvoted;
};

/* Leaves one function for each start in a list of learned_names_list: with the only name that two
 * reports or more tell, or else with the only name that one report tells, or else with no name;
 * with no name and in conflict if several names are told that well. Removes a start that one report
 * tells inside of a function whose name two reports tell. Adds to *counts. */
void learned_list_choose(struct learned_list *l, struct learned_counts *counts);

#endif
