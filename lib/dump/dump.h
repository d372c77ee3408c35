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

/* Limits of one dump besides those of its text; a dump past one of them is refused with
 * ERR_LIMIT. */
enum {
    DUMP_FRAMES_MAX = 4096,  /* frames of one stack */
    DUMP_STACKS_MAX = 65536, /* maximum number of threads, and of distinct sampled stacks */
    DUMP_IMAGES_MAX = 65536
};
/* Maximum length in bytes of a text of the model other than a function's or source file's name. A
 * longer text is cut between two characters. Genuine reports have no longer texts, and the time to
 * process a dump grows with the length of its texts. */
enum { DUMP_VALUE_MAX = 4096 };
/* Largest sample count of one stack; with DUMP_STACKS_MAX it keeps the sum of all counts of a dump
 * at 2^56 or less. */
#define DUMP_COUNT_MAX (UINT64_C(1) << 40)

/* The verdict of stallsym on the symbols of an image. The verdicts under which functions get names
 * (ok, split-dwarf, symbols-only) come before the others, each time the better before the worse. */
enum dump_symbols {
    DUMP_SYMBOLS_UNSET = 0, /* not symbolicated yet */
    DUMP_SYMBOLS_OK,
    DUMP_SYMBOLS_SPLIT,   /* "split-dwarf": files that hold a part of the DWARF were not found */
    DUMP_SYMBOLS_ONLY,    /* "symbols-only": a symbol table, no DWARF */
    DUMP_SYMBOLS_MISSING, /* "missing": no file with this id or name */
    DUMP_SYMBOLS_UUID_MISMATCH, /* "uuid-mismatch": a file of this name and another id */
    DUMP_SYMBOLS_ARCH_MISMATCH, /* "arch-mismatch": a file of this name, but without this
                                   architecture */
    DUMP_SYMBOLS_NO_DEBUG_INFO, /* "no-debug-info": the file has neither DWARF nor symbols */
    DUMP_SYMBOLS_DAMAGED        /* "damaged": the file with this id cannot be read */
};
/* Returns the verdict as the dump writes it ("ok", "symbols-only" …), "" for unset;
 * dump_symbols_parse converts such a text back and returns false for any other. */
const char *dump_symbols_text(enum dump_symbols s);
bool dump_symbols_parse(const char *s, size_t len, enum dump_symbols *out);

/* The origin of a location's names. */
enum dump_source {
    DUMP_SOURCE_NONE = 0, /* "none": unresolved */
    DUMP_SOURCE_DWARF,
    DUMP_SOURCE_SYMTAB,
    DUMP_SOURCE_SYSTEM,  /* "system": the store of system symbols */
    DUMP_SOURCE_LEARNED, /* "learned": names learned from other reports */
    DUMP_SOURCE_REPORT   /* the dump's own "names" */
};
const char *dump_source_text(enum dump_source s);
bool dump_source_parse(const char *s, size_t len, enum dump_source *out);

struct dump_image_order;
struct dump_thread_order;

/* Strings of the model are NUL-terminated UTF-8 in the dump's arena, or constants, and NULL when
 * absent. Optional signed numbers are -1 when absent. */
struct dump_image {
    struct image_id id;
    const char *name, *path, *arch;
    /* load: run-time address of the first mapped byte; size: bytes, 0 = unknown */
    uint64_t load, size;
    bool in_app;
    /* The image's load address is not known. `load` is then at most the address of the lowest frame
     * in the image, so that offsets from it are not offsets in the image's file. */
    bool unplaced;
    enum dump_symbols symbols;
    const char *symbols_file; /* the file used, or the nearest candidate */
};

/* One source line of a location: the line of the function that contains the address, or of one
 * inlined into that function. */
struct dump_line {
    const char *function; /* readable name; NULL = none */
    const char *linkage;  /* mangled name if it differs from function; else NULL */
    const char *file;
    uint32_t line, column; /* 0 = none */
};

/* The names found for an (image, offset) pair; lines run innermost inlined function first, the
 * function that holds the address last. */
struct dump_location {
    int32_t image;   /* index into dump.images, -1 = none */
    uint64_t offset; /* looked-up address - load (image -1: the address itself) */
    uint64_t start;  /* offset of the function's first byte; == offset when unknown */
    struct dump_line *lines;
    size_t line_count;
    enum dump_source source;
    bool in_app; /* true: the location has no image, and the dump's "names" mark it as the app's own
                    code */
};

/* Is the function that contains the location unnamed, but its start known? */
static inline bool dump_location_has_start(const struct dump_location *l) {
    return l->line_count == 0 && l->start != l->offset;
}

