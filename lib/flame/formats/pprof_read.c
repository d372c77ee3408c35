/* Reads a pprof profile into a tree, in two passes: first the tables, which may stand anywhere in
 * the message, then the samples. */
#include <string.h>

#include "base/arena.h"
#include "base/number_map.h"
#include "base/parse.h"
#include "base/vec.h"
#include "flame/stacks/folded.h"
#include "flame/stacks/frame_name.h"
#include "flame/stacks/frame_place.h"
#include "flame/formats/pprof.h"
#include "flame/formats/pprof_private.h"
#include "flame/formats/protobuf.h"
#include "flame/formats/value_unit.h"

/* A location; its lines are read when the first sample refers to it. */
struct profile_location {
    struct reader message;
    char **frames; /* NULL = not read yet; names, outermost first, in the arena */
    size_t frame_count;
};
struct profile_function {
    uint64_t name, file; /* indexes into strings */
};
struct profile_text {
    const char *at; /* not NUL-terminated */
    size_t len;
};

struct profile {
    struct reader message;
    struct stack_tree *tree;
    struct pprof_stats *stats;
    VEC(struct profile_text) strings;
    VEC(struct profile_function) functions;
    VEC(struct profile_location) locations;
    VEC(uint64_t) mappings; /* file of each mapping, as index into strings */
    /* type and unit of each value, as indexes into strings */
    VEC(uint64_t) types;
    VEC(const struct profile_location *) path; /* scratch: locations of a sample, innermost first */
    VEC(uint64_t) values;                      /* scratch: values of a sample */
    VEC(char *) frames;                        /* scratch: frames of a location, innermost first */
    struct number_map function_ids, location_ids, mapping_ids;
    uint64_t default_type;
    size_t column; /* index of the chosen value in a sample */
    struct value_unit unit;
    uint64_t text_left; /* bytes left for names and stacks: a few bytes of references can stand for
                           many */
    struct arena arena;
    struct strbuf line, name, plain; /* scratch */
};

/* ---- strings ---- */

static struct profile_text profile_string(const struct profile *p, uint64_t index) {
    return index < p->strings.len ? p->strings.data[index] : (struct profile_text){.at = ""};
}

/* Returns the part of a path after its last '/'. */
static struct profile_text text_base_name(struct profile_text t) {
    for (size_t i = t.len; i > 0; i--) {
        if (t.at[i - 1] == '/') {
            return (struct profile_text){t.at + i, t.len - i};
        }
    }
    return t;
}

/* ---- tables ---- */

static enum st profile_too_large(struct err *e) {
    return err_set(e, ERR_LIMIT, "more than %d bytes of stacks", PPROF_TEXT_MAX);
}

/* Maps an id to an index; the first of equal ids stays, and the id UINT64_MAX is ignored. False:
 * out of memory. */
static bool profile_put_id(struct number_map *ids, uint64_t id, size_t index) {
    size_t value;
    bool added;
    return id == UINT64_MAX || number_map_put(ids, id, index, &value, &added);
}

/* Reads numeric fields of a message: a missing field is 0, of a repeated one the last value counts;
 * a field of bytes counts as 0. A damaged message makes p->message fail; values then has what
 * stands before the damage. */
static void read_numbers(struct profile *p, struct reader m, const unsigned *fields, size_t count,
                         uint64_t *values) {
    struct protobuf_field f;
    memset(values, 0, count * sizeof *values);
    while (protobuf_next(&m, &f)) {
        for (size_t i = 0; i < count; i++) {
            values[i] = f.number == fields[i] ? f.value : values[i];
        }
    }
    p->message.failed |= m.failed;
}

static bool profile_read_mapping(struct profile *p, struct reader m) {
    static const unsigned fields[] = {MAPPING_ID, MAPPING_FILE};
    uint64_t v[2];
    read_numbers(p, m, fields, 2, v);
    return profile_put_id(&p->mapping_ids, v[0], p->mappings.len) && VEC_PUSH(&p->mappings, v[1]);
}

static bool profile_read_function(struct profile *p, struct reader m) {
    static const unsigned fields[] = {FUNCTION_ID, FUNCTION_NAME, FUNCTION_FILE};
    uint64_t v[3];
    read_numbers(p, m, fields, 3, v);
    struct profile_function function = {.name = v[1], .file = v[2]};
    return profile_put_id(&p->function_ids, v[0], p->functions.len) &&
           VEC_PUSH(&p->functions, function);
}

static bool profile_read_location(struct profile *p, struct reader m) {
    static const unsigned fields[] = {LOCATION_ID};
    uint64_t id;
    read_numbers(p, m, fields, 1, &id);
    struct profile_location location = {.message = m};
    return profile_put_id(&p->location_ids, id, p->locations.len) &&
           VEC_PUSH(&p->locations, location);
}

