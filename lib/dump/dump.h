/* The dump model: one stall, as every host module sees it, and its reader and writers.
 * The format is stall-dump/1, see stall-dump(5). */
#ifndef STALLKIT_DUMP_DUMP_H
#define STALLKIT_DUMP_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/sink.h"
#include "dump/json/text_limits.h"

/* Limits of one dump, besides those of its text; past one of them it is refused with ERR_LIMIT. */
enum {
    DUMP_FRAMES_MAX = 4096,  /* frames of one stack */
    DUMP_STACKS_MAX = 65536, /* threads, and distinct sampled stacks */
    DUMP_IMAGES_MAX = 65536
};
/* Most samples of one stack: sums over all stacks of a dump stay below 2^56. */
#define DUMP_COUNT_MAX (UINT64_C(1) << 40)

/* The result of stallsym for an image; verdicts with names come first, the better before the worse.
 */
enum dump_symbols {
    DUMP_SYMBOLS_UNSET = 0, /* not symbolicated yet */
    DUMP_SYMBOLS_OK,
    DUMP_SYMBOLS_SPLIT,         /* "split-dwarf": some of the DWARF is in files not found */
    DUMP_SYMBOLS_ONLY,          /* "symbols-only": a symbol table, no DWARF */
    DUMP_SYMBOLS_MISSING,       /* "missing": no file with this id or name */
    DUMP_SYMBOLS_UUID_MISMATCH, /* "uuid-mismatch": a file of this name and another id */
    DUMP_SYMBOLS_ARCH_MISMATCH, /* "arch-mismatch": such a file without this architecture */
    DUMP_SYMBOLS_NO_DEBUG_INFO, /* "no-debug-info": the file has neither DWARF nor symbols */
    DUMP_SYMBOLS_DAMAGED        /* "damaged": the file with this id cannot be read */
};
/* "ok", "symbols-only" …; "" for unset. And back; false for other text. */
const char *dump_symbols_text(enum dump_symbols s);
bool dump_symbols_parse(const char *s, size_t len, enum dump_symbols *out);

/* Where a location's names came from. */
enum dump_source {
    DUMP_SOURCE_NONE = 0, /* "none": unresolved */
    DUMP_SOURCE_DWARF,
    DUMP_SOURCE_SYMTAB,
    DUMP_SOURCE_SYSTEM,  /* system store */
    DUMP_SOURCE_LEARNED, /* learned store */
    DUMP_SOURCE_REPORT   /* the dump's own "names" */
};
const char *dump_source_text(enum dump_source s);
bool dump_source_parse(const char *s, size_t len, enum dump_source *out);

struct dump_image_order;
struct dump_thread_order;

/* Strings of the model are NUL-terminated UTF-8 in the dump's arena, NULL when absent. Numbers that
 * may be absent are -1 when they are. */
struct dump_image {
    struct image_id id;
    const char *name, *path, *arch;
    uint64_t load, size; /* run-time address of the first mapped byte; bytes (0 = unknown) */
    bool in_app;
    enum dump_symbols symbols;
    const char *symbols_file; /* the file used, or the nearest candidate */
};

/* One line of a location: an inlined function or the real one. */
struct dump_line {
    const char *function; /* readable; NULL = none */
    const char *linkage;  /* mangled, when it differs; else NULL */
    const char *file;
    uint32_t line, column; /* 0 = none */
};

/* A resolved (image, offset); lines run innermost inline first, the real function last. */
struct dump_location {
    int32_t image;   /* index, -1 = none */
    uint64_t offset; /* looked-up address - load (image -1: the address itself) */
    uint64_t start;  /* offset of the function's first byte; == offset when unknown */
    struct dump_line *lines;
    size_t line_count;
    enum dump_source source;
    bool in_app; /* of a location without an image: the app's own code, by the dump's names */
};

/* Is the start known of a function that has no name? */
static inline bool dump_location_has_start(const struct dump_location *l) {
    return l->line_count == 0 && l->start != l->offset;
}

struct dump_stack {
    uint64_t count; /* samples of this stack; 1 for a thread's */
    const uint64_t *frames;
    size_t frame_count;
    const uint32_t *exact; /* indexes of exact frames, ascending; NULL = the default, [0] */
    size_t exact_count;
    bool incomplete; /* the last frame is not the thread's first: callers of it are missing */
    const uint32_t
        *locations; /* parallel to frames, indexes into dump.locations; NULL = not symbolicated */
};

struct dump_wait {
    const char *kind; /* "mutex", "rwlock", "thread" …; NULL = waits for nothing known */
    uint64_t address;
    int64_t owner; /* thread id, -1 = unknown */
};

