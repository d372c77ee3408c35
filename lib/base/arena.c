/* Implements the arena as a chain of growing blocks, newest first. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

struct arena_block {
    struct arena_block *next;
    size_t size; /* bytes of data */
    size_t used; /* bytes of data in use, always a multiple of ALIGNMENT */
    alignas(max_align_t) unsigned char data[];
};

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20, ALIGNMENT = alignof(max_align_t) };

/* Puts a block with room for `size` bytes in front of the chain. The first block has 4 KiB, each
 * later one twice the size of the newest, up to 1 MiB, so that many small requests cost few
 * mallocs; a larger `size` gets a block of its own size. */
static struct arena_block *add_block(struct arena *a, size_t size) {
    size_t want = FIRST_BLOCK;
    if (a->head) {
        want = a->head->size < LARGEST_STEP / 2 ? a->head->size * 2 : LARGEST_STEP;
    }
    if (want < size) {
        want = size;
    }
    size_t total;
    if (!checked_add_size(want, sizeof(struct arena_block), &total)) {
        return NULL;
    }
    struct arena_block *b = malloc(total);
    if (b) {
        b->next = a->head;
        b->size = want;
        b->used = 0;
        a->head = b;
    }
    return b;
}

void *arena_alloc(struct arena *a, size_t size) {
    size_t charged = size ? size : 1;
    size_t rounded;
    if ((a->limit && (a->used > a->limit || charged > a->limit - a->used)) ||
        !checked_add_size(charged, ALIGNMENT - 1, &rounded)) {
        return NULL;
    }
    rounded -= rounded % ALIGNMENT;
    struct arena_block *b = a->head;
    if (!b || rounded > b->size - b->used) {
        b = add_block(a, rounded);
        if (!b) {
            return NULL;
        }
    }
    void *p = b->data + b->used;
    b->used += rounded;
    a->used += charged;
    return memset(p, 0, charged);
}

void *arena_array(struct arena *a, size_t count, size_t size) {
    size_t total;
    return checked_mul_size(count, size, &total) ? arena_alloc(a, total) : NULL;
}

char *arena_strdup(struct arena *a, const char *s, size_t len) {
    size_t total;
    char *copy = checked_add_size(len, 1, &total) ? arena_alloc(a, total) : NULL;
    if (copy && len) {
        memcpy(copy, s, len);
    }
    return copy;
}

void arena_clear(struct arena *a) {
    struct arena_block *largest = a->head;
    for (struct arena_block *b = a->head; b; b = b->next) {
        if (b->size > largest->size) {
            largest = b;
        }
    }
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        if (b != largest) {
            free(b);
        }
    }
    if (largest) {
        largest->next = NULL;
        largest->used = 0;
    }
    a->head = largest;
    a->used = 0;
}

void arena_release(struct arena *a) {
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    a->head = NULL;
    a->used = 0;
}
