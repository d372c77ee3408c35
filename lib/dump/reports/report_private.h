/* The functions that the readers of reports share: a draft of a dump that they fill, and values
 * that several formats write in their own ways. */
#ifndef STALLKIT_DUMP_REPORT_PRIVATE_H
#define STALLKIT_DUMP_REPORT_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "dump/dump.h"
#include "dump/reports/report_format_private.h"

/* Frames of all stacks of one dump: a call tree can unfold to far more than it has nodes. */
enum { REPORT_FRAMES_MAX = 2 * 1024 * 1024 };
/* What a dump adds around the report that it keeps, in levels of JSON. */
enum { REPORT_DEPTH_MAX = DUMP_DEPTH_MAX - 4 };

struct report_image {
    struct image_id id;
    const char *name, *path, *arch;
    uint64_t load, size;
    bool in_app;
};

struct report_stack {
    size_t first, count; /* frames of the draft */
    uint64_t samples;
    bool returns; /* frame 0 is a return address, too */
};

struct report_thread {
    int64_t id; /* -1 = unknown */
    const char *name;
    bool main, crashed;
    const char *waits_for; /* kind of what it waits for; NULL = not told */
    int64_t owner;         /* id of the thread that holds that; meaningful with waits_for */
    struct report_stack stack;
};

/* What a report calls an address. */
struct report_name {
    uint64_t address;
    const char *symbol;
    uint64_t offset;
    const char *file; /* NULL = none */
    uint32_t line;
};

/* A piece of the original, kept under a key of the dump's "report". */
struct report_part {
    const char *key;
    struct span span;
    bool text; /* to be written as a string, else it is JSON */
};

enum { REPORT_PARTS_MAX = 3 };

/* A dump in the making. Strings live in the arena or in the binary; NULL and -1 are absent. */
struct report {
    struct arena arena;
    struct err *e;
    bool no_memory; /* checked once, by report_finish */

    const char *format; /* of the original: "kscrash" … */
    struct report_part parts[REPORT_PARTS_MAX];
    size_t part_count;
    uint64_t ordinal; /* among the dumps of one document */

    const char *id, *time, *user;
    const char *app_id, *app_version, *app_build;
    const char *model, *os, *os_build, *arch, *thermal;
    const char *kind, *detector, *activity, *app_state, *reason;
    int64_t threshold_ms, at_ms, duration_ms, cpu_ms, since_launch_ms;
    bool fatal, ended;
    const char *own_lock; /* kind of what the crashed thread holds and waits for; NULL = not told */
    const char *bundle; /* path of the app's bundle, with its last slash: what is below is in_app */
    const char *process; /* name of the app's executable */

    VEC(struct report_image) images;
    VEC(struct report_thread) threads;
    VEC(struct report_stack) samples;
    int64_t sample_interval_ms;
    VEC(uint64_t) frames;
    uint64_t frames_unread; /* of these, how many are 0 because the report's could not be read */
    struct map name_index;  /* address -> index into names */
    VEC(struct report_name) names;
};

void report_init(struct report *r, const char *format, uint64_t ordinal, struct err *e);
void report_release(struct report *r);
/* Writes the dump and passes it to the document's taker. */
enum st report_finish(struct report *r, const struct report_document *d) BASE_MUST_USE;

/* Keeps a part of the original. */
void report_keep(struct report *r, const char *key, struct span span, bool text);

/* Copies; NULL for a value of another type, for NULL and for empty text. */
const char *report_string(struct report *r, const json_t *value);
const char *report_text(struct report *r, const char *s, size_t len);
const char *report_join(struct report *r, const char *a, const char *between, const char *b);
static inline const char *report_member(struct report *r, const json_t *object, const char *name) {
    return report_string(r, json_object_get(object, name));
}

/* An integer >= 0, or the digits of one that the pre-pass quoted. */
bool report_u64(const json_t *value, uint64_t *out);
/* An integer in 0 … 2^53 - 1 (what every JSON reader holds exactly), else -1. */
int64_t report_number(const json_t *value);
/* An address in any way that JSON writers have: decimal, negative (64 bits as signed), or a string
 * of digits. */
bool report_address(const json_t *value, uint64_t *out);

/* A Mach-O CPU type as the name of a slice; NULL = unknown. */
const char *report_cpu(int64_t type, int64_t subtype);
/* "ARM-64 (Native)", "x86", "arm64e" … as the name of a slice; NULL = unknown. */
const char *report_code_type(const char *text);
/* "iPhone OS 16.0 (20A362)" into os and os_build. */
void report_os(struct report *r, const char *text);
/* The app's executable: its name, and the bundle that it is in. */
void report_executable(struct report *r, const char *path);

/* An image, if it is not there yet (load says which it is). */
void report_image(struct report *r, const struct report_image *image);
/* The UUID, as text or NULL, of the image that the process was started from: of the one with the
 * process's name, if no UUID stands with it. */
void report_own_uuid(struct report *r, const char *uuid);
/* A frame behind the last one; r->arch must be known. ERR_LIMIT. */
enum st report_frame(struct report *r, uint64_t address) BASE_MUST_USE;
/* A name for a frame's address; the first one stays. */
void report_name(struct report *r, const struct report_name *name);
/* The address as frames hold it: without pointer authentication bits. */
uint64_t report_strip(const struct report *r, uint64_t address);
/* Begins a stack; its frames follow, then report_end_stack. */
struct report_stack report_begin_stack(const struct report *r);
void report_end_stack(const struct report *r, struct report_stack *s);
enum st report_add_thread(struct report *r, const struct report_thread *t) BASE_MUST_USE;
enum st report_add_sample(struct report *r, const struct report_stack *s) BASE_MUST_USE;