struct dump_stack {
    uint64_t count; /* samples that had this stack; 1 for a thread's stack */
    const uint64_t *frames;
    size_t frame_count;
    const uint32_t *exact; /* indexes of exact frames, ascending; NULL = the default, [0] */
    size_t exact_count;
    /* the stack is cut: the last frame is not the thread's first function */
    bool incomplete;
    /* indexes into dump.locations, one per frame; NULL = not symbolicated */
    const uint32_t *locations;
};

struct dump_wait {
    const char *kind; /* kind of the object for which the thread waits: "mutex", "rwlock", "thread"
                         …; NULL = unknown, or the thread does not wait */
    uint64_t address;
    int64_t owner; /* id of the thread that holds that object, -1 = unknown */
};

struct dump_thread {
    int64_t id;
    const char *name, *state; /* state: "running", "waiting" … */
    bool main;
    int64_t cpu_ms;
    int64_t cpu_permille; /* processor use in the dump's time span, in permille of one processor */
    struct dump_wait waits_for;
    struct dump_stack stack;
};

/* A symbol that came with the dump, from "names":{"<address>":["symbol", offset, "file", line, in
 * app, inlined]}, of which only the first element is required. dump.names is sorted by address. */
struct dump_name {
    uint64_t address;
    const char *symbol;
    uint64_t offset;
    const char *file; /* source file of line; NULL = none */
    uint32_t line;
    bool in_app; /* the app's own code outside of all images: interpreted, or generated at run time
                  */
    /* functions that are inlined at this address into the symbol's function, innermost first;
     * their linkage and column are absent */
    struct dump_line *inlined;
    size_t inlined_count;
};

/* One member of the dump's "context", which the app has set, as text; value is NULL if it is
 * neither a string nor an integer nor a boolean. */
struct dump_context {
    const char *name, *value;
};

/* A part of a dump's text: the offset of its first byte, and of the byte after it. */
struct dump_cut {
    uint32_t from, to;
};

struct dump {
    const char *text; /* borrowed: the input document, as it was */
    size_t text_len;
    uint64_t captured_size; /* number of bytes that dump_write_captured writes */
    /* the parts of the text that dump_write_captured leaves out, ascending; NULL: they are not
     * known, because white space stands between tokens */
    const struct dump_cut *cuts;
    size_t cut_count;

    const char *id, *time;
    const char *lack; /* description of the parts that the recorder could not read; NULL = it read
                         everything */
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
        /* The app's visibility, as reported by the system that ended the process. */
        const char *visibility;
        const char *loop_at;         /* place of the loop that the recorder believed in */
        const char *action;          /* name of the slow action */
        const char *top_thread_name; /* kind cpu: name of the thread that used the processor most */
        int64_t top_thread;          /* kind cpu: id of the thread that used the processor most */
        const char *mode;            /* mode of the run loop, by the system's name */
        int64_t seq, threshold_ms, at_ms, duration_ms, span_ms, gap_ms, cpu_permille, suppressed;
        bool ended, fatal, prewarmed;
    } stall;

    struct {
        const char *level1, *level2, *action, *cause, *title;
        const char *level1_was, *level2_was, *action_was; /* earlier ids of the same bucket */
    } class;                                              /* what stallclassify --annotate found */

    struct dump_image *images;
    size_t image_count;
    const struct dump_image_order *image_order; /* private to dump_image_at */
    struct dump_thread *threads;
    size_t thread_count;
    int64_t threads_left_out; /* number of the process's threads that the dump omits; -1 = not
                                 given, which counts as 0 */
    const struct dump_thread_order *thread_order; /* private to dump_thread_by_id */
    int64_t sample_interval_ms;
    struct dump_stack *samples; /* distinct sampled stacks of the main thread */
    size_t sample_count;
    const int32_t *ring; /* indexes into samples, -1 = no stack; oldest first */
    size_t ring_count;
    int64_t heaviest; /* index into samples of the stack that the device judged heaviest, -1 = not
                         given */
    int64_t heaviest_repeats;
    struct dump_name *names;
    size_t name_count;

    struct dump_location *locations; /* NULL until symbolicated */
    size_t location_count;

    /* number of repairs of the text: bytes that are not UTF-8, lone surrogates and \u0000 were
     * replaced, integers past 64 bits became strings */
    uint64_t replaced_bytes;
    uint64_t cut_values; /* number of texts that were cut to their first DUMP_VALUE_MAX bytes */
    struct arena arena;  /* owns all memory of the dump except `text` */
};

