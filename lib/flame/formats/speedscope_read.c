/* Reads speedscope's JSON into a tree. */
#include <string.h>

#include "base/arena.h"
#include "base/path.h"
#include "base/vec.h"
#include "dump/document.h"
#include "flame/formats/speedscope.h"
#include "flame/formats/value_unit.h"
#include "flame/stacks/folded.h"
#include "flame/stacks/frame_name.h"
#include "flame/stacks/frame_place.h"

struct speedscope_file {
    const char *name;
    struct stack_tree *tree;
    struct speedscope_stats *stats;
    json_t *frames; /* the table shared.frames */
    char **names;   /* names of the frames used so far, in the arena */
    struct arena arena;
    const char *label;             /* outermost frame, NULL = none */
    const struct value_unit *unit; /* unit of the current profile */
    VEC(size_t) open;              /* frames of the current stack */
    uint64_t text_left;
    struct strbuf line, frame, plain; /* scratch */
};

static enum st speedscope_bad(const struct speedscope_file *f, const char *what, struct err *e) {
    return err_set(e, ERR_FORMAT, "%s in '%s'", what, f->name);
}

/* ---- numbers ---- */

/* Reads a weight as an integer in units of 10^-decimals, with as many decimals as a real weight
 * needs, at most STACK_DECIMALS_MAX. False: it is no number, is negative, or, in these units, does
 * not fit 64 bits or is, if it is real, not below 2^53, from where on doubles are not exact. */
static bool take_weight(const struct speedscope_file *f, const json_t *v, uint64_t *weight,
                        unsigned *decimals) {
    const double most = (double)(UINT64_C(1) << 53);
    *decimals = f->unit->decimals;
    if (json_is_integer(v)) {
        json_int_t i = json_integer_value(v);
        *weight = (uint64_t)i * f->unit->factor;
        return i >= 0 && (uint64_t)i <= UINT64_MAX / f->unit->factor;
    }
    double real = json_is_real(v) ? json_real_value(v) * f->unit->factor : -1;
    while (*decimals < STACK_DECIMALS_MAX && real >= 0 && real < most &&
           real > (double)(uint64_t)real) {
        real *= 10;
        ++*decimals;
    }
    if (!(real >= 0) || real >= most) { /* the negated comparison also refuses NaN */
        return false;
    }
    *weight = (uint64_t)(real + 0.5);
    return true;
}

/* ---- frames ---- */

/* Makes a frame's name in f->frame from its name, file and line. False: the frame has no name. */
static bool make_name(struct speedscope_file *f, const json_t *frame) {
    const char *name = json_string_value(json_object_get(frame, "name"));
    const char *file = json_string_value(json_object_get(frame, "file"));
    json_int_t line = json_integer_value(json_object_get(frame, "line"));
    if (!name) {
        return false;
    }
    file = file ? file : "";
    strbuf_clear(&f->frame);
    if (line > 0 && line <= UINT32_MAX) {
        struct frame_name parts = frame_name_split(name, strlen(name));
        strbuf_clear(&f->plain);
        strbuf_add(&f->plain, name, strlen(name) - (parts.mark ? FRAME_MARK_LEN : 0));
        frame_place_join(&f->frame, strbuf_cstr(&f->plain), file, (uint32_t)line);
        strbuf_addstr(&f->frame, name + f->plain.len);
        f->frame.failed |= f->plain.failed;
    } else {
        frame_name_join(&f->frame, path_base(file), name, false);
    }
    return true;
}

/* Checks the budget of text: a few bytes of a stack may stand for long names. */
static enum st check_text(const struct speedscope_file *f, struct err *e) {
    if (f->line.len > f->text_left) {
        return err_set(e, ERR_LIMIT, "more than %d bytes of stacks in '%s'", SPEEDSCOPE_TEXT_MAX,
                       f->name);
    }
    return strbuf_check(&f->line, e);
}

