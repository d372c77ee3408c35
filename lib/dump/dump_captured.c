/* Writes a dump's own text without the members that commands on a host add: the names and files of
 * dump_write_spliced, and the class of stallclassify --annotate. */
#include "dump/dump_captured_private.h"

#include "dump/json/span_private.h"

/* A member that commands add to a dump, or inside of whose objects they add members. A list ends
 * with an element that has no name. */
struct added_member {
    struct tape_name name;
    /* Members that are dropped from the objects inside of this member; NULL = the whole member is
     * dropped. */
    const struct added_member *inside;
};

static const struct added_member in_stack[] = {{TAPE_NAME("locations"), NULL}, {{NULL, 0}, NULL}};
static const struct added_member in_image[] = {
    {TAPE_NAME("symbols"), NULL}, {TAPE_NAME("symbols_file"), NULL}, {{NULL, 0}, NULL}};
static const struct added_member in_samples[] = {{TAPE_NAME("stacks"), in_stack},
                                                 {{NULL, 0}, NULL}};
static const struct added_member in_dump[] = {{TAPE_NAME("strings"), NULL},
                                              {TAPE_NAME("locations"), NULL},
                                              {TAPE_NAME("class"), NULL},
                                              {TAPE_NAME("images"), in_image},
                                              {TAPE_NAME("threads"), in_stack},
                                              {TAPE_NAME("samples"), in_samples},
                                              {{NULL, 0}, NULL}};

/* ---- writing ---- */

static const struct added_member *find_added(const struct added_member *added, struct span key) {
    while (added->name.text && !span_is(key, added->name.text)) {
        added++;
    }
    return added->name.text ? added : NULL;
}

static void write_object(struct span value, const struct added_member *added, struct sink *out);

/* Writes each object of an array, or one object, without the members in `added`. */
static void write_objects(struct span value, const struct added_member *added, struct sink *out) {
    struct span element;
    if (value.p == value.end || *value.p != '[') {
        write_object(value, added, out);
        return;
    }
    sink_char(out, '[');
    for (bool comma = false; span_next(&value, NULL, &element); comma = true) {
        sink_str(out, comma ? "," : "");
        write_object(element, added, out);
    }
    sink_char(out, ']');
}

/* Writes an object without the members in `added`, any other value whole. The recursion is as
 * deep as the lists above. */
static void write_object(struct span value, const struct added_member *added, struct sink *out) {
    struct span key, member;
    bool comma = false;
    if (value.p == value.end || *value.p != '{') {
        span_write_compact(value, out);
        return;
    }
    sink_char(out, '{');
    while (span_next(&value, &key, &member)) {
        const struct added_member *a = find_added(added, key);
        if (a && !a->inside) {
            continue;
        }
        sink_str(out, comma ? "," : "");
        comma = true;
        span_write_compact(key, out);
        sink_char(out, ':');
        if (a) {
            write_objects(member, a->inside, out);
        } else {
            span_write_compact(member, out);
        }
    }
    sink_char(out, '}');
}

void dump_write_captured(const struct dump *d, struct sink *out) {
    struct span document = {d->text, d->text + d->text_len};
    span_skip_space(&document);
    write_object(document, in_dump, out);
}

/* ---- measuring ---- */

/* Measures what write_object would drop, from the tape alone. The tape has no ends of values;
 * but where no white space stands between tokens, each value ends one byte before the next one
 * begins. */
struct measure {
    const struct tape *t;
    uint64_t added; /* bytes of the dropped members, with their commas */
};

static size_t tape_start(const struct tape_value *v) {
    return v->at - (size_t)tape_is_string(v);
}

static size_t count_added(const struct added_member *added) {
    size_t count = 0;
    while (added[count].name.text) {
        count++;
    }
    return count;
}

static void measure_object(struct measure *m, const struct tape_value *object, size_t end,
                           const struct added_member *added);

/* Measures an array of objects, or one object, for write_objects; end: offset of the byte after the
 * value. */
static void measure_objects(struct measure *m, const struct tape_value *value, size_t end,
                            const struct added_member *added) {
    if (!tape_is(value, VALUE_ARRAY)) {
        measure_object(m, value, end, added);
        return;
    }
    const struct tape_value *next, *last = tape_end(value);
    for (const struct tape_value *v = tape_first(value); v < last; v = next) {
        next = tape_next(v);
        measure_object(m, v, next < last ? tape_start(next) - 1 : end - 1, added);
    }
}

/* Adds to m->added the bytes of the members that write_object drops; end: offset of the byte after
 * the object. */
static void measure_object(struct measure *m, const struct tape_value *object, size_t end,
                           const struct added_member *added) {
    const struct tape_value *next, *last = tape_end(object);
    size_t kept = 0, dropped = 0, count = count_added(added);
    if (!tape_is(object, VALUE_OBJECT)) {
        return;
    }
    for (const struct tape_value *key = tape_first(object); key < last; key = next) {
        next = tape_next(key + 1);
        size_t stop = next < last ? tape_start(next) : end;
        size_t which = tape_which(m->t, key, added, count, sizeof *added, 0);
        if (which == count) {
            kept++;
        } else if (added[which].inside) {
            kept++;
            measure_objects(m, key + 1, stop - 1, added[which].inside);
        } else {
            dropped++;
            m->added += stop - tape_start(key);
        }
    }
    /* Without a member before it, the first dropped member has no comma. */
    m->added -= dropped > 0 && kept == 0;
}

uint64_t dump_captured_size(const struct tape *t, size_t len) {
    struct measure m = {.t = t};
    const struct tape_value *root = t->values.data;
    const char *end = t->text + len;
    while (end > t->text && (unsigned char)end[-1] <= ' ') {
        end--;
    }
    if (!t->spaced) {
        measure_object(&m, root, (size_t)(end - t->text), in_dump);
        return (uint64_t)(end - t->text) - root->at - m.added;
    }
    struct sink sink = sink_to_nowhere();
    write_object((struct span){t->text + root->at, end}, in_dump, &sink);
    return sink.total;
}
