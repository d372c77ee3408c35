/* Parses paths, and follows them through Jansson's trees and through JSON text. A walk visits each
 * value at most once for each step of the path, so that its cost is bounded by the size of the
 * document; in text, a negative index reads its array a second time, to count the elements. */
#include "dump/maps/member_path.h"

#include <string.h>

#include "base/parse.h"

/* ---- parsing ---- */

struct path_parse {
    const char *at, *end;
    struct arena *arena;
    struct path_step steps[PATH_STEPS_MAX];
    size_t count;
    struct err *e;
};

static enum st path_fail(struct path_parse *p, const char *what) {
    return err_set(p->e, ERR_FORMAT, "%s in a path", what);
}

static enum st path_copy(struct path_parse *p, const char *s, size_t len, const char **out) {
    *out = arena_strdup(p->arena, s, len);
    return *out ? ST_OK : err_nomem(p->e);
}

static enum st path_push(struct path_parse *p, const struct path_step *step) {
    if (p->count == PATH_STEPS_MAX) {
        return err_set(p->e, ERR_LIMIT, "more than %d steps in a path", PATH_STEPS_MAX);
    }
    p->steps[p->count++] = *step;
    return ST_OK;
}

/* Takes a name, which is in quotes, or ends before the first of the characters in `stops` or at the
 * end of the path. */
static enum st path_name_at(struct path_parse *p, const char *stops, const char **out) {
    const char *start = p->at;
    if (p->at < p->end && *p->at == '"') {
        start = ++p->at;
        const char *close = memchr(start, '"', (size_t)(p->end - start));
        if (!close) {
            return path_fail(p, "a quote is not closed");
        }
        p->at = close + 1;
        return path_copy(p, start, (size_t)(close - start), out);
    }
    while (p->at < p->end && !strchr(stops, *p->at)) {
        p->at++;
    }
    if (p->at == start) {
        return path_fail(p, "a name is empty");
    }
    return path_copy(p, start, (size_t)(p->at - start), out);
}

/* Takes a bracket: "[0]", "[-1]", "[type=threads]". */
static enum st path_bracket(struct path_parse *p) {
    struct path_step step = {.kind = STEP_INDEX};
    const char *start = ++p->at, *close = memchr(start, ']', (size_t)(p->end - start));
    if (!close) {
        return path_fail(p, "'[' is not closed");
    }
    if (parse_i64(start, (size_t)(close - start), &step.index)) {
        p->at = close + 1;
        return path_push(p, &step);
    }
    step.kind = STEP_WITH;
    enum st st = path_name_at(p, "=]", &step.name);
    if (st == ST_OK && (p->at >= p->end || *p->at != '=')) {
        st = path_fail(p, "neither a number nor NAME=VALUE in '[]'");
    }
    if (st == ST_OK) {
        p->at++;
        st = path_name_at(p, "]", &step.value);
    }
    if (st == ST_OK && (p->at >= p->end || *p->at++ != ']')) {
        st = path_fail(p, "'[' is not closed");
    }
    return st == ST_OK ? path_push(p, &step) : st;
}

static enum st path_step_at(struct path_parse *p) {
    struct path_step step = {.kind = STEP_MEMBER};
    bool quoted = *p->at == '"';
    enum st st = path_name_at(p, ".[", &step.name);
    if (st != ST_OK) {
        return st;
    }
    if (!quoted && strcmp(step.name, "*") == 0) {
        step.kind = STEP_EACH;
    }
    st = path_push(p, &step);
    while (st == ST_OK && p->at < p->end && *p->at == '[') {
        st = path_bracket(p);
    }
    if (st == ST_OK && p->at < p->end && *p->at != '.') {
        st = path_fail(p, "no '.' between two names");
    }
    return st;
}

enum st member_path_parse(struct member_path *out, const char *text, size_t len, struct arena *a,
                          struct err *e) {
    struct path_parse p = {.at = text, .end = text + len, .arena = a, .e = e};
    enum st st = ST_OK;
    if (len == 0) {
        return path_fail(&p, "a name is empty");
    }
    p.at += *p.at == '.';
    if (p.at == p.end) {
        *out = (struct member_path){NULL, 0};
        return ST_OK;
    }
    while (st == ST_OK) {
        st = path_step_at(&p);
        if (st != ST_OK || p.at == p.end) {
            break;
        }
        p.at++; /* skips the dot */
        if (p.at == p.end) {
            st = path_fail(&p, "a name is empty");
        }
    }
    if (st != ST_OK) {
        return st;
    }
    struct path_step *steps = arena_array(a, p.count, sizeof *steps);
    if (!steps) {
        return err_nomem(e);
    }
    memcpy(steps, p.steps, p.count * sizeof *steps);
    *out = (struct member_path){steps, p.count};
    return ST_OK;
}

