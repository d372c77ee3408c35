/* An arena: memory that is freed all at once, per file, per dump or per request. Not thread
 * safe. */
#ifndef STALLKIT_BASE_ARENA_H
#define STALLKIT_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

/* A zero-initialised arena is empty and has no limit. */
struct arena {
    struct arena_block *head;
    size_t used;  /* bytes requested since init or clear, at least 1 for each allocation */
    size_t limit; /* maximum of `used`, beyond which an allocation fails; 0 = no limit */
};

/* Returns `size` zeroed bytes, aligned for any type, valid until clear or release; NULL when
 * memory or the limit runs out. A size of 0 gives a valid unique pointer. */
void *arena_alloc(struct arena *a, size_t size);

/* Returns count * size bytes as arena_alloc does; NULL also when the product overflows. */
void *arena_array(struct arena *a, size_t count, size_t size);

/* Returns a copy of the len bytes at s with a NUL after it; NULL when memory or the limit runs out.
 */
char *arena_strdup(struct arena *a, const char *s, size_t len);

/* Empties the arena and keeps its largest block for reuse: all memory that came from it is
 * invalid. */
void arena_clear(struct arena *a);
/* Frees all memory of the arena, which is then empty and usable again. */
void arena_release(struct arena *a);

#endif
