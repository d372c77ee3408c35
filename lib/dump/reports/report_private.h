/* The parts that the readers of reports share: the draft of a dump that they fill, and parsers of
 * values that several formats write in their own ways. */
#ifndef STALLKIT_DUMP_REPORT_PRIVATE_H
#define STALLKIT_DUMP_REPORT_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/jsonw.h"
#include "base/map.h"
#include "base/number_map.h"
#include "base/vec.h"
#include "dump/dump.h"
#include "dump/reports/report_format_private.h"

/* Most frames in all stacks of one dump: a call tree can unfold to far more frames than it has
 * nodes. */
enum { REPORT_FRAMES_MAX = 2 * 1024 * 1024 };
/* Deepest nesting of a report. The limit is lower than a dump's, because the dump adds up to four
 * levels around the report that it keeps. */
enum { REPORT_DEPTH_MAX = DUMP_DEPTH_MAX - 4 };

struct report_image {
    struct image_id id;
    const char *name, *path, *arch;
    uint64_t load, size;
    bool in_app;
    bool unplaced; /* as in struct dump_image */
};

struct report_stack {
    size_t first,
        count; /* index of the stack's first frame in the draft's frames, and their number */
    uint64_t samples;
    bool returns; /* frame 0 is a return address, as the others are */
    bool calls;   /* all frames are addresses of calls, so none is a return address */
};

struct report_thread {
    int64_t id; /* -1 = unknown */
    const char *name;
    const char *state; /* state in the words of stall-dump(5); NULL = not given */
    int64_t cpu_ms;    /* processor time of the thread in ms; 0 = not given */
    bool main, crashed;
    const char *waits_for; /* kind of what the thread waits for; NULL = not given */
    int64_t owner;         /* id of the thread that holds what the thread waits for, -1 = unknown;
                              meaningful with waits_for */
    struct report_stack stack;
};

/* A frame of a stack of the draft. */
struct report_frame {
    uint64_t address;
    uint64_t name; /* index of the frame's name in names, plus one; 0 = none */
};

/* A symbol that a report gives for an address. */
struct report_name {
    uint64_t address;
    const char *symbol;
    uint64_t offset;
    const char *file; /* source file of line; NULL = none */
    uint32_t line;
    bool in_app;  /* the address is in no image, but belongs to the app's own code */
    bool inlined; /* the report says that the function is inlined into that of the next row */
};

/* The rows of one address, innermost first: a function and the functions inlined into it. */
struct report_chain {
    uint64_t address;
    size_t first, count; /* index of the chain's first row in the draft's rows, and their number */
    bool torn; /* the report gives this address different names, so that not all of these rows can
                  be right */
};

/* A member of the dump's "context". */
struct report_context {
    const char *name, *value;
};

/* A piece of the original document, kept under a key of the dump's "report". */
struct report_part {
    const char *key;
    struct span span;
    bool text; /* true: the part is written as a string; false: it is JSON */
};

enum { REPORT_PARTS_MAX = 3 };

/* The draft of a dump. Its strings live in the arena or are literals; NULL and -1 are absent. */
struct report {
    struct arena arena;
    struct err *e;
    bool no_memory; /* an allocation failed; report_finish checks this */

    const char *format; /* format of the original: "kscrash" … */
    struct report_part parts[REPORT_PARTS_MAX];
    size_t part_count;
    uint64_t ordinal; /* number among the dumps of one document */

    const char *id, *time, *user;
    const char *app_id, *app_version, *app_build;
    const char *model, *os, *os_build, *arch, *thermal;
    const char *kind, *detector, *activity, *app_state, *visibility, *reason;
    int64_t threshold_ms, at_ms, duration_ms, cpu_ms, since_launch_ms;
    int64_t top_thread; /* id of the thread that used the processor most; -1 = not given */
    bool fatal, ended;
    /* kind of lock that the crashed thread holds and waits for; NULL = not given */
    const char *own_lock;
    /* path of the app's bundle with its last slash: images below it are in_app */
    const char *bundle;
    const char *process; /* name of the process's executable */
    /* name or id of the process to read from a report of several; NULL = the format chooses */
    const char *wanted;

