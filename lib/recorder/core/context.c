/* The context's slots and the app's state: sequence locks whose reader gives up after TRIES
 * attempts.
 *
 * H.-J. Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012, gives
 * the memory orders: a reader that sees a word of a write (acquire, release) also sees that its
 * sequence was odd, and no later load of the sequence can come before the words (acquire). */
#include "core/context.h"

#include <string.h>

#include "support/redact.h"

enum { TRIES = 64 };

_Static_assert(sizeof(struct rec_context_pair) == REC_CONTEXT_WORDS * sizeof(uint32_t),
               "a slot holds a pair");

struct rec_app_state {
    uint64_t total_ns; /* ns in the foreground before since_ns, in all */
    uint64_t since_ns;
    uint32_t app; /* enum rec_app, as last set by the app */
    uint32_t unused;
};

_Static_assert(sizeof(struct rec_app_state) % sizeof(uint32_t) == 0 &&
                   sizeof(struct rec_app_state) <= sizeof(struct rec_context_pair),
               "a slot holds the app's state");

/* Writes `size` bytes, a multiple of 4, into the slot. */
static void slot_write(struct rec_context_slot *slot, const void *from, size_t size) {
    unsigned sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
    atomic_store_explicit(&slot->sequence, sequence + 1, memory_order_relaxed);
    for (size_t i = 0; i < size / sizeof(uint32_t); i++) {
        uint32_t word;
        memcpy(&word, (const char *)from + i * sizeof word, sizeof word);
        atomic_store_explicit(&slot->words[i], word, memory_order_release);
    }
    atomic_store_explicit(&slot->sequence, sequence + 2, memory_order_release);
}

static bool slot_read(const struct rec_context_slot *slot, void *to, size_t size) {
    for (unsigned tries = 0; tries < TRIES; tries++) {
        unsigned sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
        for (size_t i = 0; i < size / sizeof(uint32_t); i++) {
            uint32_t word = atomic_load_explicit(&slot->words[i], memory_order_acquire);
            memcpy((char *)to + i * sizeof word, &word, sizeof word);
        }
        if ((sequence & 1) == 0 &&
            atomic_load_explicit(&slot->sequence, memory_order_relaxed) == sequence) {
            return true;
        }
    }
    return false;
}

/* ---- pairs ---- */

static bool is_separator(char c) {
    return c == ',' || c == ' ';
}

static bool is_allowed(const char *key, const char *list) {
    size_t len = strlen(key);
    if (list == NULL) {
        return true;
    }
    while (*list != '\0') {
        size_t item = 0;
        while (list[item] != '\0' && !is_separator(list[item])) {
            item++;
        }
        if (item == len && memcmp(list, key, len) == 0) {
            return true;
        }
        list += item + (list[item] != '\0');
    }
    return false;
}

/* Returns the slot of the key, else a free slot, else NULL. Only writers call it, one at a time,
 * so no write is under way that could make a read fail. */
static struct rec_context_slot *context_slot(struct rec_context *context, const char *key) {
    struct rec_context_slot *free_slot = NULL;
    for (unsigned i = 0; i < STALLREC_CONTEXT_SLOTS; i++) {
        struct rec_context_pair pair;
        if (!slot_read(&context->slots[i], &pair, sizeof pair)) {
            continue;
        }
        if (strcmp(pair.key, key) == 0) {
            return &context->slots[i];
        }
        if (pair.key[0] == '\0' && free_slot == NULL) {
            free_slot = &context->slots[i];
        }
    }
    return free_slot;
}

enum stallrec_error rec_context_set(struct rec_context *context, const char *key, const char *value,
                                    const char *allowed, const char *home) {
    struct rec_context_pair pair = {0};
    if (key[0] == '\0' || strlen(key) >= sizeof pair.key || !is_allowed(key, allowed)) {
        return STALLREC_ERR_CONTEXT;
    }
    bool removed = value == NULL || value[0] == '\0';
    struct rec_context_slot *slot = context_slot(context, key);
    if (slot == NULL) {
        return removed ? STALLREC_OK : STALLREC_ERR_CONTEXT;
    }
    if (!removed) {
        memcpy(pair.key, key, strlen(key));
        rec_redact_text(pair.value, sizeof pair.value, value, home);
    }
    slot_write(slot, &pair, sizeof pair);
    return STALLREC_OK;
}

/* ---- the app's state ---- */

/* Returns the length in ns of the foreground stretch that has not ended; 0 in the background. */
static uint64_t running_ns(const struct rec_app_state *state, uint64_t now_ns) {
    return state->app != REC_APP_BACKGROUND && now_ns > state->since_ns ? now_ns - state->since_ns
                                                                        : 0;
}

void rec_context_begin(struct rec_context *context, uint64_t now_ns) {
    struct rec_app_state state = {.since_ns = now_ns};
    slot_write(&context->app, &state, sizeof state);
}

void rec_context_app(struct rec_context *context, bool foreground, uint64_t now_ns) {
    struct rec_app_state state;
    if (!slot_read(&context->app, &state, sizeof state)) {
        return; /* the read fails only if there is a second writer, which the contract forbids */
    }
    state.total_ns += running_ns(&state, now_ns);
    state.since_ns = now_ns;
    state.app = foreground ? REC_APP_FOREGROUND : REC_APP_BACKGROUND;
    slot_write(&context->app, &state, sizeof state);
}

uint64_t rec_context_foreground_ns(const struct rec_context *context, uint64_t now_ns) {
    struct rec_app_state state;
    return slot_read(&context->app, &state, sizeof state)
               ? state.total_ns + running_ns(&state, now_ns)
               : UINT64_MAX;
}

enum rec_app rec_context_app_now(const struct rec_context *context) {
    struct rec_app_state state;
    return slot_read(&context->app, &state, sizeof state) ? (enum rec_app)state.app
                                                          : REC_APP_UNKNOWN;
}

void rec_context_read(const struct rec_context *context, struct rec_context_copy *out) {
    out->count = 0;
    for (unsigned i = 0; i < STALLREC_CONTEXT_SLOTS; i++) {
        struct rec_context_pair *pair = &out->pairs[out->count];
        if (slot_read(&context->slots[i], pair, sizeof *pair) && pair->key[0] != '\0') {
            out->count++;
        }
    }
    out->app = rec_context_app_now(context);
}
