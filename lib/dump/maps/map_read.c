/* Recognises and reads documents by a map. */
#include <string.h>

#include "base/parse.h"
#include "dump/dump.h"
#include "dump/json/scan_private.h"
#include "dump/maps/map_stacks.h"

/* ---- recognition ---- */

/* Checks a value on one of a need's paths. Returns false, which ends the walk, if the value
 * satisfies the need. */
static bool visit_need(void *ctx, struct span value) {
    const struct map_need *need = ctx;
    for (size_t i = 0; i < need->is.len; i++) {
        if (span_is(value, need->is.data[i])) {
            return false;
        }
    }
    return need->is.len > 0 || value.p == value.end || *value.p == 'n'; /* null counts as absent */
}

static bool need_holds(struct map_need *need, struct span object) {
    for (size_t i = 0; i < need->paths.len; i++) {
        if (!member_path_each_span(&need->paths.data[i], object, visit_need, need)) {
            return true;
        }
    }
    return false;
}

bool report_map_claims(const struct report_map *map, struct span object) {
    for (size_t i = 0; i < map->needs.len; i++) {
        if (!need_holds(&map->needs.data[i], object)) {
            return false;
        }
    }
    return true;
}

/* Is the object one of Stallkit's own records? These have a "format" that begins with "stall-". */
static bool is_own_record(struct span object) {
    static const char mark[] = "\"stall-";
    struct span key, value;
    while (span_next(&object, &key, &value)) {
        if (span_is(key, "format")) {
            return (size_t)(value.end - value.p) > sizeof mark &&
                   memcmp(value.p, mark, sizeof mark - 1) == 0;
        }
    }
    return false;
}

const struct report_map *report_maps_find(const struct report_maps *maps, enum map_origin origin,
                                          struct span object) {
    if (!maps) {
        return NULL;
    }
    size_t from = origin == MAP_BUILTIN ? maps->user_count : 0;
    size_t to = origin == MAP_BUILTIN ? maps->list.len : maps->user_count;
    if (from == to || is_own_record(object)) {
        return NULL;
    }
    for (size_t i = from; i < to; i++) {
        if (report_map_claims(maps->list.data[i], object)) {
            return maps->list.data[i];
        }
    }
    return NULL;
}

/* ---- one dump ---- */

/* Converts a text that report_time reads, or a count of seconds, milliseconds or microseconds since
 * 1970, which may have a fraction, for the draft; NULL: text is NULL or no such time. */
static const char *map_time(struct report *r, const char *text) {
    uint64_t number;
    if (!text) {
        return NULL;
    }
    size_t whole = strspn(text, "0123456789");
    bool fraction = text[whole] == '.';
    if (whole == 0 || (text[whole] != '\0' && !fraction) ||
        !parse_u64(text, whole, UINT64_MAX, &number)) {
        return report_time(r, text);
    }
    enum { SECONDS_DIGITS = 10 };
    if (fraction && whole <= SECONDS_DIGITS) {
        number *= 1000;
        uint64_t scale = 100;
        for (const char *p = text + whole + 1; *p >= '0' && *p <= '9'; p++, scale /= 10) {
            number += (uint64_t)(*p - '0') * scale;
        }
    }
    return report_unix_time(r, number);
}

static const char *map_os(struct report *r, const char *text) {
    report_os(r, text);
    return r->os;
}

/* Returns the model. If it begins with the name of a family of Apple's and its first '_' is
 * followed by digits alone, a comma replaces the '_', because App Store Connect writes "iPhone13_3"
 * for Apple's "iPhone13,3". */
static const char *map_model(struct report *r, const char *text) {
    static const char *const families[] = {"iPhone", "iPad",  "iPod",    "Mac",
                                           "iMac",   "Watch", "AppleTV", "RealityDevice"};
    const char *mark = text ? strchr(text, '_') : NULL;
    const size_t digits = mark ? strspn(mark + 1, "0123456789") : 0;
    for (size_t i = 0;
         digits > 0 && mark[1 + digits] == 0 && i < sizeof families / sizeof *families; i++) {
        if (strncmp(text, families[i], strlen(families[i])) == 0) {
            return report_join(r, report_text(r, text, (size_t)(mark - text)), ",", mark + 1);
        }
    }
    return text;
}

static void map_read_head(struct report *r, const struct report_map *m, const json_t *o) {
    const char *os = map_field_string(r, m, FIELD_OS, o);
    r->id = map_field_string(r, m, FIELD_ID, o);
    r->time = map_time(r, map_field_string(r, m, FIELD_TIME, o));
    r->user = map_field_string(r, m, FIELD_USER, o);
    r->app_id = map_field_string(r, m, FIELD_APP_ID, o);
    r->app_version = map_field_string(r, m, FIELD_APP_VERSION, o);
    r->app_build = map_field_string(r, m, FIELD_APP_BUILD, o);
    r->model = map_model(r, map_field_string(r, m, FIELD_MODEL, o));
    r->os = map_os(r, os);
    const char *build = map_field_string(r, m, FIELD_OS_BUILD, o);
    r->os_build = build ? build : r->os_build;
    const char *arch = map_field_string(r, m, FIELD_ARCH, o), *known = report_code_type(arch);
    r->arch = known ? known : arch;
    r->thermal = map_field_string(r, m, FIELD_THERMAL, o);
    for (size_t i = 0; i < m->context.len; i++) {
        const struct map_context *c = &m->context.data[i];
        const struct report_context member = {c->name, map_context_string(r, c, o)};
        if (member.value && !VEC_PUSH(&r->context, member)) {
            r->no_memory = true;
        }
    }
}

