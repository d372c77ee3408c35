/* Writes a tree as a pprof profile. */
#include <string.h>

#include "base/checked.h"
#include "base/escape.h"
#include "base/gz.h"
#include "base/map.h"
#include "base/vec.h"
#include "flame/stacks/folded.h"
#include "flame/stacks/frame_name.h"
#include "flame/stacks/frame_place.h"
#include "flame/formats/pprof.h"
#include "flame/formats/pprof_private.h"
#include "flame/formats/protobuf.h"
#include "flame/stacks/stack_pair.h"
#include "flame/stacks/weigh.h"

enum { GZIP_LEVEL = 6, VALUES_MAX = 2 };

struct pprof_writer {
    const struct pprof_options *options;
    /* The tree and `samples`, side by side; NULL: stacks have one value only. */
    const struct stack_pair *pair;
    struct weigh_running columns[VALUES_MAX]; /* rounding of each value to integers */
    unsigned column_count;
    struct strbuf out;       /* the Profile message */
    struct map strings;      /* text -> index in the string table */
    struct map locations;    /* frame and frames inlined into it, as text -> index */
    struct map functions;    /* NAME NUL FILE -> index */
    struct map mappings;     /* module -> index */
    VEC(uint64_t) path;      /* scratch: locations of a sample */
    struct strbuf part, sub; /* scratch: nested messages */
    struct strbuf name, key; /* scratch: a name, a key of a map */
    struct strbuf shown;     /* scratch: a text of the string table */
    bool failed;             /* a map ran out of memory */
};

/* Adds the message in `from` as a field of the message in `to`. */
static void pprof_put_message(struct pprof_writer *w, struct strbuf *to, unsigned field,
                              const struct strbuf *from) {
    protobuf_put_bytes(to, field, strbuf_cstr(from), from->len);
    w->failed |= from->failed;
}

/* ---- tables: ids count from 1 ---- */

static uint64_t pprof_intern(struct pprof_writer *w, struct map *m, const char *text, size_t len) {
    size_t i = map_intern(m, text, len);
    w->failed |= i == SIZE_MAX;
    return w->failed ? 0 : i;
}

static uint64_t string_index(struct pprof_writer *w, const char *text, size_t len) {
    strbuf_clear(&w->shown);
    text_add_replaced(&w->shown, text, len);
    w->failed = w->failed || w->shown.failed;
    return pprof_intern(w, &w->strings, strbuf_cstr(&w->shown), w->shown.len);
}

static void pprof_put_string(struct pprof_writer *w, struct strbuf *out, unsigned field,
                             const char *text, size_t len) {
    protobuf_put_u64(out, field, string_index(w, text, len));
}

static uint64_t function_id(struct pprof_writer *w, const char *name, size_t len,
                            const struct frame_place *place) {
    strbuf_clear(&w->key);
    strbuf_add(&w->key, name, len);
    strbuf_addc(&w->key, '\0');
    strbuf_add(&w->key, place->file, place->file_len);
    w->failed |= w->key.failed;
    return w->failed ? 0 : pprof_intern(w, &w->functions, strbuf_cstr(&w->key), w->key.len) + 1;
}

/* Finds the module of a frame, for an unresolved IMAGE+0xOFFSET its IMAGE, and returns its length;
 * 0: none. */
static size_t module_of(const struct frame_name *f, const char **module) {
    if (f->module) {
        *module = f->module;
        return f->module_len;
    }
    const char *plus = f->unresolved ? memchr(f->name, '+', f->name_len) : NULL;
    *module = f->name;
    return plus ? (size_t)(plus - f->name) : 0;
}

/* ---- locations ---- */

/* Writes the line of one frame. within: the frame is inlined into another frame of the location.
 * *mapping is set to the frame's module if it has one. */
static void pprof_put_line(struct pprof_writer *w, const char *frame, size_t len, bool within,
                           uint64_t *mapping) {
    const char *module;
    struct frame_place place = {.file = ""};
    strbuf_clear(&w->name);
    folded_unescape(&w->name, frame, len);
    w->failed |= w->name.failed;
    struct frame_name f = frame_name_split(strbuf_cstr(&w->name), w->name.len);
    size_t module_len = module_of(&f, &module);
    /* the mark _[i] is left out: the line's position says that it is inlined */
    if (f.mark && !(f.mark == 'i' && within)) {
        f.name_len += FRAME_MARK_LEN;
    }
    frame_place_split(f.name, &f.name_len, &place);
    if (module_len > 0) {
        *mapping = pprof_intern(w, &w->mappings, module, module_len) + 1;
    }
    strbuf_clear(&w->sub);
    protobuf_put_u64(&w->sub, LINE_FUNCTION, function_id(w, f.name, f.name_len, &place));
    protobuf_put_u64(&w->sub, LINE_LINE, place.line);
    pprof_put_message(w, &w->part, LOCATION_LINE, &w->sub);
}

