/* Writes a dump's own text with what symbolication found spliced in. The text is walked, not
 * rebuilt: a member that we do not know comes out byte for byte, and only white space between
 * tokens goes.
 *
 *     {…, "images":[{…, +symbols, +symbols_file}, …],
 *         "threads":[{…, +locations}, …], "samples":{…, "stacks":[{…, +locations}, …]},
 *         +strings, +locations}
 *
 * Members of these names that were there before are dropped. Where JSON text has a member twice,
 * the last one counts, as it does for Jansson. */
#include "dump/dump.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/map.h"
#include "dump/dump_scan_private.h"

struct splicer {
    const struct dump *d;
    const struct dump_addition *add;
    struct sink *out;
    struct map strings;
    bool no_memory;
};

/* Writes a value without the white space between its tokens. */
static void write_value(struct splicer *s, struct span value) {
    const char *run = value.p;
    while (value.p < value.end) {
        char c = *value.p;
        if (c == '"') {
            (void)span_value(&value);
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            sink_write(s->out, run, (size_t)(value.p - run));
            run = ++value.p;
        } else {
            value.p++;
        }
    }
    sink_write(s->out, run, (size_t)(value.end - run));
}

/* ---- objects and arrays, with some members treated specially ---- */

/* Writes the value of a special member (a list's element number, or 0). */
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

/* Writes an object up to its closing brace, which is left to the caller who may add members.
 * Returns whether the next member needs a comma. */
static bool write_members(struct splicer *s, struct span object, const struct special *specials,
                          size_t count) {
    const char *last[SPECIALS_MAX] = {NULL}; /* where the member that counts has its value */
    struct span key, value;
    for (struct span rest = object; span_next(&rest, &key, &value);) {
        size_t i = find_special(key, specials, count);
        if (i < count) {
            last[i] = value.p;
        }
    }
    bool comma = false;
    sink_char(s->out, '{');
    for (struct span rest = object; span_next(&rest, &key, &value);) {
        size_t i = find_special(key, specials, count);
        if (i < count && !specials[i].write) {
            continue;
        }
        if (comma) {
            sink_char(s->out, ',');
        }
        comma = true;
        write_value(s, key);
        sink_char(s->out, ':');
        if (i < count && value.p == last[i]) {
            specials[i].write(s, value, 0);
        } else {
            write_value(s, value);
        }
    }
    return comma;
}

/* Writes an array of objects, each through `write`; whatever is no array stays as it is. */
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

/* ---- what is spliced in ---- */

/* The name of a member that we add. */
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
    struct jsonw w = jsonw_init(s->out);
    jsonw_begin_array(&w);
    for (size_t i = 0; i < stack->frame_count; i++) {
        jsonw_u64(&w, locations[i]);
    }
    jsonw_end_array(&w);
    sink_char(s->out, '}');
}

static void write_thread(struct splicer *s, struct span object, size_t index) {
    write_stack(s, object, &s->d->threads[index].stack, s->add->thread_locations[index]);
}

static void write_sample(struct splicer *s, struct span object, size_t index) {
    write_stack(s, object, &s->d->samples[index], s->add->sample_locations[index]);
}

static void write_image(struct splicer *s, struct span object, size_t index) {
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

static void write_images(struct splicer *s, struct span array, size_t index) {
    (void)index;
    write_list(s, array, s->add->image_symbols ? s->d->image_count : 0, write_image);
}

static void write_threads(struct splicer *s, struct span array, size_t index) {
    (void)index;
    write_list(s, array, s->add->thread_locations ? s->d->thread_count : 0, write_thread);
}

static void write_stacks(struct splicer *s, struct span array, size_t index) {
    (void)index;
    write_list(s, array, s->add->sample_locations ? s->d->sample_count : 0, write_sample);
}

static void write_samples(struct splicer *s, struct span object, size_t index) {
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

static int64_t intern(struct splicer *s, const char *text) {
    if (!text) {
        return -1;
    }
    size_t index = map_intern(&s->strings, text, strlen(text));
    s->no_memory = s->no_memory || index == SIZE_MAX;
    return index == SIZE_MAX ? -1 : (int64_t)index;
}

/* Before anything is written, so that running out of memory leaves no half a line. */
static void intern_all(struct splicer *s) {
    for (size_t i = 0; i < s->add->location_count; i++) {
        const struct dump_location *location = &s->add->locations[i];
        for (size_t k = 0; k < location->line_count; k++) {
            intern(s, location->lines[k].function);
            intern(s, location->lines[k].linkage);
            intern(s, location->lines[k].file);
        }
    }
}

static void write_strings(struct splicer *s) {
    struct jsonw w = jsonw_init(s->out);
    jsonw_begin_array(&w);
    for (size_t i = 0; i < s->strings.count; i++) {
        jsonw_str(&w, s->strings.entries[i].key, s->strings.entries[i].len);
    }
    jsonw_end_array(&w);
}

static void write_location(struct splicer *s, struct jsonw *w,
                           const struct dump_location *location) {
    jsonw_begin_object(w);
    jsonw_key(w, "image");
    jsonw_i64(w, location->image);
    jsonw_key(w, "offset");
    jsonw_u64(w, location->offset);
    jsonw_key(w, "start");
    jsonw_u64(w, location->start);
    jsonw_key(w, "lines");
    jsonw_begin_array(w);
    for (size_t i = 0; i < location->line_count; i++) {
        const struct dump_line *line = &location->lines[i];
        jsonw_begin_array(w);
        jsonw_i64(w, intern(s, line->function));
        jsonw_i64(w, intern(s, line->linkage));
        jsonw_i64(w, intern(s, line->file));
        jsonw_u64(w, line->line);
        jsonw_u64(w, line->column);
        jsonw_end_array(w);
    }
    jsonw_end_array(w);
    jsonw_key(w, "source");
    jsonw_cstr(w, dump_source_text(location->source));
    jsonw_end_object(w);
}

enum st dump_write_spliced(const struct dump *d, const struct dump_addition *add, struct sink *out,
                           struct err *e) {
    static const struct special specials[] = {{"strings", NULL},
                                              {"locations", NULL},
                                              {"images", write_images},
                                              {"threads", write_threads},
                                              {"samples", write_samples}};
    struct splicer s = {.d = d, .add = add, .out = out};
    intern_all(&s);
    if (s.no_memory) {
        map_release(&s.strings);
        return err_nomem(e);
    }
    struct span document = {d->text, d->text + d->text_len};
    span_skip_space(&document);
    bool comma = write_members(&s, document, specials, sizeof specials / sizeof *specials);
    write_key(&s, &comma, "strings");
    write_strings(&s);
    write_key(&s, &comma, "locations");
    struct jsonw w = jsonw_init(out);
    jsonw_begin_array(&w);
    for (size_t i = 0; i < add->location_count; i++) {
        write_location(&s, &w, &add->locations[i]);
    }
    jsonw_end_array(&w);
    sink_str(out, "}\n");
    map_release(&s.strings);
    return ST_OK;
}