    VEC(struct report_image) images;
    VEC(struct report_thread) threads;
    VEC(struct report_stack) samples;
    int64_t sample_interval_ms;
    VEC(struct report_frame) frames;
    uint64_t others; /* number of samples of other events than the dump's, which were left out */
    uint64_t frames_unread; /* frames that could not be read, most of them added with address 0 */
    uint64_t images_unread; /* lines of images that could not be read */
    uint64_t nodes_over;    /* number of nodes of call trees whose children have, together, more
                               samples than the node itself */
    uint64_t nodes_skipped; /* number of nodes that are missing in the text of call trees, as the
                               indentation shows */
    const char *lack;       /* further parts that the dump lacks; NULL = none */
    struct map name_index;  /* address -> index into names of the name that was given last */
    struct map name_keys;   /* address, symbol, file and line -> index into names, of addresses that
                               have several names */
    VEC(struct report_name) names;
    VEC(struct report_frame) rows;   /* the frames as they were before report_join_inlined */
    VEC(struct report_chain) chains; /* chains of rows; empty = no address has several names */
    struct map chain_index;          /* address -> index into chains */
    VEC(struct report_context) context;
    uint64_t named_first;    /* the first made-up address; 0 = the usual one */
    struct map named_places; /* name, file, line and in_app of a frame without an address -> index
                                of its made-up address */
    struct map file_places;  /* path of a file whose load address is unknown -> index of its address
                                range */
};

void report_init(struct report *r, const char *format, uint64_t ordinal, struct err *e);
void report_release(struct report *r);
/* Writes the dump and passes it to the document's receiver. ST_ERR: ERR_NOMEM, ERR_LIMIT, for
 * example if the dump is longer than DUMP_TEXT_MAX, or an error of the receiver. */
enum st report_finish(struct report *r, const struct report_document *d) BASE_MUST_USE;

enum { REPORT_ID_TEXT = 37 };
/* Makes a UUID (version 8 of RFC 9562) from a document, always the same for the same bytes and
 * ordinal. ordinal: number among the dumps of one document. */
void report_made_up_id(const void *bytes, size_t len, uint64_t ordinal, char out[REPORT_ID_TEXT]);

/* Writes the beginning of a dump or a session record: format, id, time, app and device. */
void report_write_head(const struct report *r, struct jsonw *w, const char *format, const char *id);

/* Adds words to the dump's "lack". The words name data that the report has, or should have, and the
 * dump has not. */
void report_lack(struct report *r, const char *words);
/* Adds "COUNT ONE" or "COUNT MANY" to the dump's "lack", unless count is 0. */
void report_lack_count(struct report *r, uint64_t count, const char *one, const char *many);
/* Adds to the dump's "lack" that a text report whose last line has no line feed may be cut. */
void report_lack_end(struct report *r, struct span text);
/* Adds to the dump's "lack" that no thread has a frame, if that is so. */
void report_lack_frames(struct report *r);
/* Adds to the dump's "lack" the draft's counts of frames, images, nodes and samples that are
 * missing, and writes the "lack", if there is one. */
void report_write_lack(struct report *r, struct jsonw *w);

/* Keeps a part of the original document under `key`; text: true = the part is written as a string,
 * false = it is JSON. The span is borrowed until report_finish. Parts past REPORT_PARTS_MAX are not
 * kept. */
void report_keep(struct report *r, const char *key, struct span span, bool text);

/* Return a copy in the draft's arena; report_join copies a, `between` and b; if a or b is NULL, it
 * copies the other alone. NULL: the value is NULL, empty or of another type, or memory ran out
 * (then r->no_memory is set). */
const char *report_string(struct report *r, const json_t *value);
const char *report_text(struct report *r, const char *s, size_t len);
const char *report_join(struct report *r, const char *a, const char *between, const char *b);
static inline const char *report_member(struct report *r, const json_t *object, const char *name) {
    return report_string(r, json_object_get(object, name));
}

/* Returns an ASCII letter in lower case, any other character unchanged. */
static inline char report_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Reads an integer >= 0, or a string of digits, as large integers become when they are loaded. */
bool report_u64(const json_t *value, uint64_t *out);
/* Returns an integer from 0 to 2^53 - 1 (which every JSON reader holds exactly), also one that is a
 * string of digits; -1 for any other value. */
int64_t report_number(const json_t *value);
/* Reads an address in any form that JSON writers use: an integer (negative if a signed 64-bit
 * integer was written), or a string with the integer in decimal or, with 0x, in hex. */
bool report_address(const json_t *value, uint64_t *out);