static bool profile_read_type(struct profile *p, struct reader m) {
    static const unsigned fields[] = {VALUE_TYPE, VALUE_UNIT};
    uint64_t v[2];
    read_numbers(p, m, fields, 2, v);
    return VEC_PUSH(&p->types, v[0]) && VEC_PUSH(&p->types, v[1]);
}

static bool profile_read_string(struct profile *p, struct reader m) {
    return VEC_PUSH(&p->strings, (struct profile_text){(const char *)m.start, reader_left(&m)});
}

static enum st profile_read_tables(struct profile *p, struct err *e) {
    /* Readers by field number; they return false when memory runs out. */
    static bool (*const readers[])(struct profile * p,
                                   struct reader m) = {[PROFILE_SAMPLE_TYPE] = profile_read_type,
                                                       [PROFILE_MAPPING] = profile_read_mapping,
                                                       [PROFILE_LOCATION] = profile_read_location,
                                                       [PROFILE_FUNCTION] = profile_read_function,
                                                       [PROFILE_STRING] = profile_read_string};
    struct protobuf_field f;
    bool memory = true;
    while (memory && protobuf_next(&p->message, &f)) {
        if (f.number == PROFILE_DEFAULT_TYPE) {
            p->default_type = f.value;
        } else if (f.is_bytes && f.number < sizeof readers / sizeof *readers && readers[f.number]) {
            memory = readers[f.number](p, f.bytes);
        }
    }
    return !memory ? err_nomem(e) : reader_check(&p->message, e, "profile");
}

/* ---- the choice of a value ---- */

static struct value_unit unit_of(const struct profile *p, size_t column) {
    struct profile_text name = profile_string(p, p->types.data[2 * column + 1]);
    const struct value_unit *known = value_unit_find(name.at, name.len);
    return known ? *known : (struct value_unit){.factor = 1};
}

/* Returns the name of the things that a column counts: the name of its type if the unit is "count"
 * and the type has a name; else the unit, as value_unit.counts if it is known. */
static struct profile_text counted(const struct profile *p, size_t column) {
    struct profile_text type = profile_string(p, p->types.data[2 * column]);
    struct profile_text unit = profile_string(p, p->types.data[2 * column + 1]);
    const char *counts = unit_of(p, column).counts;
    if (parse_is(unit.at, unit.len, "count") && type.len > 0) {
        return type;
    }
    return counts ? (struct profile_text){counts, strlen(counts)} : unit;
}

static enum st choose_value(struct profile *p, bool counts, struct err *e) {
    size_t count = p->types.len / 2, best = 0;
    int best_rank = -1;
    if (count == 0) {
        return err_set(e, ERR_FORMAT, "profile in '%s' does not say what it counts",
                       p->message.name);
    }
    for (size_t i = 0; i < count; i++) {
        const char *what = unit_of(p, i).counts;
        int rank = what && strcmp(what, counts ? "samples" : "ms") == 0 ? 4 : 0;
        rank += p->default_type != 0 && p->types.data[2 * i] == p->default_type ? 2 : 0;
        rank += i == count - 1;
        if (rank > best_rank) {
            best_rank = rank;
            best = i;
        }
    }
    p->column = best;
    p->unit = unit_of(p, best);
    struct profile_text what = counted(p, best);
    memcpy(p->stats->unit, what.at,
           what.len < sizeof p->stats->unit ? what.len : sizeof p->stats->unit - 1);
    return ST_OK;
}

/* ---- frames ---- */

/* Appends text with '?' for each NUL, which would end a C string. */
static void add_text(struct strbuf *out, struct profile_text t) {
    for (size_t i = 0; i < t.len; i++) {
        strbuf_addc(out, t.at[i] ? t.at[i] : '?');
    }
}

/* Makes a frame's name in the arena; NULL: out of memory, or over the budget text_left. */
static char *keep_name(struct profile *p, struct profile_text module, const char *name,
                       bool inlined) {
    struct strbuf file = {0};
    add_text(&file, module);
    bool has = strncmp(name, strbuf_cstr(&file), file.len) == 0 && name[file.len] == '+';
    strbuf_clear(&p->plain);
    frame_name_join(&p->plain, has || file.len == 0 ? NULL : strbuf_cstr(&file), name, inlined);
    bool failed = file.failed || p->plain.failed;
    strbuf_release(&file);
    if (failed || p->plain.len >= p->text_left) {
        return NULL;
    }
    p->text_left -= p->plain.len + 1;
    return arena_strdup(&p->arena, strbuf_cstr(&p->plain), p->plain.len);
}

/* Writes the name of a line's frame, without its module, to out; "[unknown]" if the function is
 * missing or has no name. */