/* Writes a location from its text: a frame and the frames inlined into it, outermost first. pprof
 * wants the innermost line first. */
static void pprof_put_location(struct pprof_writer *w, uint64_t id, const char *text, size_t len) {
    uint64_t mapping = 0;
    strbuf_clear(&w->part);
    protobuf_put_u64(&w->part, LOCATION_ID, id);
    for (size_t end = len;;) {
        size_t at = end;
        while (at > 0 && text[at - 1] != ';') {
            at--;
        }
        pprof_put_line(w, text + at, end - at, at > 0, &mapping);
        if (at == 0) {
            break;
        }
        end = at - 1;
    }
    protobuf_put_u64(&w->part, LOCATION_MAPPING, mapping);
    pprof_put_message(w, &w->out, PROFILE_LOCATION, &w->part);
}

/* Splits a stack's text into locations, in w->path, the outermost first. False: out of memory. */
static bool split_locations(struct pprof_writer *w, const char *text, size_t len) {
    w->path.len = 0;
    for (size_t start = 0; start <= len;) {
        size_t end = start;
        for (size_t at = start;
             at <= len;) { /* takes one frame, then all frames marked as inlined into it */
            size_t stop = at + stack_frame_len(text + at, len - at);
            if (at > start && !frame_is_inlined(text + at, stop - at)) {
                break;
            }
            end = stop;
            at = stop + 1;
        }
        if (!VEC_PUSH(&w->path, pprof_intern(w, &w->locations, text + start, end - start) + 1)) {
            return false;
        }
        start = end + 1;
    }
    return !w->failed;
}

/* ---- samples ---- */

static enum st pprof_put_sample(void *ctx, const char *text, size_t len, uint64_t weight,
                                struct err *e) {
    struct pprof_writer *w = ctx;
    uint64_t values[VALUES_MAX] = {weight};
    if (w->pair) {
        memcpy(values, stack_pair_sides(w->pair, text, len)->self, sizeof values);
    }
    if (!split_locations(w, text, len)) {
        return err_nomem(e);
    }
    strbuf_clear(&w->part);
    strbuf_clear(&w->sub);
    for (size_t i = w->path.len; i > 0; i--) {
        protobuf_varint(&w->sub, w->path.data[i - 1]);
    }
    pprof_put_message(w, &w->part, SAMPLE_LOCATION, &w->sub);
    strbuf_clear(&w->sub);
    for (unsigned i = 0; i < w->column_count; i++) {
        protobuf_varint(&w->sub, weigh_next(&w->columns[i], values[i]));
    }
    pprof_put_message(w, &w->part, SAMPLE_VALUE, &w->sub);
    pprof_put_message(w, &w->out, PROFILE_SAMPLE, &w->part);
    return w->failed ? err_nomem(e) : ST_OK;
}

static void pprof_put_value_type(struct pprof_writer *w, unsigned field, const char *type,
                                 const char *unit) {
    strbuf_clear(&w->part);
    pprof_put_string(w, &w->part, VALUE_TYPE, type, strlen(type));
    pprof_put_string(w, &w->part, VALUE_UNIT, unit, strlen(unit));
    pprof_put_message(w, &w->out, field, &w->part);
}

/* ---- the rest ---- */

static void pprof_put_mappings(struct pprof_writer *w) {
    for (size_t i = 0; i < w->mappings.count; i++) {
        const struct map_entry *m = &w->mappings.entries[i];
        const struct pprof_options *o = w->options;
        const char *id = o->build_id ? o->build_id(o->ctx, m->key, m->len) : "";
        strbuf_clear(&w->part);
        protobuf_put_u64(&w->part, MAPPING_ID, i + 1);
        pprof_put_string(w, &w->part, MAPPING_FILE, m->key, m->len);
        pprof_put_string(w, &w->part, MAPPING_BUILD_ID, id, strlen(id));
        /* Marks the mapping as completely symbolicated. */
        for (unsigned f = MAPPING_HAS_FUNCTIONS; f <= MAPPING_HAS_INLINES; f++) {
            protobuf_put_u64(&w->part, f, 1);
        }
        pprof_put_message(w, &w->out, PROFILE_MAPPING, &w->part);
    }
}

static void pprof_put_functions(struct pprof_writer *w) {
    for (size_t i = 0; i < w->functions.count; i++) {
        const struct map_entry *f = &w->functions.entries[i];
        size_t name_len = f->len;
        while (f->key[name_len - 1] != '\0') { /* only the name may have a NUL */
            name_len--;
        }
        name_len--;
        strbuf_clear(&w->part);
        protobuf_put_u64(&w->part, FUNCTION_ID, i + 1);
        pprof_put_string(w, &w->part, FUNCTION_NAME, f->key, name_len);
        pprof_put_string(w, &w->part, FUNCTION_SYSTEM_NAME, f->key, name_len);
        pprof_put_string(w, &w->part, FUNCTION_FILE, f->key + name_len + 1, f->len - name_len - 1);
        pprof_put_message(w, &w->out, PROFILE_FUNCTION, &w->part);
    }
}

