/* Keeps large blocks of memory and reuses them for later inputs, because AddressSanitizer maps each
 * block of more than 128 kB again, and the new pages take most of the time of a short run. In a
 * build with libFuzzer, the linker (--wrap) redirects the allocations of the commands, the library
 * and the fuzzer to these functions. A block that is not in use is poisoned, and so are the bytes
 * of a block behind the requested length, so that the sanitizer reports the same errors, with one
 * exception: a use after free is missed if the block was meanwhile given out again. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGE = 64 * 1024, LARGEST = 8 * 1024 * 1024, BLOCKS_MAX = 64 };
enum { PAGE = 4096 };

/* AddressSanitizer has these functions; gcc has no header that declares them. */
void __asan_poison_memory_region(const volatile void *p, size_t len);
void __asan_unpoison_memory_region(const volatile void *p, size_t len);
size_t __sanitizer_get_allocated_size(const volatile void *p);

void *__real_malloc(size_t len);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t len);
void __real_free(void *p);
void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t len);
void __wrap_free(void *p);

/* The address of a block in use is stored inverted, so that the leak detection does not find a
 * reference to the block in this table. */
struct block {
    uintptr_t address;
    size_t capacity, len;
    bool used;
};

static struct block blocks[BLOCKS_MAX];
static size_t block_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uintptr_t stored_address(const void *p, bool used) {
    return used ? ~(uintptr_t)p : (uintptr_t)p;
}

/* Finds the block at p; NULL: p is no block of the table. The sanitizer reports the use of a free
 * block. */
static struct block *find_used_block(void *p) {
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].address == stored_address(p, blocks[i].used)) {
            /* Reading reports an error if the block is poisoned, which means not in use. */
            *(volatile char *)p;
            return &blocks[i];
        }
    }
    return NULL;
}

/* Finds the smallest free block that is large enough, or makes one if there is none or that one is
 * much larger (four times). NULL: the table is full, or memory ran out. */
static struct block *find_free_block(size_t len) {
    struct block *best = NULL;
    for (size_t i = 0; i < block_count; i++) {
        struct block *b = &blocks[i];
        if (!b->used && b->capacity >= len && (!best || b->capacity < best->capacity)) {
            best = b;
        }
    }
    if (best && best->capacity / 4 <= len) {
        return best;
    }
    size_t capacity = (len + LARGE - 1) / LARGE * LARGE;
    void *fresh = block_count < BLOCKS_MAX ? __real_malloc(capacity) : NULL;
    if (!fresh) {
        return NULL;
    }
    best = &blocks[block_count++];
    *best = (struct block){.address = (uintptr_t)fresh, .capacity = capacity};
    return best;
}

/* Returns a block of any content; NULL: the table cannot give one. */
static void *take_block(size_t len) {
    if (len < LARGE || len > LARGEST) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct block *b = find_free_block(len);
    void *p = b ? (void *)b->address : NULL;
    if (b) {
        b->used = true;
        b->address = ~b->address;
        b->len = len;
        __asan_unpoison_memory_region(p, len);
        __asan_poison_memory_region((char *)p + len, b->capacity - len);
    }
    pthread_mutex_unlock(&lock);
    return p;
}

/* Makes the bytes zero. Whole pages inside are given back to the system, because few of them are
 * touched later. */
static void clear_block(void *p, size_t len) {
    char *first = (char *)(((uintptr_t)p + PAGE - 1) / PAGE * PAGE);
    char *last = (char *)(((uintptr_t)p + len) / PAGE * PAGE), *end = (char *)p + len;
    if (madvise(first, (size_t)(last - first), MADV_DONTNEED) != 0) {
        memset(p, 0, len);
        return;
    }
    memset(p, 0, (size_t)(first - (char *)p));
    memset(last, 0, (size_t)(end - last));
}

void *__wrap_malloc(size_t len) {
    void *p = take_block(len);
    return p ? p : __real_malloc(len);
}

void *__wrap_calloc(size_t count, size_t size) {
    size_t len;
    bool fits = !__builtin_mul_overflow(count, size, &len);
    void *p = fits ? take_block(len) : NULL;
    if (!p) {
        return __real_calloc(count, size);
    }
    clear_block(p, len);
    return p;
}

void __wrap_free(void *p) {
    pthread_mutex_lock(&lock);
    struct block *b = p ? find_used_block(p) : NULL;
    if (b) {
        b->used = false;
        b->address = ~b->address;
        __asan_poison_memory_region(p, b->capacity);
    }
    pthread_mutex_unlock(&lock);
    if (!b) {
        __real_free(p);
    }
}

void *__wrap_realloc(void *old, size_t len) {
    pthread_mutex_lock(&lock);
    struct block *b = old ? find_used_block(old) : NULL;
    size_t before = b ? b->len : 0;
    pthread_mutex_unlock(&lock);
    if (!old || (!b && len < LARGE)) {
        return old ? __real_realloc(old, len) : __wrap_malloc(len);
    }
    before = b ? before : __sanitizer_get_allocated_size(old);
    void *p = __wrap_malloc(len);
    if (p) {
        memcpy(p, old, before < len ? before : len);
        __wrap_free(old);
    }
    return p;
}