static void map_read_stall(struct report *r, const struct report_map *m, const json_t *o) {
    const char *kind = map_field_string(r, m, FIELD_KIND, o);
    r->kind = kind ? kind : "crash"; /* a crash is never ranked as a stall */
    r->detector = m->name;
    r->activity = map_field_string(r, m, FIELD_ACTIVITY, o);
    r->app_state = map_field_string(r, m, FIELD_APP_STATE, o);
    r->reason = map_field_string(r, m, FIELD_REASON, o);
    r->threshold_ms = map_field_ms(r, m, FIELD_THRESHOLD, o);
    r->at_ms = map_field_ms(r, m, FIELD_AT, o);
    r->duration_ms = map_field_ms(r, m, FIELD_DURATION, o);
    r->cpu_ms = map_field_ms(r, m, FIELD_CPU, o);
    r->since_launch_ms = map_field_ms(r, m, FIELD_SINCE_LAUNCH, o);
    r->fatal = map_field_true(r, m, FIELD_FATAL, o);
    r->ended = map_field_true(r, m, FIELD_ENDED, o);
}

/* A walk over the images or threads of a document. */
struct object_walk {
    struct map_stacks *s;
    bool threads, first_source;
    uint64_t index; /* number of values visited so far, objects or not */
    enum st st;
};

static bool visit_object(void *ctx, const json_t *value) {
    struct object_walk *walk = ctx;
    const uint64_t index = walk->index++;
    if (json_is_object(value)) {
        walk->st = walk->threads ? map_stacks_add_thread(walk->s, value, walk->first_source)
                                 : map_stacks_add_image(walk->s, value, index);
    }
    return walk->st == ST_OK;
}

static enum st walk_objects(struct map_stacks *s, const struct map_paths *paths, bool threads,
                            const json_t *o) {
    struct object_walk walk = {.s = s, .threads = threads, .st = ST_OK};
    for (size_t i = 0; i < paths->len; i++) {
        walk.first_source = s->threads.len == 0;
        if (!member_path_each(&paths->data[i], o, visit_object, &walk)) {
            return walk.st;
        }
    }
    return ST_OK;
}

static enum st map_fill(struct map_stacks *s, const json_t *o) {
    struct report *r = s->r;
    map_read_head(r, s->map, o);
    map_read_stall(r, s->map, o);
    s->per_thread = map_field_true(r, s->map, FIELD_SAMPLES_PER_THREAD, o);
    enum st st = walk_objects(s, &s->map->images, false, o);
    if (st == ST_OK) {
        st = walk_objects(s, &s->map->threads, true, o);
    }
    return st == ST_OK ? map_stacks_finish(s, map_field_string(r, s->map, FIELD_APP_UUID, o),
                                           map_field_string(r, s->map, FIELD_APP_PATH, o))
                       : st;
}

/* ---- documents ---- */

/* A document whose objects are being converted to dumps. */
struct map_document {
    const struct report_map *map;
    const struct report_document *d;
    uint64_t taken, seen;
    enum st st;
    struct err *e;
};

static enum st map_read_dump(struct map_document *m, struct span text, const json_t *o,
                             struct err *e) {
    struct report r;
    report_init(&r, m->map->name, m->taken, e);
    report_keep(&r, "document", text, false);
    struct map_stacks s = {.r = &r, .map = m->map};
    enum st st = map_fill(&s, o);
    if (st == ST_OK) {
        st = report_finish(&r, m->d);
    }
    if (st == ST_ERR && r.no_memory) {
        err_nomem(e); /* the walk that failed has set only r.no_memory, not the error */
    }
    map_stacks_release(&s);
    report_release(&r);
    m->taken += st == ST_OK;
    return st;
}

/* Converts one object to a dump. A fault in this object, other than a lack of memory, does not stop
 * the conversion of the other objects. */
static bool visit_dump(void *ctx, struct span text) {
    struct map_document *m = ctx;
    struct err why = {0};
    json_t *root = NULL;
    uint64_t at = m->seen++;
    enum st st = report_load(text, &root, &why);
    if (st == ST_OK && !json_is_object(root)) {
        st = ST_NONE;
    }
    if (st == ST_OK) {
        st = map_read_dump(m, text, root, &why);
    }
    json_decref(root);
    if (st == ST_ERR) {
        if (m->map->each.len > 0) {
            (void)err_context(&why, "%s %llu", m->map->name, (unsigned long long)at);
        }
        m->st = err_copy(m->e, &why);
    }
    return why.code != ERR_NOMEM;
}

enum st report_map_read(const struct report_map *map, const struct report_document *d,
                        struct err *e) {
    struct map_document m = {.map = map, .d = d, .st = ST_OK, .e = e};
    if (map->each.len == 0) {
        (void)visit_dump(&m, d->text);
    } else if (scan_check(d->text.p, (size_t)(d->text.end - d->text.p), REPORT_DEPTH_MAX, e) !=
               ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < map->each.len && m.seen == 0; i++) {
        if (!member_path_each_span(&map->each.data[i], d->text, visit_dump, &m)) {
            break;
        }
    }
    if (m.st == ST_OK && m.taken == 0) {
        return err_set(e, ERR_FORMAT, "a '%s' document without a report", map->name);
    }
    return m.st;
}
