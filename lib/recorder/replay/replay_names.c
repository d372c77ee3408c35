/* Stores the names of a trace with their numbers, in a hash table. */
#include "replay/replay_names.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 64 };

/* Returns the FNV-1a hash of a name. */
static uint32_t hash_name(const char *name) {
    uint32_t hash = 0x811c9dc5;
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x01000193;
    }
    return hash;
}

/* Returns the slot with the number of `name`, or the free slot for it. names->cap must be a power
 * of two. */
static uint32_t *names_slot(const struct replay_names *names, const char *name) {
    uint32_t mask = 2 * names->cap - 1, i = hash_name(name) & mask;
    while (names->slots[i] != 0 && strcmp(names->names[names->slots[i] - 1], name) != 0) {
        i = (i + 1) & mask;
    }
    return &names->slots[i];
}

static bool grow(struct replay_names *names) {
    struct replay_names larger = {.count = names->count,
                                  .cap = names->cap > 0 ? 2 * names->cap : FIRST_CAP};
    larger.names = malloc(larger.cap * sizeof *larger.names);
    larger.slots = calloc((size_t)2 * larger.cap, sizeof *larger.slots);
    if (larger.names == NULL || larger.slots == NULL) {
        replay_names_release(&larger);
        return false;
    }
    for (uint32_t i = 0; i < names->count; i++) {
        memcpy(larger.names[i], names->names[i], REPLAY_NAME);
        *names_slot(&larger, larger.names[i]) = i + 1;
    }
    replay_names_release(names);
    *names = larger;
    return true;
}

bool replay_names_find(const struct replay_names *names, const char *name, uint32_t *number) {
    if (names->count == 0) {
        return false;
    }
    uint32_t found = *names_slot(names, name);
    if (found != 0) {
        *number = found - 1;
    }
    return found != 0;
}

bool replay_names_add(struct replay_names *names, const char *name, uint32_t max) {
    if (names->count >= max || (names->count == names->cap && !grow(names))) {
        return false;
    }
    uint32_t *slot = names_slot(names, name);
    memcpy(names->names[names->count], name, strlen(name) + 1);
    *slot = ++names->count;
    return true;
}

void replay_names_release(struct replay_names *names) {
    free(names->names);
    free(names->slots);
    *names = (struct replay_names){0};
}