struct dump_thread {
    int64_t id;
    const char *name, *state; /* state: "running", "waiting" … */
    bool main;
    int64_t cpu_ms;
    int64_t cpu_permille; /* of one processor, in the time that the dump is about */
    struct dump_wait waits_for;
    struct dump_stack stack;
};

/* A name that came with the dump: "names":{"<address>":["symbol", offset, "file", line, in app]},
 * the last three optional. Sorted by address. */
struct dump_name {
    uint64_t address;
    const char *symbol;
    uint64_t offset;
    const char *file; /* with a line; NULL = none */
    uint32_t line;
    bool in_app; /* code in no image, interpreted or made at run time: it is the app's own */
};

/* A context member of the app, as text; value NULL: neither text nor an integer nor true or false.
 */
struct dump_context {
    const char *name, *value;
};

struct dump {
    const char *text; /* borrowed: the input document, as it was */
    size_t text_len;

    const char *id, *time;
    const char *lack; /* what the recorder could not read, in words */
    struct {
        const char *id, *version, *build;
    } app;
    struct {
        const char *model, *os, *os_build, *arch;
        int64_t cpus;
    } device;
    const char *user;
    struct dump_context *context;
    size_t context_count;
    struct {
        const char *id, *kind, *detector, *activity, *app_state;
        const char *action;          /* of a slow action: its name */
        const char *top_thread_name; /* of kind cpu: of the thread that used most, … */
        int64_t top_thread;          /* … and its id */
        const char *mode;            /* of the run loop, as the system calls it */
        int64_t seq, threshold_ms, at_ms, duration_ms, span_ms, gap_ms, cpu_permille, suppressed;
        bool ended, fatal, prewarmed;
    } stall;

    struct {
        const char *level1, *level2, *action, *cause, *title;
        const char *level1_was, *level2_was, *action_was; /* ids before */
    } class;                                              /* what stallclassify --annotate found */

    struct dump_image *images;
    size_t image_count;
    const struct dump_image_order *image_order; /* private to dump_image_at */
    struct dump_thread *threads;
    size_t thread_count;
    int64_t threads_left_out; /* how many more there were; -1 = not told, so none */
    const struct dump_thread_order *thread_order; /* private to dump_thread_by_id */
    int64_t sample_interval_ms;
    struct dump_stack *samples; /* distinct sampled stacks of the main thread */
    size_t sample_count;
    const int32_t *ring; /* indexes into samples, -1 = no stack; oldest first */
    size_t ring_count;
    int64_t heaviest; /* index into samples as the device judged, -1 = not given */
    int64_t heaviest_repeats;
    struct dump_name *names;
    size_t name_count;

    struct dump_location *locations; /* NULL until symbolicated */
    size_t location_count;

    uint64_t replaced_bytes; /* bytes and integers that the pre-pass replaced or quoted */
    struct arena arena;      /* owns all of the above but text */
};

/* Parses one document. text is borrowed until dump_release (the splicer copies from it). Replaces
 * what most JSON readers refuse (integers past 63 bits, bad UTF-8, lone surrogates, \u0000), and
 * counts it in replaced_bytes. A member of the wrong type is an error where it matters (frames,
 * images), and counts as absent elsewhere. ST_NONE: well-formed JSON that is not a stall dump (e.g.
 * a stall-session/1 record). ST_ERR: not JSON, past a limit, a stall-dump of another version
 * (ERR_UNSUPPORTED), or a dump that contradicts itself (a location index out of range). d need not
 * be initialised; on anything but ST_OK it is empty. Thread safe. */
enum st dump_parse(struct dump *d, const char *text, size_t len, struct err *e) BASE_MUST_USE;
/* NULL and released dumps are allowed. */
void dump_release(struct dump *d);