/* Returns the architecture's name for a Mach-O CPU type; NULL = unknown. */
const char *report_cpu(int64_t type, int64_t subtype);
/* Returns the architecture's name for a text such as "ARM-64 (Native)", "x86" or "arm64e"; NULL
 * = unknown. */
const char *report_code_type(const char *text);
/* Splits "iPhone OS 16.0 (20A362)" into os, "iOS 16.0", and os_build; text may be NULL. */
void report_os(struct report *r, const char *text);
/* Sets the app's process name and bundle from the path of its executable; a name without a '/' sets
 * the process name alone. */
void report_executable(struct report *r, const char *path);

/* Adds an image to the draft; the dump gets it if a frame lies in it. If memory runs out,
 * r->no_memory is set. */
void report_image(struct report *r, const struct report_image *image);
/* Is this image the app's own code? */
bool report_is_in_app(const struct report *r, const struct report_image *image);
/* Sets *out to a dump, for dump_image_at, that has the load addresses and sizes of the draft's
 * images, in the draft's arena. ST_ERR: ERR_NOMEM. */
enum st report_probe_images(struct report *r, struct dump *out) BASE_MUST_USE;
/* Finds the image of the process's executable by its name, and gives it this UUID if it has none;
 * uuid: text or NULL. */
void report_own_uuid(struct report *r, const char *uuid);

/* ---- frames and their names (report_draft.c) ---- */

/* Adds a frame to the stack that was begun, with the name that was given last for its address.
 * r->arch must be set if the architecture is known, because it decides which bits of the address
 * are stripped. ST_ERR: ERR_LIMIT or ERR_NOMEM. */
enum st report_frame(struct report *r, uint64_t address) BASE_MUST_USE;
/* Adds a frame as report_frame does, with its own name. */
enum st report_add_frame(struct report *r, struct report_frame frame) BASE_MUST_USE;
/* Returns the frame that report_frame adds. */
struct report_frame report_frame_at(const struct report *r, uint64_t address);
/* Adds a symbol for the frames of an address that are added next, and returns its number in struct
 * report_frame; 0: the symbol is NULL, or out of memory. */
uint64_t report_name(struct report *r, const struct report_name *name);

/* ---- inlined functions (report_inlined.c) ---- */

/* Makes one frame with inlined functions of neighbouring frames of one address that have different
 * names. If an address has other names elsewhere in the report, or cannot be an address of
 * code, its frames become frames without an address, and the dump's "lack" says so. */
enum st report_join_inlined(struct report *r) BASE_MUST_USE;
/* Writes the dump's "names", if there are any. */
void report_write_names(const struct report *r, struct jsonw *w);

/* ---- frames without a run-time address (report_places.c) ---- */

/* Adds a frame that has a name but no address: it gets a made-up address in no image, the same for
 * the same name, file, line and in_app. A "+24" after the symbol is cut off; name->address and
 * name->offset are not read. */
enum st report_named_frame(struct report *r, const struct report_name *name) BASE_MUST_USE;
/* Adds a frame without an address as report_named_frame does, but with its symbol unchanged. */
enum st report_unplaced_frame(struct report *r, const struct report_name *name) BASE_MUST_USE;
/* Returns the made-up address that report_unplaced_frame gives this name, and sets *number to what
 * report_name returns for it; if memory runs out, r->no_memory is set. */
uint64_t report_name_unplaced(struct report *r, const struct report_name *name, uint64_t *number);
/* Adds a frame of which only its file, image->path, and the address in that file are known: the
 * image gets a made-up load address. image->load is not read; the other members count in the file's
 * first frame. symbol: "NAME" or "NAME+24"; NULL = none. If the draft has 2000 other files, or the
 * address is 2^36 or more, only the frame's name is kept, as report_named_frame does. */
enum st report_file_frame(struct report *r, const struct report_image *image, uint64_t offset,
                          const char *symbol) BASE_MUST_USE;
/* May an image with this name and load address be the app's, on 64-bit systems of Apple? Images of
 * the system lie at other addresses. */
bool report_is_app_place(const char *name, uint64_t load);

/* ---- stacks and threads (report_draft.c) ---- */

/* Returns an address as frames store it: on arm64 without its pointer authentication bits, else
 * unchanged. */