static void line_name(struct profile *p, struct reader m, struct strbuf *out) {
    static const unsigned fields[] = {LINE_FUNCTION, LINE_LINE};
    uint64_t v[2];
    size_t index;
    read_numbers(p, m, fields, 2, v);
    uint64_t line = v[1];
    strbuf_clear(out);
    if (!number_map_get(&p->function_ids, v[0], &index)) {
        strbuf_addstr(out, "[unknown]");
        return;
    }
    struct profile_text name = profile_string(p, p->functions.data[index].name);
    if (name.len == 0) {
        strbuf_addstr(out, "[unknown]");
        return;
    }
    struct strbuf plain = {0}, file = {0};
    add_text(&plain, name);
    if (line > 0 && line <= UINT32_MAX) { /* a file without a line is left out */
        add_text(&file, text_base_name(profile_string(p, p->functions.data[index].file)));
    }
    frame_place_join(out, strbuf_cstr(&plain), strbuf_cstr(&file), (uint32_t)line);
    out->failed |= plain.failed || file.failed;
    strbuf_release(&plain);
    strbuf_release(&file);
}

/* Reads a location's lines into p->frames, innermost first, and its module and address. False:
 * out of memory, or over the budget text_left. */
static bool profile_read_lines(struct profile *p, const struct profile_location *l,
                               struct profile_text *module, uint64_t *address) {
    struct protobuf_field f;
    struct reader m = l->message;
    size_t index;
    uint64_t mapping = 0;
    while (protobuf_next(&m, &f)) { /* a first pass, as the mapping may stand after the lines */
        mapping = f.number == LOCATION_MAPPING ? f.value : mapping;
        *address = f.number == LOCATION_ADDRESS ? f.value : *address;
    }
    if (number_map_get(&p->mapping_ids, mapping, &index)) {
        *module = text_base_name(profile_string(p, p->mappings.data[index]));
    }
    struct protobuf_field last = {0}; /* the last line is the outermost: the function itself */
    bool any = false;
    m = l->message;
    p->frames.len = 0;
    for (bool more = true; more;) {
        more = protobuf_next(&m, &f);
        if (more && (f.number != LOCATION_LINE || !f.is_bytes)) {
            continue;
        }
        if (any) {
            line_name(p, last.bytes, &p->name);
            char *name = keep_name(p, *module, strbuf_cstr(&p->name), more);
            if (p->name.failed || !name || !VEC_PUSH(&p->frames, name)) {
                return false;
            }
        }
        last = f;
        any = more;
    }
    return true;
}

static enum st load_location(struct profile *p, struct profile_location *l, struct err *e) {
    struct profile_text module = {.at = ""};
    uint64_t address = 0;
    bool ok = profile_read_lines(p, l, &module, &address);
    if (ok && p->frames.len == 0) {
        strbuf_clear(&p->name);
        add_text(&p->name, module);
        strbuf_addf(&p->name, "%s0x%llx", module.len ? "+" : "", (unsigned long long)address);
        char *name = keep_name(p, (struct profile_text){.at = ""}, strbuf_cstr(&p->name), false);
        ok = !p->name.failed && name && VEC_PUSH(&p->frames, name);
    }
    l->frames = ok ? arena_array(&p->arena, p->frames.len, sizeof *l->frames) : NULL;
    if (!l->frames) {
        return p->text_left <= p->plain.len ? profile_too_large(e) : err_nomem(e);
    }
    l->frame_count = p->frames.len;
    for (size_t i = 0; i < l->frame_count; i++) {
        l->frames[i] = p->frames.data[l->frame_count - 1 - i];
    }
    return reader_check(&p->message, e, "line");
}

/* ---- samples ---- */

static enum st profile_add_stack(struct profile *p, uint64_t weight, struct err *e) {
    strbuf_clear(&p->line);
    for (size_t i = p->path.len; i > 0; i--) {
        const struct profile_location *l = p->path.data[i - 1];
        for (size_t k = 0; k < l->frame_count; k++) {
            if (p->line.len > 0) {
                strbuf_addc(&p->line, ';');
            }
            folded_escape(&p->line, l->frames[k], strlen(l->frames[k]), p->line.len == 0);
            if (p->line.len > p->text_left) {
                return profile_too_large(e);
            }
        }
    }
    p->text_left -= p->line.len;
    p->stats->samples++;
    if (strbuf_check(&p->line, e) != ST_OK) {
        return ST_ERR;
    }
    return stack_tree_add(p->tree, strbuf_cstr(&p->line), p->line.len, weight, p->unit.decimals, e);
}

