/* Reads the records of a jitdump file that name given addresses. */
#include "linux/jitdump.h"

#include <string.h>

#include "linux/perf_map.h"

enum {
    MAGIC = 0x4A695444,
    VERSION = 1,
    FILE_HEAD = 40,
    RECORD_HEAD = 16,
    CODE_LOAD = 0,
    CODE_MOVE = 1,
    CODE_DEBUG_INFO = 2,
    LOAD_HEAD = RECORD_HEAD + 40, /* size of a load record's head; the name and the code follow */
    MOVE_SIZE = RECORD_HEAD + 48,
    DEBUG_HEAD = RECORD_HEAD + 16, /* size of a debug-info record's head; the line entries follow */
    ENTRY_HEAD = 16,               /* size of a line entry's head; the file's name follows */
    PIECE = 4096,
    LINES = 64 /* maximum number of frames that get lines from one debug-info record */
};

struct jit_line {
    uint32_t name; /* index into names */
    uint32_t line;
    uint64_t file_at; /* offset of the file's name in the jitdump file */
};

struct jitdump {
    jitdump_read_fn *read_async;
    void *arg;
    struct rec_code_name *names;
    uint32_t count;
    struct code_text *text;
    /* Lines of the latest debug-info record. lines_of: start address of their function; the next
     * load record that is not too short uses them if its function starts there, and then drops
     * them. */
    uint64_t lines_of;
    uint32_t line_count;
    struct jit_line lines[LINES];
    unsigned char piece[PIECE];
};

