/* Writes a dump's own text with the results of symbolication spliced in. The text is copied, not
 * rebuilt: an unknown member is copied byte for byte, and only white space between tokens is
 * dropped.
 *
 *     {…, "images":[{…, +symbols, +symbols_file}, …],
 *         "threads":[{…, +locations}, …], "samples":{…, "stacks":[{…, +locations}, …]},
 *         +strings, +locations}
 *
 * Members of these names that the text already has are dropped. Of two members with one name the
 * last one counts, as in Jansson. */
#include "dump/dump.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/jsonw.h"
#include "base/map.h"
#include "dump/json/span_private.h"

/* A slot of the cache that maps a string's address to its number in the table. Symbolication shares
 * its strings, so that most of them are found here and their text need not be hashed. */
struct known_text {
    const char *text; /* NULL = free */
    size_t number;
};

enum { KNOWN_TEXTS = 512 };

struct splicer {
    const struct dump *d;
    const struct dump_addition *add;
    struct sink *out;
    struct map strings;
    struct known_text known[KNOWN_TEXTS];
    int64_t *names; /* numbers in the string table of each line's function, linkage and file, -1 =
                       NULL, line by line */
};

enum { LINE_NAMES = 3 };

/* Is the text free of white space and escapes? It is checked eight bytes at a time, as in
 * jsonw_escape. */
static bool is_plain(struct span value) {
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    const char *p = value.p;
    uint64_t v, found = 0;
    for (; value.end - p >= 8; p += 8) {
        memcpy(&v, p, sizeof v);
        uint64_t backslash = v ^ ones * '\\';
        found |= ((v - ones * (' ' + 1)) & ~v) | ((backslash - ones) & ~backslash);
        found &= high;
    }
    for (; p < value.end; p++) {
        found |= (unsigned char)*p <= ' ' || *p == '\\';
    }
    return found == 0;
}

static void write_value(struct splicer *s, struct span value) {
    if (is_plain(value)) {
        sink_write(s->out, value.p, (size_t)(value.end - value.p));
    } else {
        span_write_compact(value, s->out);
    }
}

/* ---- objects and arrays with special members ---- */

/* Writes the new value of a special member (index is 0), or of element `index` of a list. */
typedef void (*write_special)(struct splicer *s, struct span value, size_t index);

struct special {
    const char *name;
    write_special write; /* NULL = drop the member */
};

enum { SPECIALS_MAX = 8 };

static size_t find_special(struct span key, const struct special *specials, size_t count) {
    size_t i = 0;
    while (i < count && !span_is(key, specials[i].name)) {
        i++;
    }
    return i;
}

struct member {
    struct span key, value;
    size_t special;
};

/* The members of an object are walked twice; the first pass keeps this many of them for the
 * second. */
enum { MEMBERS_KEPT = 24 };

struct members {
    struct span rest; /* the members after the kept ones */
    size_t kept_count;
    struct member kept[MEMBERS_KEPT];
};

static bool splice_next_member(struct span *rest, const struct special *specials, size_t count,
                               struct member *m) {
    if (!span_next(rest, &m->key, &m->value)) {
        return false;
    }
    m->special = find_special(m->key, specials, count);
    return true;
}

/* Walks all members of an object. last[i] is set to the value of the last member that has the name
 * of specials[i], because the last of several counts. */
static void find_members(struct members *all, struct span object, const struct special *specials,
                         size_t count, const char **last) {
    struct member m;
    all->kept_count = 0;
    all->rest = object;
    while (splice_next_member(&object, specials, count, &m)) {
        if (m.special < count) {
            last[m.special] = m.value.p;
        }
        if (all->kept_count < MEMBERS_KEPT) {
            all->kept[all->kept_count++] = m;
            all->rest = object;
        }
    }
}

/* Is it certain that the object has none of the special members, because no quote in its text is
 * followed by the name of one? Returns false without a search for a text with white space or
 * escapes. */