/* Parses one dump. text is borrowed until dump_release (the splicer copies from it). What most JSON
 * readers refuse (integers past 64 bits, bad UTF-8, lone surrogates, \u0000) is repaired and
 * counted in replaced_bytes. A text, number, flag or object of the wrong type counts as absent;
 * outside of "names", a list (except "strings") or an element of a list, a frame, an image's load
 * or size, a location's offset, a sample count, an index or "samples" of the wrong type is an
 * error. ST_NONE: the text is well-formed JSON, but not a stall dump (e.g. a stall-session/1
 * record). ST_ERR: the text is not JSON, past a limit, a stall dump of another version
 * (ERR_UNSUPPORTED), a dump with such a value of the wrong type, or one that contradicts itself (a
 * location index out of range); or out of memory (ERR_NOMEM). d need not be initialised; on
 * anything but ST_OK it is empty. Thread safe. */
enum st dump_parse(struct dump *d, const char *text, size_t len, struct err *e) BASE_MUST_USE;
/* Frees a dump; NULL and released dumps are allowed. */
void dump_release(struct dump *d);

/* Memory that dump_parse_again uses for one dump after the other. Not thread safe: each thread
 * needs its own. */
struct dump_scratch;
enum st dump_scratch_new(struct dump_scratch **out, struct err *e) BASE_MUST_USE;
/* Frees the scratch; NULL is allowed. */
void dump_scratch_free(struct dump_scratch *s);
/* Parses as dump_parse does, in the memory that s and d already have: d is zeroed, or was emptied
 * by dump_clear. On anything but ST_OK d is empty, but must still be released. */
enum st dump_parse_again(struct dump *d, struct dump_scratch *s, const char *text, size_t len,
                         struct err *e) BASE_MUST_USE;
/* Empties a dump. The largest block of its memory is kept for the next dump; but if the dump had
 * used more than 1 MiB, all of its memory is freed. */
void dump_clear(struct dump *d);

/* Seeds the hash of Jansson's objects. The program calls it once, before it starts threads. */
void dump_library_init(void);

/* Returns the display name of an image: the last part of its name, else of its path; NULL: it has
 * neither. */
const char *dump_image_name(const struct dump_image *image);
/* Returns the value, as text, of the member called `name` of the dump's context. If there are
 * several of that name, the last one counts. NULL: there is none, or its value is not a string, an
 * integer or a boolean. */
const char *dump_context(const struct dump *d, const char *name);
/* Returns the index of the image whose [load, load + size) holds the address, -1 if none does. Of
 * images that overlap, the one with the highest load counts. An image of size 0 reaches up to the
 * next image's load. Only the 64 images with the highest loads up to the address are tried. */
int32_t dump_image_at(const struct dump *d, uint64_t address);
/* Returns the symbol for this address in the dump's own "names"; NULL if there is none. */
const struct dump_name *dump_name_at(const struct dump *d, uint64_t address);
/* Is frame i of the stack an exact address? Any other frame is a return address. */
bool dump_frame_exact(const struct dump_stack *s, size_t i);
/* Returns the first thread of this id; NULL: there is none. */
const struct dump_thread *dump_thread_by_id(const struct dump *d, int64_t id);
/* Returns the main thread; NULL: the dump has none. */
const struct dump_thread *dump_main_thread(const struct dump *d);

enum { DUMP_WAITS_MAX = 32 };
/* A chain of waits: each thread but the first is the owner of the object for which the thread
 * before it waits. */
struct dump_waits {
    const struct dump_thread *threads[DUMP_WAITS_MAX];
    size_t count;
    size_t back; /* in a deadlock, index in `threads` of the thread for which the last of `threads`
                    waits; SIZE_MAX = the chain has no deadlock */
};
/* Writes the chain of waits that begins with t (NULL: an empty chain). The chain ends after
 * DUMP_WAITS_MAX threads; at a thread whose waits_for has no kind, or an owner that is unknown or
 * not in the dump; and in a deadlock, where the next thread is in the chain already. */
void dump_waits(const struct dump *d, const struct dump_thread *t, struct dump_waits *out);
/* Returns the thread that thread i of the chain waits for. NULL: the chain ends with thread i, and
 * not in a deadlock. */
const struct dump_thread *dump_waits_owner(const struct dump_waits *w, size_t i);
/* Returns the stack that the dump is about: the sample that the device judged heaviest, else the
 * most frequent sample (of equals the last), else the main thread's stack; NULL if there is
 * none. */
