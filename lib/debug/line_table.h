/* Reads line tables of DWARF 2 to 5 (DWARF5 §6.2): the files of a unit and the rows of its program.
 * A test compares every row with libdwarf's; libdwarf takes ten times as long. */
#ifndef STALLKIT_DEBUG_LINE_TABLE_H
#define STALLKIT_DEBUG_LINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/reader.h"
#include "base/vec.h"
#include "debug/debug.h"
#include "debug/sections.h"

/* The line table to read, and the folder of its relative paths. */
struct line_source {
    const struct sections *sections;
    uint64_t offset; /* DW_AT_stmt_list */
    uint8_t address_size;
    const char *comp_dir; /* NULL = none */
};

struct line_header {
    uint16_t version;
    uint8_t offset_size, address_size;
    uint8_t min_instruction, max_operations, line_range, opcode_base;
    int8_t line_base;
    uint8_t operand_counts[256]; /* numbers of operands of standard opcodes */
    struct reader program;
};

/* A folder or a file in a list of the header. */
struct line_name {
    uint64_t text;   /* offset of the name in line_names.section; LINE_NO_TEXT = none */
    uint64_t folder; /* number of the folder that a file is in */
    bool used;       /* a row, a call or a function uses the file, so its path must be composed */
    bool composed;   /* the path was composed, if the file has a name */
};
#define LINE_NO_TEXT UINT64_MAX

struct line_names {
    struct line_name *data;
    size_t len, cap;
    enum section_id section; /* section into which line_name.text is an offset */
};

/* The files of a unit, numbered as the rows' file register. A unit's code comes from few of the
 * listed files, so paths are composed on demand. Zero-initialised = empty. */
struct line_files {
    /* paths of files, in an arena or borrowed from `sections`; NULL = none, or not composed so
     * far */
    VEC(const char *) paths;
    struct line_names folders, files;
    const struct sections *sections; /* borrowed, as comp_dir is */
    const char *comp_dir;
    uint64_t path_budget; /* bytes of paths that may still be composed */
};
/* Frees the lists; the paths stay in their arena. */
void line_files_release(struct line_files *f);

struct line_rows {
    struct debug_row *data;
    size_t len, cap;
};

/* A sequence as the line program made it. */
struct line_sequence {
    struct debug_sequence rows;
    bool ascends; /* addresses ascend, as they must in a sequence (§6.2.5): a binary search needs
                     that */
};

struct line_sequences {
    struct line_sequence *data;
    size_t len, cap;
};

/* The sequences that are kept, sorted by their first address. */
struct line_order {
    struct debug_sequence *data;
    size_t len, cap;
};

/* Reads a line table's header, and its lists into *files, which is empty or of another table, whose
 * memory is used again. ST_ERR: *files holds the entries that were read before the damage; *header
 * is then not valid. */
enum st line_header_read(const struct line_source *source, struct line_header *header,
                         struct line_files *files, struct err *e) BASE_MUST_USE;

/* Gives the full path of a file: its folder and name, made absolute with comp_dir. The path is
 * composed once, into the arena, which must be the same in each call. ST_NONE: there is no such
 * file, or it has no name. ST_ERR: out of memory, or the paths need more than path_budget. */
enum st line_files_path(struct line_files *f, struct arena *arena, uint64_t number,
                        const char **path, struct err *e) BASE_MUST_USE;
/* Composes the paths of all files marked as used. ST_ERR as for line_files_path; paths composed
 * before the error stay. Never ST_NONE. */
enum st line_files_compose(struct line_files *f, struct arena *arena, struct err *e) BASE_MUST_USE;
/* Marks the file as used: line_files_compose will compose its path. */
static inline void line_files_use(struct line_files *f, uint64_t number) {
    if (number < f->files.len) {
        f->files.data[number].used = true;
    }
}

/* Runs the line program, appends its rows and whole sequences in program order, and marks its files
 * as used. ST_ERR: the rows before the damage were appended; the last of them may belong to no
 * sequence. */
enum st line_program_run(const struct line_header *header, struct line_files *files,
                         struct line_rows *rows, struct line_sequences *sequences,
                         struct err *e) BASE_MUST_USE;

/* Fills *out, whose memory is used again, with the sequences that are not empty, begin in code (by
 * is_code) and ascend, sorted by their first address. ST_ERR: out of memory, *out is then empty; or
 * some sequence in code does not ascend, *out then has the others. */
enum st line_sequences_order(const struct line_sequences *sequences,
                             bool (*is_code)(const void *ctx, uint64_t address), const void *ctx,
                             struct line_order *out, struct err *e) BASE_MUST_USE;

#endif