/* ---- trees ---- */

static struct member_path path_rest(const struct member_path *path) {
    return (struct member_path){path->steps + 1, path->count - 1};
}

static bool element_is(const json_t *element, const struct path_step *step) {
    const char *text = json_string_value(json_object_get(element, step->name));
    return text && strcmp(text, step->value) == 0;
}

/* Follows the path's first step to the elements of an array that the step selects. */
static bool tree_elements(const struct member_path *path, const json_t *array,
                          member_path_visit visit, void *ctx) {
    const struct path_step *step = path->steps;
    const struct member_path rest = path_rest(path);
    size_t count = json_array_size(array);
    if (step->kind == STEP_INDEX) {
        int64_t at = step->index < 0 ? step->index + (int64_t)count : step->index;
        return at < 0 || at >= (int64_t)count ||
               member_path_each(&rest, json_array_get(array, (size_t)at), visit, ctx);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *element = json_array_get(array, i);
        if ((step->kind == STEP_EACH || element_is(element, step)) &&
            !member_path_each(&rest, element, visit, ctx)) {
            return false;
        }
    }
    return true;
}

bool member_path_each(const struct member_path *path, const json_t *root, member_path_visit visit,
                      void *ctx) {
    if (!root) {
        return true;
    }
    if (path->count == 0) {
        return visit(ctx, root);
    }
    const struct path_step *step = path->steps;
    const struct member_path rest = path_rest(path);
    if (step->kind == STEP_MEMBER) {
        return member_path_each(&rest, json_object_get(root, step->name), visit, ctx);
    }
    if (step->kind == STEP_EACH && json_is_object(root)) {
        const char *key;
        json_t *value;
        /* the macro json_object_foreach needs a pointer that is not const, but changes nothing */
        json_object_foreach((json_t *)(uintptr_t)root, key, value) {
            if (!member_path_each(&rest, value, visit, ctx)) {
                return false;
            }
        }
        return true;
    }
    return tree_elements(path, root, visit, ctx);
}

static bool take_first(void *ctx, const json_t *value) {
    const json_t **out = ctx;
    *out = value;
    return false;
}

const json_t *member_path_first(const struct member_path *path, const json_t *root) {
    const json_t *first = NULL;
    (void)member_path_each(path, root, take_first, &first);
    return first;
}

/* ---- text ---- */

static bool span_starts(struct span s, char c) {
    return s.p < s.end && *s.p == c;
}

static bool span_element_is(struct span element, const struct path_step *step) {
    struct span key, value;
    if (!span_starts(element, '{')) {
        return false;
    }
    while (span_next(&element, &key, &value)) {
        if (span_is(key, step->name)) {
            return span_is(value, step->value);
        }
    }
    return false;
}

static size_t span_count(struct span array) {
    size_t count = 0;
    struct span value;
    while (span_next(&array, NULL, &value)) {
        count++;
    }
    return count;
}

static bool span_elements(const struct member_path *path, struct span array,
                          member_path_visit_span visit, void *ctx) {
    const struct path_step *step = path->steps;
    const struct member_path rest = path_rest(path);
    struct span value;
    int64_t wanted = step->index;
    if (step->kind == STEP_INDEX && wanted < 0) {
        wanted += (int64_t)span_count(array);
    }
    for (int64_t i = 0; span_next(&array, NULL, &value); i++) {
        bool is = step->kind == STEP_EACH || (step->kind == STEP_INDEX && i == wanted) ||
                  (step->kind == STEP_WITH && span_element_is(value, step));
        if (is && !member_path_each_span(&rest, value, visit, ctx)) {
            return false;
        }
    }
    return true;
}

bool member_path_each_span(const struct member_path *path, struct span root,
                           member_path_visit_span visit, void *ctx) {
    if (path->count == 0) {
        return visit(ctx, root);
    }
    const struct path_step *step = path->steps;
    const struct member_path rest = path_rest(path);
    struct span key, value;
    span_skip_space(&root);
    if (span_starts(root, '[')) {
        return step->kind == STEP_MEMBER || span_elements(path, root, visit, ctx);
    }
    if (!span_starts(root, '{') || step->kind == STEP_INDEX || step->kind == STEP_WITH) {
        return true;
    }
    while (span_next(&root, &key, &value)) {
        if ((step->kind == STEP_EACH || span_is(key, step->name)) &&
            !member_path_each_span(&rest, value, visit, ctx)) {
            return false;
        }
    }
    return true;
}