/* ---- values (report_value.c) ---- */

/* A point in time as "2026-11-21T10:00:00.123Z"; NULL if it cannot be read. From "2022-09-18
 * 15:28:37.3451 +0900", ISO 8601 and the like (no zone = UTC). */
const char *report_time(struct report *r, const char *s);
/* The same from seconds, milli- or microseconds since 1970, by magnitude. */
const char *report_unix_time(struct report *r, uint64_t value);
/* Milliseconds from one time to another as report_time reads them, -1 if there is no answer. */
int64_t report_time_between(const char *from, const char *to);
/* Milliseconds in a duration as people write it, in many languages ("20 sec", "1,234 ms", "٣٫٥ ث");
 * -1 if it cannot be read. */
int64_t report_duration(const char *s, size_t len);
/* "12.345" seconds as milliseconds; -1. Stops at the first other character. */
int64_t report_seconds(const char *s);
/* Does the text say that the crashed thread waited for what it held itself? libdispatch and
 * libplatform end the process with such words. */
void report_own_lock(struct report *r, const char *text);
/* Reads what iOS says when it ends a process. True, and kind, duration, CPU time and so on are set,
 * if that was its watchdog (0x8badf00d). */
bool report_watchdog(struct report *r, const char *text);

/* ---- text (report_lines.c) ---- */

/* A text, line by line. */
struct report_lines {
    const char *at, *end;
    size_t number; /* of the line taken last */
};
/* The next line without what is blank at its end, in the arena. NULL: no more, or no memory. */
const char *report_next_line(struct report *r, struct report_lines *t);
const char *report_skip_blanks(const char *s);
/* What follows "KEY:" on the line, NULL if it does not begin so or nothing follows. */
const char *report_line_value(const char *line, const char *key);
/* A number at *s, in hex with its 0x or in decimal; steps over it. */
bool report_take_hex(const char **s, uint64_t *out);
bool report_take_decimal(const char **s, uint64_t *out);
/* "Foreground", "Background …" as an app state; NULL for another text and for NULL. */
const char *report_role(const char *text);
/* "1234 (5.3.1)", or "5.3.1 (1234)" without build_first, into the app's version and build; "???" is
 * neither. */
void report_version(struct report *r, const char *value, bool build_first);
/* The symbol in s: "NAME + 24", "NAME (File.m:12)", "NAME + 24 (File.m:12)", "NAME". */
void report_symbol(struct report *r, uint64_t address, const char *s);
/* "0x… - 0x… [+]NAME [ARCH] [(VERSION)] <UUID> PATH"; the end may be "???". */
void report_text_image(struct report *r, const char *line);

/* ---- call trees (report_tree.c) ---- */

/* How a format writes the nodes of its trees. */
struct report_tree {
    const char *children, *count;
    bool leaf_first; /* the root is the innermost frame, as in a list of frames */
    /* The address of a node; false: it has none and its children are passed over. */
    bool (*address)(void *ctx, const json_t *node, uint64_t *out);
    void *ctx;
};

/* Adds every stack of the trees (an array of roots) as counted samples; a node's own samples are
 * those that its children do not have. *total, if not NULL, gets how many samples were added. */
enum st report_tree_samples(struct report *r, const struct report_tree *tree, const json_t *roots,
                            uint64_t *total) BASE_MUST_USE;
/* Adds the frames of the heaviest path, innermost first, to the stack that was begun: from the
 * roots the node with most samples on each level, as in Apple's "Heaviest stack", until more
 * samples end at a node than go on below it to any other. */
enum st report_tree_heaviest(struct report *r, const struct report_tree *tree,
                             const json_t *roots) BASE_MUST_USE;

/* ---- readers ---- */

/* Fills a draft from Apple's text; without a stack in it ERR_FORMAT. */
enum st report_fill_crash(struct report *r, struct span text) BASE_MUST_USE;
/* The same of text with sampled stacks: is it that, and its reader. */
bool report_is_sampled(struct span text);
enum st report_fill_sampled(struct report *r, struct span text) BASE_MUST_USE;
/* The same of the body of a stackshot. */
enum st report_fill_stackshot(struct report *r, const json_t *body) BASE_MUST_USE;
/* What Matrix adds: its dump type as kind, and its trees as samples. */
void report_matrix_type(struct report *r, int64_t dump_type);
enum st report_matrix_stacks(struct report *r, const json_t *root) BASE_MUST_USE;
/* An address of a KSCrash frame, with its image and name remembered. */
bool report_kscrash_frame(void *report, const json_t *frame, uint64_t *out);

/* JSON of a report, checked and repaired as a dump's; json_decref it. ST_NONE: a number, string or
 * word by itself. */
enum st report_load(struct span text, json_t **root, struct err *e) BASE_MUST_USE;
/* The same of JSON inside a string. */
enum st report_load_string(const json_t *string, json_t **root, struct err *e) BASE_MUST_USE;

#endif