uint64_t report_strip(const struct report *r, uint64_t address);
/* Begin and end a stack; its frames are added between the two calls. */
struct report_stack report_begin_stack(const struct report *r);
void report_end_stack(const struct report *r, struct report_stack *s);
enum st report_add_thread(struct report *r, const struct report_thread *t) BASE_MUST_USE;
enum st report_add_sample(struct report *r, const struct report_stack *s) BASE_MUST_USE;

/* ---- values (report_value.c) ---- */

/* Converts "2022-09-18 15:28:37.3451 +0900", ISO 8601 and the like (no zone = UTC) to
 * "2026-11-21T10:00:00.123Z"; NULL if s is NULL or cannot be read, or memory ran out. */
const char *report_time(struct report *r, const char *s);
/* Converts seconds, milliseconds or microseconds since 1970, which are distinguished by magnitude,
 * to the form of report_time; NULL: the value is 10^17 or more, or memory ran out. */
const char *report_unix_time(struct report *r, uint64_t value);
/* Returns the milliseconds from one time to another, both as report_time reads them; -1 if either
 * cannot be read, or `to` is the earlier one. */
int64_t report_time_between(const char *from, const char *to);
/* ---- durations (report_duration.c) ---- */

/* Returns a duration in many languages ("20 sec", "1,234 ms", "٣٫٥ ث") in milliseconds; -1 if it
 * cannot be read. */
int64_t report_duration(const char *s, size_t len);
/* Returns, as report_duration does, a duration that has no fraction: "7,200 sec" are two hours. */
int64_t report_total_duration(const char *s, size_t len);
/* Returns the duration in a sentence ("Hang of 1 min 20 sec"), or that of a measurement by itself,
 * as report_duration does; -1: the text has no duration, or several. */
int64_t report_told_duration(const char *s, size_t len);
/* Returns "12.345" seconds as milliseconds, up to the first other character; -1: no number, or one
 * that is too large. */
int64_t report_seconds(const char *s);

/* ---- kills (report_kill.c) ---- */

/* Notes the kind of lock if the text (NULL: none) says that the crashed thread waited for a lock
 * that it held itself, and no kind is noted yet. libdispatch and libplatform end a process with
 * such words. */
void report_own_lock(struct report *r, const char *text);
/* Does the text (NULL: none) have the words with which the watchdog ends a process? */
bool report_says_watchdog(const char *text);
/* Reads the text that the system writes when it ends a process (NULL: none). True if the process
 * took too long: for the watchdog (0x8badf00d), for a background task, or with a lock held while
 * suspended. Then kind and fatal are set, and what the text tells of duration, CPU time and so
 * on. */
bool report_kill(struct report *r, const char *text);
/* Reads as report_kill does, but the process that ended this one (who, NULL = not given) and the
 * code (-1 = not given) are passed apart from the text. If text is NULL and the result is true, who
 * and the code become the reason. */
bool report_kill_by(struct report *r, const char *who, int64_t code, const char *text);

/* Reads the reason of a report about a process that used too much of a resource (EXC_RESOURCE):
 * subtype "CPU" and message "(Limit 50%) Observed 60% over 180 secs", each NULL if not given. True
 * if the resource is processor time, wake-ups or writes to the disk: then kind and reason are set,
 * the duration (-1 if the message gives none), the CPU time if the message gives it, and r->fatal,
 * to whether the subtype has the word "FATAL". */
bool report_resource(struct report *r, const char *subtype, const char *message);

/* ---- text (report_lines.c) ---- */

/* The state of reading a text line by line. */
struct report_lines {
    const char *at, *end;
    size_t number; /* number of the line taken last */
    size_t indent; /* maximum number of leading blanks that are cut off each line */
};
/* Returns the lines of a text; the indent of the first line that is not empty is cut off all of
 * them, as for text in an issue. */
struct report_lines report_lines_of(struct span text);
/* Returns a copy of the next line in the arena, without trailing blanks; "" for a line that is
 * empty or only marks code in Markdown. NULL: no more lines, or out of memory. */
const char *report_next_line(struct report *r, struct report_lines *t);
const char *report_skip_blanks(const char *s);
/* Is the line of a call tree's text not the tree's, but a sentence or a tag behind the tree? It is
 * if `blank` is true and the line is not empty, not indented and has no address. blank: the line
 * before is empty, or only marks code in Markdown. */
bool report_is_prose(const char *line, bool blank);
/* Returns the text after "KEY:" on the line; NULL: the line does not begin with KEY and a colon, or
 * nothing follows them. */
