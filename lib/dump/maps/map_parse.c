/* Parses the language of maps, stall-map(5): one statement a line.
 *
 *   map shop
 *   needs main_stack hang_ms
 *   order innermost-first
 *   threads main_stack | stacks.*
 *   frames frames.*
 *   frame.address pc in hex
 *   stall.kind type as freeze = hang, * = crash
 *   stall.duration_ms hang_ms | hang_s in s
 */
#include <string.h>

#include "base/parse.h"
#include "dump/maps/map_words.h"

enum { MAP_TEXT_MAX = 256 * 1024, MAP_LINE_MAX = 4096, MAP_NAME_MAX = 32 };

/* The type of value that a field takes. */
enum field_type { TYPE_TEXT, TYPE_NUMBER, TYPE_MS, TYPE_FLAG, TYPE_KIND };

static const struct field_name {
    const char *name;
    enum field_type type;
} field_names[MAP_FIELDS] = {
    [FIELD_ID] = {"id", TYPE_TEXT},
    [FIELD_TIME] = {"time", TYPE_TEXT},
    [FIELD_USER] = {"user", TYPE_TEXT},
    [FIELD_APP_ID] = {"app.id", TYPE_TEXT},
    [FIELD_APP_VERSION] = {"app.version", TYPE_TEXT},
    [FIELD_APP_BUILD] = {"app.build", TYPE_TEXT},
    [FIELD_APP_UUID] = {"app.uuid", TYPE_TEXT},
    [FIELD_APP_PATH] = {"app.path", TYPE_TEXT},
    [FIELD_MODEL] = {"device.model", TYPE_TEXT},
    [FIELD_OS] = {"device.os", TYPE_TEXT},
    [FIELD_OS_BUILD] = {"device.os_build", TYPE_TEXT},
    [FIELD_ARCH] = {"device.arch", TYPE_TEXT},
    [FIELD_THERMAL] = {"device.thermal", TYPE_TEXT},
    [FIELD_KIND] = {"stall.kind", TYPE_KIND},
    [FIELD_ACTIVITY] = {"stall.activity", TYPE_TEXT},
    [FIELD_APP_STATE] = {"stall.app_state", TYPE_TEXT},
    [FIELD_REASON] = {"stall.reason", TYPE_TEXT},
    [FIELD_THRESHOLD] = {"stall.threshold_ms", TYPE_MS},
    [FIELD_AT] = {"stall.at_ms", TYPE_MS},
    [FIELD_DURATION] = {"stall.duration_ms", TYPE_MS},
    [FIELD_CPU] = {"stall.cpu_ms", TYPE_MS},
    [FIELD_SINCE_LAUNCH] = {"stall.since_launch_ms", TYPE_MS},
    [FIELD_FATAL] = {"stall.fatal", TYPE_FLAG},
    [FIELD_ENDED] = {"stall.ended", TYPE_FLAG},
    [FIELD_SAMPLES_PER_THREAD] = {"samples.per_thread", TYPE_FLAG},
    [FIELD_IMAGE_UUID] = {"image.uuid", TYPE_TEXT},
    [FIELD_IMAGE_BUILD_ID] = {"image.build_id", TYPE_TEXT},
    [FIELD_IMAGE_NAME] = {"image.name", TYPE_TEXT},
    [FIELD_IMAGE_PATH] = {"image.path", TYPE_TEXT},
    [FIELD_IMAGE_ARCH] = {"image.arch", TYPE_TEXT},
    [FIELD_IMAGE_LOAD] = {"image.load", TYPE_NUMBER},
    [FIELD_IMAGE_SIZE] = {"image.size", TYPE_NUMBER},
    [FIELD_IMAGE_IN_APP] = {"image.in_app", TYPE_FLAG},
    [FIELD_THREAD_ID] = {"thread.id", TYPE_NUMBER},
    [FIELD_THREAD_NAME] = {"thread.name", TYPE_TEXT},
    [FIELD_THREAD_MAIN] = {"thread.main", TYPE_FLAG},
    [FIELD_THREAD_CRASHED] = {"thread.crashed", TYPE_FLAG},
    [FIELD_THREAD_STATE] = {"thread.state", TYPE_TEXT},
    [FIELD_THREAD_WAITS_FOR] = {"thread.waits_for", TYPE_TEXT},
    [FIELD_THREAD_SAMPLES] = {"thread.samples", TYPE_NUMBER},
    [FIELD_FRAME_ADDRESS] = {"frame.address", TYPE_NUMBER},
    [FIELD_FRAME_OFFSET] = {"frame.offset", TYPE_NUMBER},
    [FIELD_FRAME_LOAD] = {"frame.load", TYPE_NUMBER},
    [FIELD_FRAME_UUID] = {"frame.uuid", TYPE_TEXT},
    [FIELD_FRAME_BUILD_ID] = {"frame.build_id", TYPE_TEXT},
    [FIELD_FRAME_IMAGE] = {"frame.image", TYPE_TEXT},
    [FIELD_FRAME_IMAGE_INDEX] = {"frame.image_index", TYPE_NUMBER},
    [FIELD_FRAME_SYMBOL] = {"frame.symbol", TYPE_TEXT},
    [FIELD_FRAME_SYMBOL_ADDRESS] = {"frame.symbol_address", TYPE_NUMBER},
    [FIELD_FRAME_SYMBOL_OFFSET] = {"frame.symbol_offset", TYPE_NUMBER},
    [FIELD_FRAME_FILE] = {"frame.file", TYPE_TEXT},
    [FIELD_FRAME_LINE] = {"frame.line", TYPE_NUMBER},
    [FIELD_FRAME_IN_APP] = {"frame.in_app", TYPE_FLAG},
};

