/* Writes a dump's own text without the members that commands on a host add: the names and files of
 * dump_write_spliced, and the class of stallclassify --annotate. */
#include "dump/dump_captured_private.h"

#include <string.h>

#include "dump/json/span_private.h"

/* A member that commands add to a dump, or a member of whose objects some members are added by
 * commands. A list ends with an element that has no name. */
struct added_member {
    struct tape_name name;
    /* The list for the objects inside of this member, which itself stays; NULL = the whole member
     * is dropped. */
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

/* Writes an object without the members in `added`; any other value is written whole. The recursion
 * is at most as deep as the constant lists above. */
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

/* Writes the text from its opening bracket to its closing one, without the parts that the cuts
 * name. */
static void write_uncut(const struct dump *d, struct span document, struct sink *out) {
    for (size_t i = 0; i < d->cut_count; i++) {
        const char *from = d->text + d->cuts[i].from;
        sink_write(out, document.p, (size_t)(from - document.p));
        document.p = d->text + d->cuts[i].to;
    }
    sink_write(out, document.p, (size_t)(document.end - document.p));
}

/* Returns the text without the white space around it. */
static struct span trimmed_text(const struct dump *d) {
    struct span document = {d->text, d->text + d->text_len};
    span_skip_space(&document);
    while (document.end > document.p && (unsigned char)document.end[-1] <= ' ') {
        document.end--;
    }
    return document;
}

void dump_write_captured(const struct dump *d, struct sink *out) {
    struct span document = trimmed_text(d);
    if (d->cuts) {
        write_uncut(d, document, out);
    } else {
        write_object(document, in_dump, out);
    }
}

/* ---- finding the cuts ---- */

/* The state of finding, from the tape alone, the parts of the text that write_object would drop.
 * The tape has no ends of values; but if no white space stands between tokens, each value ends one
 * byte before the next one begins. */
struct cut_search {
    const struct tape *t;
    struct captured_cuts *found;
    uint64_t added; /* bytes of the dropped members, with their commas */
    bool no_memory;
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

static void add_cut(struct cut_search *s, size_t from, size_t to) {
    struct captured_cuts *found = s->found;
    struct dump_cut *last = found->cuts.len ? &found->cuts.data[found->cuts.len - 1] : NULL;
    s->added += to - from;
    if (last && last->to == from) {
        last->to = (uint32_t)to;
    } else if (!VEC_PUSH(&found->cuts, (struct dump_cut){(uint32_t)from, (uint32_t)to})) {
        s->no_memory = true;
    }
}

static void cut_object(struct cut_search *s, const struct tape_value *object, size_t end,
                       const struct added_member *added);

/* Finds the cuts in an array of objects, or in one object, for write_objects; end: offset of the
 * byte after the value. */
static void cut_objects(struct cut_search *s, const struct tape_value *value, size_t end,
                        const struct added_member *added) {
    if (!tape_is(value, VALUE_ARRAY)) {
        cut_object(s, value, end, added);
        return;
    }
    const struct tape_value *next, *last = tape_end(value);
    for (const struct tape_value *v = tape_first(value); v < last; v = next) {
        next = tape_next(v);
        cut_object(s, v, next < last ? tape_start(next) - 1 : end - 1, added);
    }
}

/* Finds the members that write_object drops; end: offset of the byte after the object. A dropped
 * member goes with the comma before it, or, before the first kept one, with the comma after it. */
static void cut_object(struct cut_search *s, const struct tape_value *object, size_t end,
                       const struct added_member *added) {
    const struct tape_value *next, *last = tape_end(object);
    size_t kept = 0, count = count_added(added);
    if (!tape_is(object, VALUE_OBJECT)) {
        return;
    }
    for (const struct tape_value *key = tape_first(object); key < last; key = next) {
        next = tape_next(key + 1);
        size_t stop = next < last ? tape_start(next) : end;
        size_t which = tape_which(s->t, key, added, count, sizeof *added, 0);
        if (which < count && !added[which].inside) {
            size_t comma = kept > 0;
            add_cut(s, tape_start(key) - comma, stop - (next < last ? comma : 1));
            continue;
        }
        kept++;
        if (which < count) {
            cut_objects(s, key + 1, stop - 1, added[which].inside);
        }
    }
}

enum st dump_find_captured(struct dump *d, const struct tape *t, struct captured_cuts *room,
                           struct err *e) {
    struct span document = trimmed_text(d);
    if (t->spaced) {
        struct sink sink = sink_to_nowhere();
        write_object(document, in_dump, &sink);
        d->captured_size = sink.total;
        return ST_OK;
    }
    struct cut_search s = {.t = t, .found = room};
    room->cuts.len = 0;
    cut_object(&s, t->values.data, (size_t)(document.end - d->text), in_dump);
    struct dump_cut *cuts = arena_array(&d->arena, room->cuts.len + 1, sizeof *cuts);
    if (s.no_memory || !cuts) {
        return err_nomem(e);
    }
    if (room->cuts.len > 0) {
        memcpy(cuts, room->cuts.data, room->cuts.len * sizeof *cuts);
    }
    d->cuts = cuts;
    d->cut_count = room->cuts.len;
    d->captured_size = (uint64_t)(document.end - document.p) - s.added;
    return ST_OK;
}