const char *report_line_value(const char *line, const char *key);
/* Take a number at *s that fits 64 bits, in hex with its 0x or in decimal; false: there is none. */
bool report_take_hex(const char **s, uint64_t *out);
bool report_take_decimal(const char **s, uint64_t *out);
/* Returns the app state for "Foreground", "Background …"; NULL for any other text and for NULL. */
const char *report_role(const char *text);
/* Sets the app's version and build from "1234 (5.3.1)", or from "5.3.1 (1234)" without build_first;
 * "5.3.1" alone is the version; "???" counts as absent. */
void report_version(struct report *r, const char *value, bool build_first);
/* Adds the symbol for an address from "NAME + 24", "NAME (File.m:12)", "NAME + 24 (File.m:12)" or
 * "NAME", each perhaps with "[inlined]" behind the offset or the name, or as atos(1) writes it,
 * "NAME (in IMAGE) (File.m:12)". Returns its number as report_name does; 0, too, for an address,
 * which atos writes in place of a name that it does not know. */
uint64_t report_symbol(struct report *r, uint64_t address, const char *s);
/* Returns the text after "NAME (in IMAGE)" in atos' output, " (File.m:12)" or " + 24"; NULL: the
 * text has another form. */
const char *report_atos_tail(const char *s);
/* Is the line "Binary Images:" or "Binary Images (WORDS):", which images follow? */
bool report_begins_images(const char *line);
/* The lines behind "Binary Images:". Zero-initialised = none yet. */
struct report_image_lines {
    const char *line; /* line that the next one may continue; NULL = none */
    bool any;         /* an image was read */
    bool ended;       /* an empty line followed the images */
};
/* Takes the next line. An image is "0x… - 0x… [+]NAME [ARCH] [(VERSION)] <UUID> PATH", in which
 * "???" may stand for the second address, and is added to the draft; if a line before the list's
 * end looks like an image but cannot be read, the dump's "lack" says so. */
void report_image_line(struct report *r, struct report_image_lines *list, const char *line);
/* Adds the last line's image. */
void report_end_image_lines(struct report *r, struct report_image_lines *list);

/* ---- call trees (report_tree.c, report_outline.c) ---- */

/* The form in which a format writes the nodes of its call trees. children, count: names of the
 * members that hold a node's children and its number of samples. */
struct report_tree {
    const char *children, *count;
    const char *name; /* member with the number of the node's name; NULL = the name that was given
                         last for its address */
    bool leaf_first;  /* the root is the innermost frame */
    /* Returns the address of a node. False: the node has none, and is left out of the stacks. */
    bool (*address)(void *ctx, const json_t *node, uint64_t *out);
    void *ctx;
};

/* Adds every stack of the trees (an array of roots) as counted samples. A node's own samples are
 * its count minus the counts of its children; a node without a count has one sample if it has no
 * children, else none. *total, if not NULL, gets the number of samples added. Of a stack of more
 * than DUMP_FRAMES_MAX frames the outermost are left out, here and by report_tree_heaviest. */
enum st report_tree_samples(struct report *r, const struct report_tree *tree, const json_t *roots,
                            uint64_t *total) BASE_MUST_USE;
/* Adds the frames of the heaviest path, innermost first, to the stack that was begun. The path
 * begins at the root with most samples and continues to the child with most samples, as in Apple's
 * "Heaviest stack", until more samples end at a node than continue to any of its children. */
enum st report_tree_heaviest(struct report *r, const struct report_tree *tree,
                             const json_t *roots) BASE_MUST_USE;

/* Do the roots of a thread's trees have more samples (`total`) than the thread? Then the text has
 * lost the indentation that shows which nodes are children, and the error is set to ERR_FORMAT.
 * announced: number of samples that the text gives for the thread; 0 = not given. */
bool report_tree_is_flat(uint64_t total, uint64_t announced, struct err *e);

/* A thread of a process, with call trees from text that has one node on each line, indented more
 * than its parent's line. */