static enum st profile_read_sample(struct profile *p, struct reader m, struct err *e) {
    struct protobuf_field f;
    uint64_t v;
    size_t index;
    p->path.len = p->values.len = 0;
    while (protobuf_next(&m, &f)) {
        bool done = false;
        while ((f.number == SAMPLE_LOCATION || f.number == SAMPLE_VALUE) &&
               protobuf_next_packed(&f, &done, &v)) {
            if (f.number == SAMPLE_VALUE) {
                if (!VEC_PUSH(&p->values, v)) {
                    return err_nomem(e);
                }
                continue;
            }
            if (!number_map_get(&p->location_ids, v, &index)) {
                return err_set(e, ERR_FORMAT, "sample in '%s' at location %llu, which is not there",
                               p->message.name, (unsigned long long)v);
            }
            struct profile_location *l = &p->locations.data[index];
            if (!l->frames && load_location(p, l, e) != ST_OK) {
                return ST_ERR;
            }
            if (!VEC_PUSH(&p->path, l)) {
                return err_nomem(e);
            }
        }
        m.failed |= f.is_bytes && f.bytes.failed;
    }
    if (reader_check(&m, e, "sample") != ST_OK) {
        return ST_ERR;
    }
    if (p->values.len * 2 != p->types.len) {
        return err_set(e, ERR_FORMAT, "sample in '%s' with %zu values of %zu", p->message.name,
                       p->values.len, p->types.len / 2);
    }
    uint64_t weight = p->values.data[p->column];
    if (weight > INT64_MAX) {
        p->stats->negative++;
        return ST_OK;
    }
    if (weight > UINT64_MAX / p->unit.factor) {
        return err_set(e, ERR_LIMIT, "the sum of all counts passes 64 bits");
    }
    return p->path.len > 0 ? profile_add_stack(p, weight * p->unit.factor, e) : ST_OK;
}

static enum st profile_read_samples(struct profile *p, struct err *e) {
    struct protobuf_field f;
    struct reader m = p->message;
    reader_seek(&m, 0);
    while (protobuf_next(&m, &f)) {
        if (f.number == PROFILE_SAMPLE && f.is_bytes &&
            profile_read_sample(p, f.bytes, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- the message ---- */

/* Searches for the first nested message, before which Go's runtime writes times or the period. That
 * message must be a ValueType, which begins with a number field; in text the byte of that field
 * would be a control character. */
bool pprof_recognise(const char *bytes, size_t len) {
    enum { LOOK_AT = 256 };
    struct reader m = reader_init("profile", bytes, len < LOOK_AT ? len : LOOK_AT);
    struct protobuf_field f;
    while (protobuf_next(&m, &f)) {
        if (f.is_bytes) {
            return (f.number == PROFILE_SAMPLE_TYPE || f.number == PROFILE_PERIOD_TYPE) &&
                   reader_u8(&f.bytes) == VALUE_TYPE << 3;
        }
        if (f.number > PROFILE_DEFAULT_TYPE) {
            break;
        }
    }
    return false;
}

/* Checks that the file holds each string that its tables name. Tables have no length of their own,
 * so that only a missing string shows that a file was cut between two fields. */
static enum st check_strings(const struct profile *p, struct err *e) {
    bool missing = false;
    for (size_t i = 0; i < p->types.len; i++) {
        missing = missing || p->types.data[i] >= p->strings.len;
    }
    for (size_t i = 0; i < p->functions.len; i++) {
        const struct profile_function *f = &p->functions.data[i];
        missing = missing || (f->name && f->name >= p->strings.len) ||
                  (f->file && f->file >= p->strings.len);
    }
    for (size_t i = 0; i < p->mappings.len; i++) {
        missing = missing || (p->mappings.data[i] && p->mappings.data[i] >= p->strings.len);
    }
    return missing ? err_set(e, ERR_FORMAT, "profile in '%s' names a string that is not there",
                             p->message.name)
                   : ST_OK;
}

enum st pprof_read(struct stack_tree *t, const char *name, const void *bytes, size_t len,
                   bool counts, struct pprof_stats *stats, struct err *e) {
    struct profile p = {.message = reader_init(name, bytes, len),
                        .tree = t,
                        .stats = stats,
                        .text_left = PPROF_TEXT_MAX};
    *stats = (struct pprof_stats){0};
    enum st st = profile_read_tables(&p, e);
    if (st == ST_OK) {
        st = check_strings(&p, e);
    }
    if (st == ST_OK) {
        st = choose_value(&p, counts, e);
    }
    if (st == ST_OK) {
        st = profile_read_samples(&p, e);
    }
    VEC_RELEASE(&p.strings);
    VEC_RELEASE(&p.functions);
    VEC_RELEASE(&p.locations);
    VEC_RELEASE(&p.mappings);
    VEC_RELEASE(&p.types);
    VEC_RELEASE(&p.path);
    VEC_RELEASE(&p.values);
    VEC_RELEASE(&p.frames);
    number_map_release(&p.function_ids);
    number_map_release(&p.location_ids);
    number_map_release(&p.mapping_ids);
    arena_release(&p.arena);
    strbuf_release(&p.line);
    strbuf_release(&p.name);
    strbuf_release(&p.plain);
    return st;
}