static void pprof_put_tables(struct pprof_writer *w) {
    for (size_t i = 0; i < w->locations.count; i++) {
        pprof_put_location(w, i + 1, w->locations.entries[i].key, w->locations.entries[i].len);
    }
    pprof_put_mappings(w);
    pprof_put_functions(w);
    if (w->options->comment) {
        pprof_put_string(w, &w->out, PROFILE_COMMENT, w->options->comment,
                         strlen(w->options->comment));
    }
    for (size_t i = 0; i < w->strings.count; i++) {
        protobuf_put_bytes(&w->out, PROFILE_STRING, w->strings.entries[i].key,
                           w->strings.entries[i].len);
    }
    w->failed |= w->out.failed;
}

/* Adds a column of values. Times with decimal places are written in nanoseconds, which hold all of
 * them; other values are rounded to whole ones. ST_ERR: ERR_LIMIT. */
static enum st pprof_add_column(struct pprof_writer *w, const char *type, uint64_t total,
                                unsigned decimals, struct err *e) {
    bool time = strcmp(type, "ms") == 0, fits = true;
    const char *unit = "count";
    uint64_t to = total;
    if (!time) {
        for (unsigned i = decimals; i > 0; i--) {
            to = to / 10 + (i == 1 && to % 10 >= 5);
        }
    } else if (decimals > 0) {
        unit = "nanoseconds";
        fits = checked_mul_u64(total, weigh_power_of_ten(STACK_DECIMALS_MAX - decimals), &to);
    } else {
        unit = "milliseconds";
    }
    if (!fits || to > INT64_MAX) {
        return err_set(e, ERR_LIMIT, "the sum of all counts is too large for pprof");
    }
    w->columns[w->column_count++] = (struct weigh_running){.from = total, .to = to};
    pprof_put_value_type(w, PROFILE_SAMPLE_TYPE, time ? "stalled" : type, unit);
    return ST_OK;
}

static enum st pprof_write_message(struct pprof_writer *w, const struct stack_tree *t,
                                   struct err *e) {
    const char *unit = w->options->unit ? w->options->unit : "samples";
    const char *type = strcmp(unit, "ms") == 0 ? "stalled" : unit;
    const uint64_t *totals = w->pair && w->pair->nodes ? w->pair->nodes[0].total : NULL;
    string_index(w, "", 0); /* string 0 must be empty */
    if (totals && pprof_add_column(w, "samples", totals[STACK_BASE], t->decimals, e) != ST_OK) {
        return ST_ERR;
    }
    uint64_t total = totals ? totals[STACK_NEW] : stack_tree_total(t);
    if (pprof_add_column(w, unit, total, t->decimals, e) != ST_OK) {
        return ST_ERR;
    }
    pprof_put_string(w, &w->out, PROFILE_DEFAULT_TYPE, type, strlen(type));
    enum st st = stack_tree_each(t, pprof_put_sample, w, e);
    if (st == ST_OK) {
        pprof_put_tables(w);
        st = w->failed ? err_nomem(e) : ST_OK;
    }
    return st;
}

enum st pprof_write(const struct stack_tree *t, const struct stack_tree *samples,
                    const struct pprof_options *o, struct sink *out, struct err *e) {
    struct pprof_writer w = {.options = o};
    struct stack_pair pair = {0};
    struct strbuf packed = {0};
    enum st st = ST_OK;
    if (samples) {
        st = stack_pair_make(&pair, samples, t, false, e);
        w.pair = &pair;
    }
    if (st == ST_OK) {
        st = pprof_write_message(&w, samples ? &pair.tree : t, e);
    }
    if (st == ST_OK) {
        st = gz_deflate(strbuf_cstr(&w.out), w.out.len, GZIP_LEVEL, &packed, e);
    }
    if (st == ST_OK) {
        sink_write(out, strbuf_cstr(&packed), packed.len);
    }
    stack_pair_release(&pair);
    strbuf_release(&packed);
    strbuf_release(&w.out);
    strbuf_release(&w.part);
    strbuf_release(&w.sub);
    strbuf_release(&w.name);
    strbuf_release(&w.key);
    strbuf_release(&w.shown);
    map_release(&w.strings);
    map_release(&w.locations);
    map_release(&w.functions);
    map_release(&w.mappings);
    VEC_RELEASE(&w.path);
    return st;
}