/* ---- memory ---- */

static void paths_release(struct map_paths *paths) {
    VEC_RELEASE(paths);
}

static void source_release(struct map_source *s) {
    paths_release(&s->paths);
    VEC_RELEASE(&s->pairs);
    VEC_RELEASE(&s->is);
}

static void field_release(struct map_field *f) {
    for (size_t i = 0; i < f->sources.len; i++) {
        source_release(&f->sources.data[i]);
    }
    VEC_RELEASE(&f->sources);
}

void map_release_parts(struct report_map *map) {
    for (size_t i = 0; i < map->needs.len; i++) {
        paths_release(&map->needs.data[i].paths);
        VEC_RELEASE(&map->needs.data[i].is);
    }
    VEC_RELEASE(&map->needs);
    for (size_t f = 0; f < MAP_FIELDS; f++) {
        field_release(&map->fields[f]);
    }
    for (size_t i = 0; i < map->context.len; i++) {
        field_release(&map->context.data[i].field);
    }
    VEC_RELEASE(&map->context);
    paths_release(&map->each);
    paths_release(&map->images);
    paths_release(&map->threads);
    paths_release(&map->frames);
    paths_release(&map->trees);
}

/* ---- sources ---- */

static const struct unit_name {
    const char *name;
    enum map_unit unit;
} units[] = {{"ms", UNIT_MS},   {"ns", UNIT_NS},       {"us", UNIT_US},
             {"s", UNIT_S},     {"min", UNIT_MIN},     {"h", UNIT_H},
             {"ppm", UNIT_PPM}, {"words", UNIT_WORDS}, {"hex", UNIT_HEX}};

static enum st take_unit(struct map_parse *p, enum field_type type, struct map_source *s) {
    const struct map_word *w = map_next_word(p);
    size_t i;
    if (!w || !PARSE_WORD(w->text, w->len, units, &i)) {
        return map_fault(p, "not a unit (ms, ns, us, s, min, h, words, hex or ppm):", w);
    }
    bool number = units[i].unit == UNIT_HEX || units[i].unit == UNIT_PPM;
    if (type != (number ? TYPE_NUMBER : TYPE_MS)) {
        return map_fault(p, number ? "only addresses and numbers are in" : "only durations are in",
                         w);
    }
    s->unit = units[i].unit;
    return ST_OK;
}

