/* From a file address to function names and lines: one interface, whatever answers (live debug
 * info, the mapped symbol index). */
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
    const char *function;  /* DW_AT_name or symbol name as it stands */
    const char *linkage;   /* mangled name when there is one (may equal function for a symbol) */
    const char *file;      /* full path */
    uint32_t line, column; /* 0 = none; without a file all are 0 */
    uint32_t discriminator;
    uint64_t start; /* file address of this frame's function (the real one, for inlines too) */
    uint64_t
        low_pc; /* DW_AT_low_pc of this frame's own entry; 0 = none, as with a list of ranges */
    const char *start_file; /* declared in */
    uint32_t start_line;
};

enum lookup_quality {
    LOOKUP_DWARF = 1,
    LOOKUP_SYMTAB,
    LOOKUP_LEARNED, /* what reports call it; no file answers */
    LOOKUP_NAMELESS /* a function without a name, and so without frames: its range is known */
};

enum { LOOKUP_INLINE_MAX = 256 }; /* deeper inlining is cut, outermost kept */

struct lookup_hit {
    enum lookup_quality quality;
    uint64_t start, end; /* the range of the function that holds the address */
    struct lookup_frame
        frames[LOOKUP_INLINE_MAX]; /* innermost inline first, the real function last */
    size_t frame_count;
};

struct lookup_source;
struct lookup_ops {
    /* ST_OK: *hit is filled. ST_NONE: the address is in no function. ST_ERR: e says what is
     * damaged. */
    enum st (*lookup)(struct lookup_source *s, uint64_t address, struct lookup_hit *hit,
                      struct err *e);
    void (*close)(struct lookup_source *s);
};
/* The kind of debug information that is in the file and can be read. */
enum lookup_content {
    LOOKUP_HAS_RANGES = 1,  /* where functions lie, without names */
    LOOKUP_HAS_SYMBOLS,     /* names, no lines */
    LOOKUP_HAS_SPLIT_DWARF, /* DWARF, but some units' is in other files, which were not read: names
                               are symbols', with lines (.dwo files) or without (object files of a
                               debug map) */
    LOOKUP_HAS_DWARF
};

/* Implementations embed it as their first member. Not thread safe unless `concurrent`. */
struct lookup_source {
    const struct lookup_ops *ops;
    enum lookup_content content;
    bool concurrent; /* several threads may look up at once */
    bool lineless;   /* its DWARF has lines in a .debug_line that is not there */
    bool dieless;    /* its DWARF has units without a DIE */
    bool incomplete; /* files of its units were not found, or not the right ones */
    bool is_map;     /* those files are a debug map's, of which, if it was read: */
    struct debug_map_files map;
};

/* A notice for object files that cannot be used. */
static inline void lookup_notice_map(const struct debug_map_files *map, struct err *out) {
    if (map->named == 0) {
        (void)err_set(out, ERR_UNREAD,
                      "debug map: some object files were not found or were of another time: their "
                      "functions have the names of symbols");
        return;
    }
    (void)err_set(
        out, ERR_UNREAD,
        "debug map: of %zu object files %zu not found, %zu of another time (first: %.200s): "
        "their functions have the names of symbols",
        map->named, map->missing, map->changed, map->first ? map->first : "");
}

/* Notices for the code that opens a source; nobody else was told. Returns the number of notices set
 * in `out`, which is clear before. */
enum { LOOKUP_NOTICES = 3 };
static inline size_t lookup_notices(const struct lookup_source *s, struct err out[LOOKUP_NOTICES]) {
    size_t count = 0;
    if (s->incomplete && s->is_map) {
        lookup_notice_map(&s->map, &out[count++]);
    } else if (s->incomplete) {
        (void)err_set(&out[count++], ERR_UNREAD,
                      "split DWARF: functions of some units are in .dwo files that were not found");
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

/* In place of a unit's offset: the damage is not in a unit but in a section or table of the file.
 */
#define LOOKUP_NO_UNIT UINT64_MAX

/* Says which unit of which file is damaged: its offset in .debug_info, or LOOKUP_NO_UNIT. */
typedef void (*lookup_complain)(void *ctx, const char *file, uint64_t unit_offset,
                                const struct err *why);

/* Live debug info of a slice: DWARF, read unit by unit as addresses need it and kept (within a
 * memory budget), then its symbol table. `paired` (may be NULL) is the binary of the same id when
 * the slice is a dSYM: its function starts bound symbols. others (may be NULL): as for debug_open;
 * copied. The slices, and the context of its finder, must outlive it. It is concurrent: threads
 * wait for each other only where they want the same unit at once; complain hears of a damage once.
 * ST_NONE: neither DWARF nor symbols nor ranges of functions. */
enum st lookup_open_live(struct lookup_source **out, const struct object_slice *s,
                         const struct object_slice *paired, const struct debug_others *others,
                         lookup_complain complain, void *ctx, struct err *e) BASE_MUST_USE;

#endif