const struct dump_stack *dump_heaviest(const struct dump *d);
/* A stack that counts as evidence of the cause of a stall. */
struct dump_vote {
    const struct dump_stack *stack;
    const struct dump_thread *thread; /* NULL: the stack is a sample of the main thread */
    uint64_t weight;                  /* at most DUMP_COUNT_MAX */
};
/* Is the dump about the threads that used the processor, rather than about the main thread alone?
 * True for the kinds cpu and slow-action if a thread that has a stack is known to have worked (in a
 * slow action for at least 10 % of the time). False if, in a stall of kind cpu, the thread that
 * used the processor most is known and has no stack. */
bool dump_is_about_threads(const struct dump *d);
/* Returns the name of a slow action; NULL: the stall is of another kind, or the name is absent or
 * empty. */
const char *dump_slow_action(const struct dump *d);
/* Is the stall a slow action in which the main thread is known to have worked for less than 10 % of
 * the time, and no thread that has a stack is known to have worked for 10 % or more? */
bool dump_nothing_worked(const struct dump *d);
/* Returns the name of the thread that used the processor most in a stall of kind cpu that
 * dump_is_about_threads does not accept, because the dump has no stack of that thread. NULL: the
 * name is absent or empty, dump_is_about_threads is true, or the stall is of another kind. */
const char *dump_absent_worker(const struct dump *d);
/* Returns how many votes dump_votes writes. */
size_t dump_vote_count(const struct dump *d);
/* Writes the stacks that are evidence of the cause of the stall to out, which has room for
 * dump_vote_count of them. If dump_is_about_threads, these are the samples and then the stacks of
 * all threads: each thread weighs its share of a processor in permille, or 0 if it has no stack or
 * did not work; but if there are samples, the main thread weighs 0, and its share is split among
 * them by their counts. Else they are the samples, each weighing its count. */
void dump_votes(const struct dump *d, struct dump_vote *out);
/* Returns how much of the stall this dump accounts for, in ms: span_ms, else duration_ms, else
 * at_ms, else 0. */
int64_t dump_span_ms(const struct dump *d);

/* ---- writing what symbolication found ---- */

/* The members that stallsym adds to a dump. Each array except `locations` is parallel to the dump's
 * array of that kind. The dump's string table and locations are always replaced; its threads,
 * samples or images stay as they are if thread_locations, sample_locations or image_symbols is
 * NULL. */
struct dump_addition {
    const struct dump_location *locations; /* sorted by (image, offset) */
    size_t location_count;
    const uint32_t *const *thread_locations; /* [thread_count][frame_count]; an element that is NULL
                                                leaves a thread with frames as it is */
    const uint32_t *const *sample_locations; /* [sample_count][frame_count]; an element that is NULL
                                                leaves a sample with frames as it is */
    const enum dump_symbols *image_symbols;  /* [image_count] verdicts */
    const char *const *image_files; /* [image_count] debug files; NULL, for an element or for the
                                       array = none; not read without image_symbols */
};

/* Writes the dump's own text with the addition spliced in as one line of JSON Lines; what an
 * earlier stallsym had added is replaced. White space between the tokens of a pretty-printed input
 * is dropped, every other byte survives. Equal strings are written once. Write errors stick to the
 * sink; ST_ERR means out of memory. */
enum st dump_write_spliced(const struct dump *d, const struct dump_addition *add, struct sink *out,
                           struct err *e) BASE_MUST_USE;

/* Writes the dump's own text as one line of JSON Lines. Only the white space between and around its
 * tokens is dropped. Write errors stick to the sink. */
void dump_write_raw(const struct dump *d, struct sink *out);

/* Writes the text of a dump or session record, which is valid JSON, as one line without its members
 * user, context and report (stall-dump(5), PRIVACY). Write errors stick to the sink. ST_NONE: the
 * text is no object, and nothing was written. */
enum st dump_write_impersonal(const char *text, size_t len, struct sink *out) BASE_MUST_USE;

/* Writes the dump's own text without the members that commands on a host add: those of
 * dump_write_spliced and "class". White space between tokens goes, too, so the bytes are the same
 * before and after stallsym and stallclassify --annotate, whatever debug files and rules these
 * used. No line end. Write errors stick to the sink. */
void dump_write_captured(const struct dump *d, struct sink *out);

/* Writes the dump's own text as one line of JSON Lines with a member `name`, whose value is `json`,
 * at its end; members of this name that it had are dropped. Every other byte stays, except white
 * space around the text, and white space between tokens if the text has several lines. Write errors
 * stick to the sink; ST_ERR means out of memory, before anything was written. */
enum st dump_write_member(const struct dump *d, const char *name, const char *json, size_t len,
                          struct sink *out, struct err *e) BASE_MUST_USE;

/* Returns a hash of the id of a dump or a stall. UUIDs, of 36 characters, that differ only in
 * capital and small letters have the same hash. */
uint64_t dump_id_hash(const char *id);

#endif
