/* The heuristic that finds a program's event loop. */
#include "loop/loop_sites.h"

#include <stddef.h>

static struct site *sites_find(struct sites *s, uint64_t address) {
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->site[i].address == address) {
            return &s->site[i];
        }
    }
    return NULL;
}

/* Returns a new entry; a full table gives up that of the deepest site that is not accepted. */
static struct site *sites_add(struct sites *s, uint64_t address) {
    struct site *place = NULL;
    if (s->count < SITES_MAX) {
        place = &s->site[s->count++];
    }
    for (uint32_t i = 0; !place && i < s->count; i++) {
        if (!s->site[i].accepted && s->site[i].depth < s->shallowest) {
            place = &s->site[i];
        }
    }
    if (place) {
        *place = (struct site){.address = address};
    }
    return place;
}

static void accept(struct sites *s, struct site *site) {
    site->accepted = true;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->site[i].depth < site->depth) {
            s->site[i].accepted = false;
            s->site[i].seen = 0;
        }
    }
}

enum site_verdict sites_judge(struct sites *s, uint64_t address, uint64_t depth, bool blocking) {
    struct site *site = sites_find(s, address);
    if (site && site->accepted) {
        if (blocking && depth > s->shallowest && !s->named) {
            s->shallowest = depth;
            site->depth = depth;
            accept(s, site);
        }
        return SITE_LOOP;
    }
    if (s->named) {
        if (site || (site = sites_add(s, address)) == NULL) {
            return SITE_NO; /* asked before */
        }
        site->accepted = s->named(s->named_arg, address);
        return site->accepted ? SITE_ACCEPTED : SITE_NO;
    }
    if (!blocking || depth < s->shallowest) {
        return SITE_NO;
    }
    s->shallowest = depth;
    if (!site && (site = sites_add(s, address)) == NULL) {
        return SITE_NO;
    }
    if (depth > site->depth) {
        site->depth = depth;
        site->seen = 0;
    }
    if (++site->seen < SITES_SEEN) {
        return SITE_NO;
    }
    accept(s, site);
    return SITE_ACCEPTED;
}
