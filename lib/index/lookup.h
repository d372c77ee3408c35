/* Declares the interface by which function names and lines of file addresses are looked up in any
 * source: live debug info, the mapped symbol index, both of these combined (stored.h), or names
 * that were learned from reports. */
#ifndef STALLKIT_INDEX_LOOKUP_H
#define STALLKIT_INDEX_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "debug/debug.h"
#include "object/object.h"

/* One frame of an answer. Strings live as long as the source; NULL = none. */
struct lookup_frame {
    const char *function;  /* DW_AT_name or symbol name as in the file */
    const char *linkage;   /* mangled name when there is one (may equal function for a symbol) */
    const char *file;      /* full path */
    uint32_t line, column; /* 0 = none; without a file all are 0 */
    uint32_t discriminator;
    uint64_t start; /* file address at which the real function starts, also for inlined calls */
    uint64_t
        low_pc; /* DW_AT_low_pc of this frame's own entry; 0 = none, as with a list of ranges */
    const char *start_file; /* file in which the function is declared */
    uint32_t start_line;
};

enum lookup_quality {
    LOOKUP_DWARF = 1,
    LOOKUP_SYMTAB,
    LOOKUP_LEARNED, /* a name learned from reports, because no file has an answer */
    LOOKUP_NAMELESS /* a function without a name and without frames: only its range is known */
};

/* Limit on the frames of an answer: deeper inlining is cut, outermost frames are kept. */
enum { LOOKUP_INLINE_MAX = 256 };

struct lookup_hit {
    enum lookup_quality quality;
    uint64_t start, end; /* the range of the function that holds the address */
    struct lookup_frame
        frames[LOOKUP_INLINE_MAX]; /* innermost inline first, the real function last */
    size_t frame_count;
};

struct lookup_source;
struct lookup_ops {
    /* Fills *hit. ST_NONE: the address is in no function. ST_ERR: a part of the file is damaged,
     * which e names, or out of memory. */
    enum st (*lookup)(struct lookup_source *s, uint64_t address, struct lookup_hit *hit,
                      struct err *e);
    void (*close)(struct lookup_source *s);
};
/* The kind of debug information that the file has and that can be read. */
enum lookup_content {
    LOOKUP_HAS_RANGES = 1,  /* only the ranges of functions, without names */
    LOOKUP_HAS_SYMBOLS,     /* names, but no lines */
    LOOKUP_HAS_SPLIT_DWARF, /* DWARF, but that of some units is in other files, which were not read:
                               functions of these units have the names of symbols, with lines (.dwo
                               files) or without (object files of a debug map) */
    LOOKUP_HAS_DWARF
};

/* A source of answers; implementations embed it as their first member. Not thread safe unless
 * `concurrent`. */
struct lookup_source {
    const struct lookup_ops *ops;
    enum lookup_content content;
    bool concurrent; /* several threads may look up at once */
    bool lineless;   /* the source's DWARF refers to a .debug_line that is absent */
    bool hidden;     /* symbols have names that Apple's bitcode compiler hid, and no map has them */
    bool names_cut;  /* symbols have hidden names although a map for them was found, which may be
                        cut */
    bool dieless;    /* the source's DWARF has units without a DIE */
    bool incomplete; /* files of its units were not found, or are of another build */
    bool is_map;     /* the files of its units are the object files of a debug map; if the map
                        was read, `map` counts them */
    bool untimed;    /* some object files are used although the debug map has no time for them */
    struct debug_map_files map;
};

/* Makes the notice for object files of a debug map that cannot be used. */
static inline void lookup_notice_map(const struct debug_map_files *map, struct err *out) {
    if (map->named == 0) {
        (void)err_set(
            out, ERR_UNREAD,
            "debug map: some object files were not found or were of another time or build: "
            "their functions have the names of symbols");
        return;
    }
    (void)err_set(
        out, ERR_UNREAD,
        "debug map: of %zu object files %zu not found, %zu of another time or build (first: "
        "%.200s): "
        "their functions have the names of symbols",
        map->named, map->missing, map->changed, map->first ? map->first : "");
}

/* lookup_notices sets `out`, which must be clear, to the notices about a source, and returns their
 * number; the code that opens the source must report them, because nothing else does.
 * lookup_file_notices gives only the first of them, which are about files that the source needs. */
enum { LOOKUP_FILE_NOTICES = 2, LOOKUP_NOTICES = LOOKUP_FILE_NOTICES + 3 };
static inline size_t lookup_file_notices(const struct lookup_source *s,
                                         struct err out[LOOKUP_FILE_NOTICES]) {
    size_t count = 0;
    if (s->incomplete && s->is_map) {
        lookup_notice_map(&s->map, &out[count++]);
    } else if (s->incomplete) {
        (void)err_set(&out[count++], ERR_UNREAD,
                      "split DWARF: functions of some units are in .dwo files that were not found");
    }
    if (s->untimed) {
        (void)err_set(&out[count++], ERR_UNREAD,
                      "debug map: it has no times of some object files: they have the functions "
                      "that were linked, but lines may have moved since");
    }
    return count;
}
static inline size_t lookup_notices(const struct lookup_source *s, struct err out[LOOKUP_NOTICES]) {
    size_t count = lookup_file_notices(s, out);
    if (s->hidden) {
        (void)err_set(&out[count++], ERR_UNREAD, "names are hidden (__hidden#N_), and %s",
                      s->names_cut ? "the .bcsymbolmap file of its UUID ends before them"
                                   : "no .bcsymbolmap file of its UUID was found");
    }
    if (s->lineless) {
        (void)err_set(&out[count++], ERR_UNREAD,
                      "there is no .debug_line: names come without lines");
    }
    if (s->dieless) {
        (void)err_set(&out[count++], ERR_UNREAD,
                      "units without a DIE: of their code symbols are all that is known");
    }
    return count;
}

static inline enum st lookup_address(struct lookup_source *s, uint64_t file_address,
                                     struct lookup_hit *hit, struct err *e) {
    return s->ops->lookup(s, file_address, hit, e);
}
static inline void lookup_close(struct lookup_source *s) {
    if (s) {
        s->ops->close(s);
    }
}

/* Stands in place of a unit's offset for damage to a section or table of the file. */
#define LOOKUP_NO_UNIT UINT64_MAX

/* Callback for damage to a unit of a file; unit_offset: the unit's offset in .debug_info, or
 * LOOKUP_NO_UNIT. */
typedef void (*lookup_complain)(void *ctx, const char *file, uint64_t unit_offset,
                                const struct err *why);

/* Opens the live debug info of a slice: DWARF, read unit by unit as addresses need it and kept
 * (within a memory budget), then its symbol table. `paired` (may be NULL) is the binary of the same
 * id when the slice is that of a dSYM or a separate debug file: function starts of `paired` bound
 * the symbols, which are those of `paired` if the slice has none. others (may be NULL): as for
 * debug_open; copied. The slices, and the context of the finder, must outlive the source. The
 * source is concurrent: threads wait for each other only where they want the same unit at once;
 * complain (may be NULL) is called once for each damage, more often only if memory runs out.
 * ST_NONE: neither DWARF nor symbols nor ranges of functions. */
enum st lookup_open_live(struct lookup_source **out, const struct object_slice *s,
                         const struct object_slice *paired, const struct debug_others *others,
                         lookup_complain complain, void *ctx, struct err *e) BASE_MUST_USE;

#endif