/* Memory for parsing one dump after the other. Not thread safe: one per thread. */
struct dump_scratch;
enum st dump_scratch_new(struct dump_scratch **out, struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void dump_scratch_free(struct dump_scratch *s);
/* As dump_parse, in the memory that s and d have: d is zeroed, or was emptied by dump_clear. On
 * anything but ST_OK it is empty, and still has to be released. */
enum st dump_parse_again(struct dump *d, struct dump_scratch *s, const char *text, size_t len,
                         struct err *e) BASE_MUST_USE;
/* Empties a dump, and keeps its memory for the next one unless that is much. */
void dump_clear(struct dump *d);

/* Seeds Jansson's hash once, before threads start. */
void dump_library_init(void);

/* The display name of an image: the last part of its name, else of its path; NULL = it has neither.
 */
const char *dump_image_name(const struct dump_image *image);
/* The value, as text, of the member of this name in the dump's context. NULL: there is none, or it
 * is not a string, an integer or a boolean. */
const char *dump_context(const struct dump *d, const char *name);
/* The image whose [load, load + size) holds the address (size 0: the nearest load below it whose
 * next image's load is above); -1 if none. */
int32_t dump_image_at(const struct dump *d, uint64_t address);
/* What the dump itself calls a frame of this address; NULL if it says no symbol. */
const struct dump_name *dump_name_at(const struct dump *d, uint64_t address);
/* Is frame i of the stack an exact address (else a return address)? */
bool dump_frame_exact(const struct dump_stack *s, size_t i);
/* The first thread of this id, or NULL. */
const struct dump_thread *dump_thread_by_id(const struct dump *d, int64_t id);
/* The main thread, or NULL. */
const struct dump_thread *dump_main_thread(const struct dump *d);

enum { DUMP_WAITS_MAX = 32 };
/* A chain of waits: a thread, the owner of what it waits for, the owner of what that one waits for
 * … */
struct dump_waits {
    const struct dump_thread *threads[DUMP_WAITS_MAX];
    size_t count;
    size_t back; /* the last one waits for this one of them again, a deadlock; SIZE_MAX = no */
};
/* The chain that begins with t (NULL: an empty one). A chain that is longer than this, or leads to
 * a thread that is not in the dump, ends there. */
void dump_waits(const struct dump *d, const struct dump_thread *t, struct dump_waits *out);
/* The thread that number i of the chain waits for; NULL if it is not known. */
const struct dump_thread *dump_waits_owner(const struct dump_waits *w, size_t i);
/* The stack that the dump is about: the heaviest sample as judged by the device, else the most
 * frequent (ties: the last), else the main thread's; NULL if there is none. */
const struct dump_stack *dump_heaviest(const struct dump *d);
/* A stack that tells what a dump is about. */
struct dump_vote {
    const struct dump_stack *stack;
    const struct dump_thread *thread; /* NULL: the main thread, by its samples */
    uint64_t weight;                  /* at most DUMP_COUNT_MAX */
};
/* Is the dump about the threads that worked, not about the main thread alone? It is for the
 * kinds cpu and slow-action, if it says of a thread with a stack that it worked: in a slow action
 * for 10 % of the time. It is not if the thread that used most in a stall of kind cpu has no
 * stack. */
bool dump_is_about_threads(const struct dump *d);
/* The name of a slow action; NULL = it is none. */
const char *dump_slow_action(const struct dump *d);
/* Is it a slow action in which the main thread is known to have waited for work, while no thread
 * with a stack is known to have worked? */
bool dump_nothing_worked(const struct dump *d);
/* The name of the thread that used the processor most in a stall of kind cpu and has no stack in
 * the dump; NULL = nobody knows, or it has. */
const char *dump_absent_worker(const struct dump *d);
/* How many votes dump_votes gives. */
size_t dump_vote_count(const struct dump *d);
/* The stacks that tell what the dump is about: those of the threads that worked, where
 * dump_is_about_threads, each with the thread's share of a processor in permille (the main thread's
 * split among its samples); else the samples, each with its count. out has room for
 * dump_vote_count. */
void dump_votes(const struct dump *d, struct dump_vote *out);
/* This dump's share of its stall in ms: span_ms, else duration_ms, else at_ms, else 0. */
int64_t dump_span_ms(const struct dump *d);

/* ---- writing what symbolication found ---- */

/* The additions of stallsym to a dump. Arrays are parallel to those of the dump they were made for;
 * one that is NULL leaves that part of the dump as it is. */
struct dump_addition {
    const struct dump_location *locations; /* sorted by (image, offset) */
    size_t location_count;
    const uint32_t *const *thread_locations; /* [thread_count][frame_count] */
    const uint32_t *const *sample_locations; /* [sample_count][frame_count] */
    const enum dump_symbols *image_symbols;  /* [image_count] */
    const char *const *image_files;          /* [image_count], NULL = none */
};

/* Writes d's own text with the addition spliced in (and what an earlier run had added replaced) as
 * one line of JSON Lines: white space between tokens of a pretty-printed input is dropped, every
 * other byte survives. Strings are interned once per dump. Errors stick to the sink. ST_ERR only
 * for out of memory. */
enum st dump_write_spliced(const struct dump *d, const struct dump_addition *add, struct sink *out,
                           struct err *e) BASE_MUST_USE;

/* Writes d's own text as it is, as one line of JSON Lines: white space as dump_write_spliced.
 * Errors stick to the sink. */
void dump_write_raw(const struct dump *d, struct sink *out);

/* Writes d's own text as one line of JSON Lines with one member, `name`, of this JSON: put at the
 * end, in place of any that was there. Every other byte stays, except that white space between
 * tokens goes from a text of several lines. Errors stick to the sink. ST_ERR only for out of
 * memory, before anything is written. */
enum st dump_write_member(const struct dump *d, const char *name, const char *json, size_t len,
                          struct sink *out, struct err *e) BASE_MUST_USE;

#endif