struct report_outline_thread {
    /* The thread of the trees; its stack and `main` are set at the end. */
    struct report_thread thread;
    bool main_queue;    /* the thread ran the main queue, as the text says */
    uint64_t announced; /* number of samples that the text says the thread has; 0 = not given */
    uint64_t blocked;   /* number of samples in which the thread waited for thread.owner */
    bool started;       /* private: the outermost function is one of those in which threads begin */
    json_t *roots;      /* private: the thread's trees */
};
/* The threads of a process. Zero-initialised = none. */
struct report_outline {
    VEC(struct report_outline_thread) threads;
    struct number_map ids; /* id of a thread -> the thread's index */
    VEC(struct report_outline_level) path;
    size_t now; /* index of the thread that is being read */
    bool begun;
    size_t note; /* column of the note after the last node; 0 = no note */
};
struct report_outline_node {
    size_t column;           /* the line's indent */
    uint64_t count, address; /* count: at most DUMP_COUNT_MAX */
    const char *symbol;      /* begins with the function's name; NULL = not given */
    uint64_t name;           /* number that report_name returned for the symbol; 0 = none */
};
/* Begins a thread, or continues with the one that has the same id: a text may have an entry for
 * each queue that the thread ran. */
enum st report_outline_begin(struct report *r, struct report_outline *o,
                             const struct report_outline_thread *fresh) BASE_MUST_USE;
/* Returns the thread that is being read, valid until another begins; NULL: none has begun. */
struct report_outline_thread *report_outline_now(const struct report_outline *o);
/* Returns the bracket before the address in a node's line, "… [0x104981234]"; NULL: there is none.
 * *joined is set to whether the line holds a second node, because a line feed was lost; the result
 * is then that of the first node. */
const char *report_node_address(const char *s, bool *joined);
/* Notes a line that stands in place of a node, such as "<patched truncated backtrace>", because
 * nodes may be nested below it. */
void report_outline_note(struct report_outline *o, size_t column);
/* Adds the node of a line to the thread that is being read. */
enum st report_outline_add(struct report *r, struct report_outline *o,
                           const struct report_outline_node *n) BASE_MUST_USE;
/* Ends the process: its threads that have a tree are added with the heaviest path as their stack;
 * the tree of the main thread, which is the thread of the main queue or else the first one, becomes
 * the samples. joined: if the draft has a thread, the trees are further samples of it. steps: most
 * samples that a thread has; 0 = not given. ST_ERR: ERR_FORMAT as report_tree_is_flat sets it,
 * ERR_LIMIT or ERR_NOMEM. */
enum st report_outline_end(struct report *r, struct report_outline *o, bool joined,
                           uint64_t steps) BASE_MUST_USE;
void report_outline_release(struct report_outline *o);

/* ---- readers ---- */

/* Fills a draft from Apple's text report. ST_ERR: ERR_FORMAT if it has no thread, ERR_LIMIT or
 * ERR_NOMEM. */
enum st report_fill_crash(struct report *r, struct span text) BASE_MUST_USE;
/* Is the text a report of sampled stacks, as its first 16 KiB show? report_fill_sampled fills a
 * draft from such a text. */
bool report_is_sampled(struct span text);
/* The heading of the stack that a spindump has before its processes. */
#define SAMPLED_HEAVIEST "Heaviest stack for the main thread of the target process:"
enum st report_fill_sampled(struct report *r, struct span text) BASE_MUST_USE;
/* Fills a draft from the body of a stackshot. ST_ERR: ERR_NOTHING for a kernel panic;
 * ERR_UNSUPPORTED if it does not tell which process hung, or has no stack of it; ERR_FORMAT,
 * ERR_LIMIT or ERR_NOMEM. */
enum st report_fill_stackshot(struct report *r, const json_t *body) BASE_MUST_USE;
/* Read the members that Matrix adds to a report: report_matrix_type sets format and detector and,
 * by the dump type, kind, state, threshold and `fatal`; report_matrix_stacks adds the stacks as
 * samples. */
void report_matrix_type(struct report *r, int64_t dump_type);
enum st report_matrix_stacks(struct report *r, const json_t *root) BASE_MUST_USE;
/* Sets *out to the address of a KSCrash frame, and adds the frame's image, unless the draft has
 * 4096, and symbol to the draft; false: it has no address. */
bool report_kscrash_frame(void *report, const json_t *frame, uint64_t *out);

/* Parses the JSON of a report with a dump's checks and repairs; the caller frees *root with
 * json_decref. ST_NONE: the JSON is a number, string or word by itself. */
enum st report_load(struct span text, json_t **root, struct err *e) BASE_MUST_USE;
/* Parses the JSON in a string, as report_load does. */
enum st report_load_string(const json_t *string, json_t **root, struct err *e) BASE_MUST_USE;

#endif