static enum st speedscope_add_frame(struct speedscope_file *f, size_t index, bool first,
                                    struct err *e) {
    if (index >= json_array_size(f->frames)) {
        return speedscope_bad(f, "frame that is not there", e);
    }
    char **name = &f->names[index];
    if (!*name) {
        if (!make_name(f, json_array_get(f->frames, index))) {
            return speedscope_bad(f, "frame without a name", e);
        }
        *name =
            f->frame.failed ? NULL : arena_strdup(&f->arena, strbuf_cstr(&f->frame), f->frame.len);
        if (!*name) {
            return err_nomem(e);
        }
    }
    if (!first) {
        strbuf_addc(&f->line, ';');
    }
    folded_escape(&f->line, *name, strlen(*name), first);
    return check_text(f, e);
}

/* Adds the stack of the open frames, inside of the profile's name if there is a label, to the tree;
 * nothing if the weight is 0 or there is neither frame nor label. */
static enum st speedscope_add_stack(struct speedscope_file *f, uint64_t weight, unsigned decimals,
                                    struct err *e) {
    if (weight == 0 || (f->open.len == 0 && !f->label)) {
        return ST_OK; /* no frame was open, so nothing ran */
    }
    strbuf_clear(&f->line);
    if (f->label) {
        folded_escape(&f->line, f->label, strlen(f->label), true);
    }
    for (size_t i = 0; i < f->open.len; i++) {
        if (speedscope_add_frame(f, f->open.data[i], i == 0 && !f->label, e) != ST_OK) {
            return ST_ERR;
        }
    }
    if (check_text(f, e) != ST_OK) { /* the name of the profile, which is the outermost frame, may
                                        exceed the budget by itself */
        return ST_ERR;
    }
    f->text_left -= f->line.len;
    f->stats->stacks++;
    return stack_tree_add(f->tree, strbuf_cstr(&f->line), f->line.len, weight, decimals, e);
}

/* ---- profiles ---- */

static bool take_index(const json_t *v, size_t *out) {
    json_int_t i = json_is_integer(v) ? json_integer_value(v) : -1;
    *out = (size_t)i;
    return i >= 0;
}