static bool is_kind(const char *text) {
    static const char *const kinds[] = {"hang",     "launch",      "cpu",  "disk-write",
                                        "watchdog", "slow-action", "crash"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* Checks a value that the map gives for a field of this type. */
static enum st map_check_value(struct map_parse *p, enum field_type type, const char *text) {
    const struct map_word w = {text, strlen(text), false};
    uint64_t number;
    if (type == TYPE_KIND && !is_kind(text)) {
        return map_fault(
            p, "not a kind (hang, launch, cpu, disk-write, watchdog, slow-action or crash):", &w);
    }
    if (type == TYPE_FLAG && strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        return map_fault(p, "neither true nor false:", &w);
    }
    if ((type == TYPE_NUMBER || type == TYPE_MS) && !parse_address(text, w.len, &number)) {
        return map_fault(p, "not a number:", &w);
    }
    return ST_OK;
}

/* Parses the pairs after "as": PATTERN = VALUE [, PATTERN = VALUE]... */
static enum st take_pairs(struct map_parse *p, enum field_type type, struct map_source *s) {
    enum st st = ST_OK;
    do {
        struct map_pair pair = {0};
        st = map_take_value(p, "'as' needs a pattern", &pair.pattern);
        if (st == ST_OK && !map_take_word(p, "=")) {
            st = map_fault(p, "'=' and a value are missing", NULL);
        }
        if (st == ST_OK) {
            st = map_take_value(p, "'=' needs a value", &pair.value);
        }
        if (st == ST_OK) {
            st = map_check_value(p, type, pair.value);
        }
        if (st == ST_OK && s->pairs.len > 0 &&
            strcmp(s->pairs.data[s->pairs.len - 1].pattern, "*") == 0) {
            st = map_fault(p, "never reached, as '*' stands before it", NULL);
        }
        if (st == ST_OK && !VEC_PUSH(&s->pairs, pair)) {
            st = err_nomem(p->e);
        }
    } while (st == ST_OK && map_take_word(p, ","));
    return st;
}

static enum st take_when(struct map_parse *p, struct map_source *s) {
    enum st st = map_take_path(p, &s->when);
    if (st == ST_OK && !map_take_word(p, "is")) {
        return map_fault(p, "'when' needs PATH is VALUE", NULL);
    }
    s->conditional = true;
    return st == ST_OK ? map_take_texts(p, &s->is) : st;
}

/* Parses the pattern after "like". */
static enum st take_like(struct map_parse *p, struct map_source *s) {
    enum st st = map_take_value(p, "'like' needs a pattern", &s->like);
    const char *hole = st == ST_OK ? strstr(s->like, "{}") : NULL;
    if (hole && strstr(hole + 2, "{}")) {
        return map_fault(p, "a pattern takes one {}", NULL);
    }
    return st;
}

/* Parses the clauses after a source's paths or constant value: with, like, in, as and when. */
static enum st take_clauses(struct map_parse *p, enum field_type type, struct map_source *s) {
    enum st st = ST_OK;
    const struct map_word *w;
    while (st == ST_OK && (w = map_peek_word(p)) != NULL && !map_word_is(w, "|")) {
        p->at++;
        if (map_word_is(w, "with")) {
            st = map_take_value(p, "'with' needs a text", &s->with);
        } else if (map_word_is(w, "like")) {
            st = take_like(p, s);
        } else if (map_word_is(w, "in")) {
            st = take_unit(p, type, s);
        } else if (map_word_is(w, "as")) {
            st = take_pairs(p, type, s);
        } else if (map_word_is(w, "when")) {
            st = take_when(p, s);
        } else {
            st = map_fault(p, "neither with, like, in, as nor when:", w);
        }
    }
    return st;
}

/* Parses a source: = VALUE, or PATH [+ PATH]... and its clauses. */
static enum st take_source(struct map_parse *p, enum field_type type, struct map_source *s) {
    enum st st;
    s->with = " ";
    s->number = type == TYPE_MS || type == TYPE_NUMBER;
    if (map_take_word(p, "=")) {
        st = map_take_value(p, "'=' needs a value", &s->constant);
        if (st == ST_OK) {
            st = map_check_value(p, type, s->constant);
        }
    } else {
        do {
            st = map_take_one_path(p, &s->paths);
        } while (st == ST_OK && map_take_word(p, "+"));
    }
    return st == ST_OK ? take_clauses(p, type, s) : st;
}

static enum st check_kind_source(struct map_parse *p, const struct map_source *s) {
    return s->constant || s->pairs.len > 0
               ? ST_OK
               : map_fault(p, "stall.kind needs '= KIND', or 'as PATTERN = KIND'", NULL);
}

/* Parses a field's sources: SOURCE [| SOURCE]... */
static enum st read_sources(struct map_parse *p, struct map_field *f, enum field_type type) {
    enum st st = ST_OK;
    do {
        struct map_source *s =
            VEC_RESERVE(&f->sources, 1) ? &f->sources.data[f->sources.len] : NULL;
        if (!s) {
            return err_nomem(p->e);
        }
        const struct map_source *before = f->sources.len > 0 ? s - 1 : NULL;
        if (before && before->constant && !before->conditional) {
            return map_fault(p, "never reached, as a value without a condition stands before it",
                             NULL);
        }
        *s = (struct map_source){0};
        f->sources.len++;
        st = take_source(p, type, s);
        if (st == ST_OK && type == TYPE_KIND) {
            st = check_kind_source(p, s);
        }
    } while (st == ST_OK && map_take_word(p, "|"));
    return st == ST_OK ? map_end_line(p) : st;
}

/* Parses the statement FIELD SOURCE [| SOURCE]... */
static enum st map_read_field(struct map_parse *p, size_t id) {
    if (p->set_in[id]) {
        return map_fault(p, "set before:", &p->words.data[0]);
    }
    p->set_in[id] = p->line;
    return read_sources(p, &p->map->fields[id], field_names[id].type);
}

/* Parses the statement context.NAME SOURCE [| SOURCE]... */
static enum st map_read_context(struct map_parse *p, const struct map_word *w) {
    struct map_context c = {0};
    const size_t prefix = sizeof "context." - 1;
    c.name = arena_strdup(&p->maps->arena, w->text + prefix, w->len - prefix);
    if (!c.name || !VEC_PUSH(&p->map->context, c)) {
        return err_nomem(p->e);
    }
    return read_sources(p, &p->map->context.data[p->map->context.len - 1].field, TYPE_TEXT);
}

/* ---- statements ---- */

static enum st map_read_name(struct map_parse *p) {
    const struct map_word *w = map_next_word(p);
    if (p->named) {
        return map_fault(p, "a second 'map'", NULL);
    }
    p->named = true;
    if (!w || w->len > MAP_NAME_MAX) {
        return map_fault(p, "'map' needs a name of at most 32 characters", w);
    }
    for (size_t i = 0; i < w->len; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", w->text[i])) {
            return map_fault(p, "a name has lower-case letters, digits and '-':", w);
        }
    }
    p->map->name = map_copy_word(p, w);
    return p->map->name ? map_end_line(p) : err_nomem(p->e);
}

/* Parses the statement needs PATH [| PATH]... [is VALUE...] */
static enum st read_needs(struct map_parse *p) {
    struct map_need *need =
        VEC_RESERVE(&p->map->needs, 1) ? &p->map->needs.data[p->map->needs.len] : NULL;
    if (!need) {
        return err_nomem(p->e);
    }
    *need = (struct map_need){0};
    p->map->needs.len++;
    enum st st = map_take_paths(p, &need->paths);
    if (st == ST_OK && map_take_word(p, "is")) {
        st = map_take_texts(p, &need->is);
    }
    return st == ST_OK ? map_end_line(p) : st;
}

static enum st read_order(struct map_parse *p) {
    const struct map_word *w = map_next_word(p);
    if (p->order_in) {
        return map_fault(p, "a second 'order'", NULL);
    }
    p->order_in = p->line;
    if (!map_word_is(w, "innermost-first") && !map_word_is(w, "outermost-first")) {
        return map_fault(p, "neither innermost-first nor outermost-first:", w);
    }
    p->map->outermost_first = map_word_is(w, "outermost-first");
    return map_end_line(p);
}

/* Parses the statement trees PATH [| PATH]... children NAME [count NAME] */
static enum st read_trees(struct map_parse *p) {
    enum st st = map_take_paths(p, &p->map->trees);
    if (p->map->children) {
        return map_fault(p, "a second 'trees'", NULL);
    }
    if (st == ST_OK && !map_take_word(p, "children")) {
        return map_fault(p, "'trees' needs 'children NAME'", NULL);
    }
    if (st == ST_OK) {
        st = map_take_value(p, "'children' needs a name", &p->map->children);
    }
    if (st == ST_OK && map_take_word(p, "count")) {
        st = map_take_value(p, "'count' needs a name", &p->map->count);
    }
    return st == ST_OK ? map_end_line(p) : st;
}

static enum st read_paths(struct map_parse *p, struct map_paths *paths) {
    enum st st = map_take_paths(p, paths);
    return st == ST_OK ? map_end_line(p) : st;
}

static enum st read_statement(struct map_parse *p) {
    const struct map_word *w = map_next_word(p);
    size_t id;
    if (!p->named && !map_word_is(w, "map")) {
        /* `named` becomes true although the map has no name, so that the fault is reported once. */
        p->named = true;
        return map_fault(p, "a map begins with 'map NAME', not", w);
    }
    if (map_word_is(w, "map")) {
        return map_read_name(p);
    }
    if (map_word_is(w, "needs")) {
        return read_needs(p);
    }
    if (map_word_is(w, "each")) {
        return read_paths(p, &p->map->each);
    }
    if (map_word_is(w, "order")) {
        return read_order(p);
    }
    if (map_word_is(w, "images")) {
        return read_paths(p, &p->map->images);
    }
    if (map_word_is(w, "threads")) {
        return read_paths(p, &p->map->threads);
    }
    if (map_word_is(w, "frames")) {
        return read_paths(p, &p->map->frames);
    }
    if (map_word_is(w, "trees")) {
        return read_trees(p);
    }
    if (!w->quoted && w->len > 8 && memcmp(w->text, "context.", 8) == 0) {
        return map_read_context(p, w);
    }
    if (!w->quoted && PARSE_WORD(w->text, w->len, field_names, &id)) {
        return map_read_field(p, id);
    }
    return map_fault(
        p, "neither map, needs, each, order, images, threads, frames, trees nor a field:", w);
}

/* ---- the whole map ---- */

/* Checks that the map has all the statements that it needs, even if some of them have faults. */
static enum st check_map(struct map_parse *p) {
    const struct report_map *m = p->map;
    bool placed = p->set_in[FIELD_FRAME_ADDRESS] || p->set_in[FIELD_FRAME_OFFSET] ||
                  p->set_in[FIELD_FRAME_SYMBOL];
    if (!p->named) {
        return map_fault(p, "no statement 'map NAME'", NULL);
    }
    if (m->needs.len == 0) {
        return map_fault(p, "no 'needs': the map would claim every object", NULL);
    }
    if (m->threads.len == 0 || (m->frames.len == 0 && m->trees.len == 0)) {
        return map_fault(p, "no 'threads', or neither 'frames' nor 'trees'", NULL);
    }
    if (!placed) {
        return map_fault(p, "none of frame.address, frame.offset and frame.symbol", NULL);
    }
    if (!p->set_in[FIELD_KIND]) {
        return map_fault(p, "no stall.kind", NULL);
    }
    return ST_OK;
}

static enum st map_read_lines(struct map_parse *p, const char *text, size_t len) {
    enum st st = ST_OK;
    for (size_t i = 0; i < len && st != ST_ERR;) {
        const char *feed = memchr(text + i, '\n', len - i);
        size_t n = feed ? (size_t)(feed - text) - i : len - i;
        p->line++;
        if (n > MAP_LINE_MAX) {
            st = map_fault(p, "a line of more than 4096 bytes", NULL);
        } else if (memchr(text + i, 0, n)) {
            st = map_fault(p, "a NUL", NULL);
        } else {
            st = map_split_line(p, text + i, n);
            if (st == ST_OK && p->words.len > 0) {
                st = read_statement(p);
            }
        }
        i += n + 1;
    }
    return st == ST_ERR ? ST_ERR : check_map(p);
}

enum st report_maps_add(struct report_maps *maps, const char *file, const char *text, size_t len,
                        report_map_on_fault on_fault, void *ctx, struct err *e) {
    if (len > MAP_TEXT_MAX) {
        return err_set(e, ERR_LIMIT, "%s: a map of more than %d bytes", file, MAP_TEXT_MAX);
    }
    struct map_parse p = {.maps = maps, .file = file, .on_fault = on_fault, .ctx = ctx, .e = e};
    p.map = arena_alloc(&maps->arena, sizeof *p.map);
    if (!p.map) {
        return err_nomem(e);
    }
    enum st st = map_read_lines(&p, text, len);
    if (st == ST_OK && p.faulty) {
        st = ST_ERR;
    } else if (st == ST_OK && !VEC_PUSH(&maps->list, p.map)) {
        st = err_nomem(e);
    }
    if (st != ST_OK) {
        map_release_parts(p.map);
    }
    VEC_RELEASE(&p.words);
    return st == ST_OK ? ST_OK : ST_ERR;
}
