/* Memory that is freed all at once: per file, per dump, per request. Not thread safe. */
#ifndef STALLKIT_BASE_ARENA_H
#define STALLKIT_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

/* Zero-initialised = empty, no cap. */
struct arena {
    struct arena_block *head;
    size_t used;  /* bytes handed out since init or clear */
    size_t limit; /* 0 = none; else an allocation past it fails */
};

/* size bytes, zeroed, aligned for any type, valid until clear or release; NULL when memory or the
 * limit runs out. size 0 gives a valid unique pointer. */
void *arena_alloc(struct arena *a, size_t size);

/* count * size bytes, as arena_alloc; NULL also on overflow. */
void *arena_array(struct arena *a, size_t count, size_t size);

/* A copy of len bytes with a NUL behind it; NULL as arena_alloc. */
char *arena_strdup(struct arena *a, const char *s, size_t len);

/* Empties the arena, keeping its largest block for reuse: all that came from it is invalid. */
void arena_clear(struct arena *a);
/* Frees everything; the arena is empty and usable again. */
void arena_release(struct arena *a);

#endif