static enum st speedscope_read_sampled(struct speedscope_file *f, const json_t *profile,
                                       struct err *e) {
    const json_t *samples = json_object_get(profile, "samples");
    const json_t *weights = json_object_get(profile, "weights");
    if (!json_is_array(samples) || json_array_size(samples) != json_array_size(weights)) {
        return speedscope_bad(f, "samples without a weight each", e);
    }
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *stack = json_array_get(samples, i);
        uint64_t weight;
        unsigned decimals;
        if (!take_weight(f, json_array_get(weights, i), &weight, &decimals)) {
            return speedscope_bad(f, "weight that is no number from 0 on", e);
        }
        f->open.len = 0;
        for (size_t k = 0; k < json_array_size(stack); k++) {
            size_t frame;
            if (!take_index(json_array_get(stack, k), &frame)) {
                return speedscope_bad(f, "frame that is not there", e);
            }
            if (!VEC_PUSH(&f->open, frame)) {
                return err_nomem(e);
            }
        }
        if (speedscope_add_stack(f, weight, decimals, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Takes an event of an evented profile. The time `passed` since the last event belongs to the
 * frames that were open until now. */
static enum st take_event(struct speedscope_file *f, const json_t *event, json_t *passed,
                          struct err *e) {
    const char *type = json_string_value(json_object_get(event, "type"));
    uint64_t weight;
    unsigned decimals;
    size_t frame;
    if (!take_weight(f, passed, &weight, &decimals)) {
        return speedscope_bad(f, "event before the last", e);
    }
    if (!type || !take_index(json_object_get(event, "frame"), &frame)) {
        return speedscope_bad(f, "event without a type or a frame", e);
    }
    if (speedscope_add_stack(f, weight, decimals, e) != ST_OK) {
        return ST_ERR;
    }
    if (strcmp(type, "O") == 0) {
        return VEC_PUSH(&f->open, frame) ? ST_OK : err_nomem(e);
    }
    if (strcmp(type, "C") != 0 || f->open.len == 0 || f->open.data[f->open.len - 1] != frame) {
        return speedscope_bad(f, "event that closes what is not the innermost frame", e);
    }
    f->open.len--;
    return ST_OK;
}

static enum st speedscope_read_evented(struct speedscope_file *f, const json_t *profile,
                                       struct err *e) {
    const json_t *events = json_object_get(profile, "events");
    double last = 0;
    f->open.len = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i), *at = json_object_get(event, "at");
        if (!json_is_number(at)) {
            return speedscope_bad(f, "event without a time", e);
        }
        double now = json_number_value(at);
        json_t *passed = json_real(i > 0 ? now - last : 0);
        enum st st = passed ? take_event(f, event, passed, e) : err_nomem(e);
        json_decref(passed);
        if (st != ST_OK) {
            return st;
        }
        last = now;
    }
    return ST_OK;
}

static enum st speedscope_read_profile(struct speedscope_file *f, const json_t *profile,
                                       struct err *e) {
    const char *type = json_string_value(json_object_get(profile, "type"));
    const json_t *unit = json_object_get(profile, "unit");
    const struct value_unit *known =
        value_unit_find(json_is_string(unit) ? json_string_value(unit) : "none",
                        json_is_string(unit) ? json_string_length(unit) : strlen("none"));
    f->unit = known ? known : value_unit_find("none", strlen("none"));
    if (f->stats->profiles == 0) {
        f->stats->unit = f->unit->counts;
    } else if (strcmp(f->stats->unit, f->unit->counts) != 0) {
        f->stats->left_out++;
        return ST_OK;
    }
    f->stats->profiles++;
    stack_tree_break(f->tree);
    if (type && strcmp(type, "sampled") == 0) {
        return speedscope_read_sampled(f, profile, e);
    }
    if (type && strcmp(type, "evented") == 0) {
        return speedscope_read_evented(f, profile, e);
    }
    return speedscope_bad(f, "profile of an unknown type", e);
}

static enum st speedscope_read_profiles(struct speedscope_file *f, const json_t *root,
                                        struct err *e) {
    const json_t *profiles = json_object_get(root, "profiles");
    size_t count = json_array_size(profiles);
    f->frames = json_object_get(json_object_get(root, "shared"), "frames");
    if (!json_is_array(profiles) || !json_is_array(f->frames)) {
        return speedscope_bad(f, "no frames and profiles", e);
    }
    f->names = arena_array(&f->arena, json_array_size(f->frames), sizeof *f->names);
    if (!f->names) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *profile = json_array_get(profiles, i);
        const char *label = json_string_value(json_object_get(profile, "name"));
        if (count > 1) {
            f->label = label ? label : "[unknown]";
        }
        if (speedscope_read_profile(f, profile, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- the file ---- */

static bool contains_word(const char *bytes, size_t len, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= len; i++) {
        if (bytes[i] == word[0] && memcmp(bytes + i, word, n) == 0) {
            return true;
        }
    }
    return false;
}

bool speedscope_recognise(const char *bytes, size_t len) {
    enum { LOOK_AT = 4096 };
    size_t n = len < LOOK_AT ? len : LOOK_AT;
    return contains_word(bytes, n, "speedscope.app/file-format-schema.json") ||
           (contains_word(bytes, n, "\"shared\"") && contains_word(bytes, n, "\"frames\""));
}

enum st speedscope_read(struct stack_tree *t, const char *name, const char *text, size_t len,
                        struct speedscope_stats *stats, struct err *e) {
    struct speedscope_file f = {
        .name = name, .tree = t, .stats = stats, .text_left = SPEEDSCOPE_TEXT_MAX};
    static const struct document_options options = {
        .text_max = UINT32_MAX, .values_max = UINT64_MAX, .unique = true, .long_numbers = true};
    json_t *root;
    *stats = (struct speedscope_stats){.unit = "samples"};
    enum st st = document_load(&root, text, len, &options, e);
    if (st == ST_NONE) {
        return err_set(e, ERR_FORMAT, "no object in '%s'", name);
    }
    if (st == ST_ERR) {
        return err_context(e, "no JSON in '%s'", name);
    }
    st = speedscope_read_profiles(&f, root, e);
    json_decref(root);
    VEC_RELEASE(&f.open);
    arena_release(&f.arena);
    strbuf_release(&f.line);
    strbuf_release(&f.frame);
    strbuf_release(&f.plain);
    return st;
}