static bool has_none(struct span object, const struct special *specials, size_t count) {
    if (!is_plain(object)) {
        return false;
    }
    for (const char *p = object.p; (p = memchr(p, '"', (size_t)(object.end - p))) != NULL;) {
        p++;
        for (size_t i = 0; i < count; i++) {
            size_t len = strlen(specials[i].name);
            if ((size_t)(object.end - p) > len && memcmp(p, specials[i].name, len) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* Writes an object up to, but without, its closing brace, so that the caller may add members.
 * Returns whether the next member needs a comma. */
static bool write_members(struct splicer *s, struct span object, const struct special *specials,
                          size_t count) {
    const char *last[SPECIALS_MAX] = {NULL};
    struct members all;
    struct member m;
    bool comma = false;
    if (has_none(object, specials, count)) {
        sink_write(s->out, object.p, (size_t)(object.end - object.p) - 1);
        return object.end - object.p > 2;
    }
    find_members(&all, object, specials, count, last);
    sink_char(s->out, '{');
    for (size_t i = 0;; i++) {
        if (i < all.kept_count) {
            m = all.kept[i];
        } else if (!splice_next_member(&all.rest, specials, count, &m)) {
            return comma;
        }
        if (m.special < count && !specials[m.special].write) {
            continue;
        }
        if (comma) {
            sink_char(s->out, ',');
        }
        comma = true;
        write_value(s, m.key);
        sink_char(s->out, ':');
        if (m.special < count && m.value.p == last[m.special]) {
            specials[m.special].write(s, m.value, 0);
        } else {
            write_value(s, m.value);
        }
    }
}

/* Writes an array, passing each object among its first `count` elements to `write`; a value that is
 * no array is copied. */
static void write_list(struct splicer *s, struct span array, size_t count, write_special write) {
    struct span rest = array, value;
    if (array.p == array.end || *array.p != '[') {
        write_value(s, array);
        return;
    }
    sink_char(s->out, '[');
    for (size_t i = 0; span_next(&rest, NULL, &value); i++) {
        if (i > 0) {
            sink_char(s->out, ',');
        }
        if (i < count && value.p < value.end && *value.p == '{') {
            write(s, value, i);
        } else {
            write_value(s, value);
        }
    }
    sink_char(s->out, ']');
}

/* ---- the values that are spliced in ---- */

/* Size in bytes of a buffer that collects numbers, of which most of the output consists, before
 * they go to the sink. */
enum { PIECE = 512 };

static char *splice_put_text(char *out, const char *text) {
    size_t len = strlen(text);
    memcpy(out, text, len);
    return out + len;
}

/* Writes a decimal number of at most DECIMAL_MAX + 1 bytes and returns its end. */
static char *put_i64(char *out, int64_t v) {
    if (v < 0) {
        *out++ = '-';
    }
    return out + decimal_put(out, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v);
}

static void write_indexes(struct sink *out, const uint32_t *indexes, size_t count) {
    char text[PIECE], *p = text;
    *p++ = '[';
    for (size_t i = 0; i < count; i++) {
        if (p - text > PIECE - DECIMAL_MAX - 2) {
            sink_write(out, text, (size_t)(p - text));
            p = text;
        }
        if (i > 0) {
            *p++ = ',';
        }
        p += decimal_put(p, indexes[i]);
    }
    *p++ = ']';
    sink_write(out, text, (size_t)(p - text));
}

/* Writes the name of an added member, after a comma if one is needed. */
static void write_key(struct splicer *s, bool *comma, const char *name) {
    if (*comma) {
        sink_char(s->out, ',');
    }
    *comma = true;
    jsonw_escape(s->out, name, strlen(name));
    sink_char(s->out, ':');
}

static void write_stack(struct splicer *s, struct span object, const struct dump_stack *stack,
                        const uint32_t *locations) {
    static const struct special drop[] = {{"locations", NULL}};
    if (!locations && stack->frame_count) {
        write_value(s, object);
        return;
    }
    bool comma = write_members(s, object, drop, 1);
    write_key(s, &comma, "locations");
    write_indexes(s->out, locations, stack->frame_count);
    sink_char(s->out, '}');
}

static void write_thread(struct splicer *s, struct span object, size_t index) {
    write_stack(s, object, &s->d->threads[index].stack, s->add->thread_locations[index]);
}

static void write_sample(struct splicer *s, struct span object, size_t index) {
    write_stack(s, object, &s->d->samples[index], s->add->sample_locations[index]);
}

static void splice_write_image(struct splicer *s, struct span object, size_t index) {
    static const struct special drop[] = {{"symbols", NULL}, {"symbols_file", NULL}};
    enum dump_symbols symbols = s->add->image_symbols[index];
    const char *file = s->add->image_files ? s->add->image_files[index] : NULL;
    bool comma = write_members(s, object, drop, 2);
    if (symbols != DUMP_SYMBOLS_UNSET) {
        const char *text = dump_symbols_text(symbols);
        write_key(s, &comma, "symbols");
        jsonw_escape(s->out, text, strlen(text));
    }
    if (file) {
        write_key(s, &comma, "symbols_file");
        jsonw_escape(s->out, file, strlen(file));
    }
    sink_char(s->out, '}');
}

static void splice_write_images(struct splicer *s, struct span array, size_t index) {
    (void)index;
    write_list(s, array, s->add->image_symbols ? s->d->image_count : 0, splice_write_image);
}

static void splice_write_threads(struct splicer *s, struct span array, size_t index) {
    (void)index;
    write_list(s, array, s->add->thread_locations ? s->d->thread_count : 0, write_thread);
}

static void write_stacks(struct splicer *s, struct span array, size_t index) {
    (void)index;
    write_list(s, array, s->add->sample_locations ? s->d->sample_count : 0, write_sample);
}

static void splice_write_samples(struct splicer *s, struct span object, size_t index) {
    static const struct special specials[] = {{"stacks", write_stacks}};
    (void)index;
    if (object.p == object.end || *object.p != '{') {
        write_value(s, object);
        return;
    }
    write_members(s, object, specials, 1);
    sink_char(s->out, '}');
}

/* ---- strings and locations ---- */

/* Writes the string's number in the table to *number, -1 for NULL; false: out of memory. */
static bool intern(struct splicer *s, const char *text, int64_t *number) {
    *number = -1;
    if (!text) {
        return true;
    }
    struct known_text *known = &s->known[hash_u64((uint64_t)(uintptr_t)text) % KNOWN_TEXTS];
    if (known->text != text) {
        *known = (struct known_text){text, map_intern(&s->strings, text, strlen(text))};
    }
    *number = (int64_t)known->number;
    return known->number != SIZE_MAX;
}

/* Interns all strings before anything is written, so that a lack of memory leaves no half-written
 * line. */
static bool intern_all(struct splicer *s) {
    size_t lines = 0;
    for (size_t i = 0; i < s->add->location_count; i++) {
        lines += s->add->locations[i].line_count;
    }
    int64_t *names = s->names = calloc(lines + 1, LINE_NAMES * sizeof *names);
    for (size_t i = 0; names && i < s->add->location_count; i++) {
        const struct dump_location *location = &s->add->locations[i];
        for (size_t k = 0; k < location->line_count; k++, names += LINE_NAMES) {
            const struct dump_line *line = &location->lines[k];
            if (!intern(s, line->function, &names[0]) || !intern(s, line->linkage, &names[1]) ||
                !intern(s, line->file, &names[2])) {
                return false;
            }
        }
    }
    return names != NULL;
}

static void write_strings(struct splicer *s) {
    struct jsonw w = jsonw_init(s->out);
    jsonw_begin_array(&w);
    for (size_t i = 0; i < s->strings.count; i++) {
        jsonw_str(&w, s->strings.entries[i].key, s->strings.entries[i].len);
    }
    jsonw_end_array(&w);
}

/* Writes a source line as [function, linkage, file, line, column]; names has the string numbers of
 * its first three elements. */
static void splice_write_line(struct sink *out, const struct dump_line *line, const int64_t *names,
                              bool first) {
    char text[PIECE], *p = splice_put_text(text, first ? "[" : ",[");
    for (size_t k = 0; k < LINE_NAMES; k++) {
        p = put_i64(p, names[k]);
        *p++ = ',';
    }
    p += decimal_put(p, line->line);
    *p++ = ',';
    p += decimal_put(p, line->column);
    *p++ = ']';
    sink_write(out, text, (size_t)(p - text));
}

/* Writes a location; names has the string numbers of its lines, LINE_NAMES for each. */
static void write_location(struct sink *out, const struct dump_location *location,
                           const int64_t *names) {
    char text[PIECE], *p = splice_put_text(text, "{\"image\":");
    p = put_i64(p, location->image);
    p = splice_put_text(p, ",\"offset\":");
    p += decimal_put(p, location->offset);
    p = splice_put_text(p, ",\"start\":");
    p += decimal_put(p, location->start);
    p = splice_put_text(p, ",\"lines\":[");
    sink_write(out, text, (size_t)(p - text));
    for (size_t i = 0; i < location->line_count; i++, names += LINE_NAMES) {
        splice_write_line(out, &location->lines[i], names, i == 0);
    }
    p = splice_put_text(text, "],\"source\":\"");
    p = splice_put_text(p, dump_source_text(location->source));
    p = splice_put_text(p, location->in_app ? "\",\"in_app\":true}" : "\"}");
    sink_write(out, text, (size_t)(p - text));
}

static void write_locations(struct splicer *s) {
    const int64_t *names = s->names;
    sink_char(s->out, '[');
    for (size_t i = 0; i < s->add->location_count; i++) {
        if (i > 0) {
            sink_char(s->out, ',');
        }
        write_location(s->out, &s->add->locations[i], names);
        names += LINE_NAMES * s->add->locations[i].line_count;
    }
    sink_char(s->out, ']');
}

enum st dump_write_spliced(const struct dump *d, const struct dump_addition *add, struct sink *out,
                           struct err *e) {
    static const struct special specials[] = {{"strings", NULL},
                                              {"locations", NULL},
                                              {"images", splice_write_images},
                                              {"threads", splice_write_threads},
                                              {"samples", splice_write_samples}};
    struct splicer s = {.d = d, .add = add, .out = out};
    enum st st = intern_all(&s) ? ST_OK : err_nomem(e);
    if (st == ST_OK) {
        struct span document = {d->text, d->text + d->text_len};
        span_skip_space(&document);
        bool comma = write_members(&s, document, specials, sizeof specials / sizeof *specials);
        write_key(&s, &comma, "strings");
        write_strings(&s);
        write_key(&s, &comma, "locations");
        write_locations(&s);
        sink_str(out, "}\n");
    }
    free(s.names);
    map_release(&s.strings);
    return st;
}

void dump_write_raw(const struct dump *d, struct sink *out) {
    struct span document = {d->text, d->text + d->text_len};
    span_write_compact(document, out);
    sink_char(out, '\n');
}