static uint32_t jit_word_async(const unsigned char *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t jit_long_async(const unsigned char *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Returns the address to look up for a frame: for a return address the address before it. */
static uint64_t jit_place_async(const struct rec_code_name *name) {
    return name->address - (name->exact ? 0 : 1);
}

static void set_line_async(struct jitdump *j, const struct jit_line *line,
                           struct rec_code_name *name) {
    char file[CODE_TEXT_MAX];
    size_t size = j->read_async(j->arg, line->file_at, file, sizeof file);
    const char *kept = size > 0 ? code_text_keep_async(j->text, file, size) : NULL;
    if (kept) {
        name->file = kept;
        name->line = line->line;
        name->in_app = code_text_is_app_file_async(kept);
    }
}

/* Names the frames in [start, start + size), and sets their lines if the last debug-info record is
 * about this function. */
static void name_range_async(struct jitdump *j, uint64_t start, uint64_t size, const char *symbol,
                             size_t length) {
    uint32_t i = perf_map_first_async(j->names, j->count, start);
    for (; i < j->count && jit_place_async(&j->names[i]) - start < size; i++) {
        struct rec_code_name *name = &j->names[i];
        code_text_name_async(j->text, symbol, length, name);
        name->offset = name->address - start;
        for (uint32_t k = 0; j->lines_of == start && k < j->line_count; k++) {
            if (j->lines[k].name == i) {
                set_line_async(j, &j->lines[k], name);
            }
        }
    }
}

static void take_load_async(struct jitdump *j, size_t had, uint64_t record) {
    if (had < LOAD_HEAD || record < LOAD_HEAD) {
        return;
    }
    uint64_t start = jit_long_async(j->piece + RECORD_HEAD + 16);
    uint64_t size = jit_long_async(j->piece + RECORD_HEAD + 24);
    size_t length = had < record ? had : (size_t)record;
    name_range_async(j, start, size, (const char *)j->piece + LOAD_HEAD, length - LOAD_HEAD);
    j->lines_of = j->line_count = 0;
}

/* Applies a move record, which has the new place of code but not its name. Frames at the new place
 * get the name of a frame at the old place; if there is none they lose their names, because these
 * would be wrong. */
static void take_move_async(struct jitdump *j, size_t had) {
    if (had < MOVE_SIZE) {
        return;
    }
    uint64_t from = jit_long_async(j->piece + RECORD_HEAD + 16);
    uint64_t to = jit_long_async(j->piece + RECORD_HEAD + 24);
    uint64_t size = jit_long_async(j->piece + RECORD_HEAD + 32);
    uint32_t old = perf_map_first_async(j->names, j->count, from);
    bool known = old < j->count && jit_place_async(&j->names[old]) - from < size;
    const struct rec_code_name was = known ? j->names[old] : (struct rec_code_name){0};
    uint32_t i = perf_map_first_async(j->names, j->count, to);
    for (; i < j->count && jit_place_async(&j->names[i]) - to < size; i++) {
        struct rec_code_name *name = &j->names[i];
        name->symbol = was.symbol;
        name->file = was.file;
        name->line = was.line;
        name->in_app = was.in_app;
        name->offset = name->address - to;
    }
}

/* Notes in j->lines the line of an entry of a debug-info record, whose code begins at address
 * `from`, for each of the names at or above `from`; one record gives lines to at most LINES names.
 * A later entry replaces it for the names at or above that entry's address. name_range_async uses
 * the lines within the record's function. */
static void take_entry_async(struct jitdump *j, uint64_t from, uint32_t line, uint64_t file_at) {
    uint32_t i = perf_map_first_async(j->names, j->count, from);
    for (; i < j->count; i++) {
        uint32_t k = 0;
        while (k < j->line_count && j->lines[k].name != i) {
            k++;
        }
        if (k == LINES) {
            return;
        }
        j->line_count += k == j->line_count;
        j->lines[k] = (struct jit_line){.name = i, .line = line, .file_at = file_at};
    }
}

static void take_lines_async(struct jitdump *j, uint64_t offset, size_t had, uint64_t record) {
    if (had < DEBUG_HEAD) {
        return;
    }
    static const char same[] = "\xff"; /* this file name stands for that of the previous entry */
    uint64_t entries = jit_long_async(j->piece + RECORD_HEAD + 8), at = DEBUG_HEAD, file_at = 0;
    j->lines_of = jit_long_async(j->piece + RECORD_HEAD);
    j->line_count = 0;
    for (uint64_t i = 0; i < entries && at + ENTRY_HEAD < record; i++) {
        size_t size = j->read_async(j->arg, offset + at, j->piece, sizeof j->piece);
        size = size < record - at ? size : (size_t)(record - at);
        if (size <= ENTRY_HEAD) {
            return;
        }
        const char *file = (const char *)j->piece + ENTRY_HEAD;
        size_t room = size - ENTRY_HEAD, length = 0;
        while (length < room && file[length] != '\0') {
            length++;
        }
        if (length == room) {
            return;
        }
        if (length != 1 || file[0] != same[0]) {
            file_at = offset + at + ENTRY_HEAD;
        }
        take_entry_async(j, jit_long_async(j->piece), jit_word_async(j->piece + 8), file_at);
        at += ENTRY_HEAD + length + 1;
    }
}

bool jitdump_name_async(jitdump_read_fn *read_async, void *arg, uint64_t records,
                        struct rec_code_name *names, uint32_t count, struct code_text *text) {
    struct jitdump j = {
        .read_async = read_async, .arg = arg, .names = names, .count = count, .text = text};
    size_t had = read_async(arg, 0, j.piece, FILE_HEAD);
    if (had < FILE_HEAD || jit_word_async(j.piece) != MAGIC ||
        jit_word_async(j.piece + 4) != VERSION) {
        return false;
    }
    uint64_t offset = jit_word_async(j.piece + 8);
    offset = offset < FILE_HEAD ? FILE_HEAD : offset;
    for (; records > 0; records--) {
        had = read_async(arg, offset, j.piece, sizeof j.piece);
        uint64_t record = had < RECORD_HEAD ? 0 : jit_word_async(j.piece + 4);
        if (record < RECORD_HEAD || offset + record < offset) {
            break;
        }
        switch (jit_word_async(j.piece)) {
        case CODE_LOAD:
            take_load_async(&j, had, record);
            break;
        case CODE_MOVE:
            take_move_async(&j, had);
            break;
        case CODE_DEBUG_INFO:
            take_lines_async(&j, offset, had, record);
            break;
        default:
            break;
        }
        offset += record;
    }
    return true;
}
