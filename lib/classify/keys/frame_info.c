/* Makes the infos of the cache: of each distinct function, which is normalised and matched with the
 * rules once; of libraries and of names in keys; and of functions with their callers. */
#include "classify/keys/frame_info.h"

#include <string.h>

#include "base/hash.h"
#include "base/path.h"
#include "classify/keys/raw_frame_private.h"
#include "names/names.h"

void frame_table_release(struct frame_table *t) {
    map_release(&t->by_image);
    map_release(&t->heads);
    map_release(&t->codes);
    map_release(&t->by_raw);
    map_release(&t->by_key);
    map_release(&t->by_caller);
    VEC_RELEASE(&t->infos);
    VEC_RELEASE(&t->nameless);
    VEC_RELEASE(&t->images);
    VEC_RELEASE(&t->known_images);
    arena_release(&t->image_arena);
    arena_release(&t->arena);
    strbuf_release(&t->raw);
    strbuf_release(&t->image);
    strbuf_release(&t->function);
    strbuf_release(&t->full);
    strbuf_release(&t->qualified);
}

/* Cuts a text longer than KEY_FUNCTION_MAX bytes, a function or the name of an image or a library,
 * to at most that number of bytes, which end in a hash of the whole. */
static void cap_function(struct strbuf *b) {
    if (b->len > KEY_FUNCTION_MAX) {
        uint64_t hash = hash_bytes(b->data, b->len);
        size_t keep = KEY_FUNCTION_MAX - 20;
        while (keep > 0 && ((unsigned char)b->data[keep] & 0xc0) == 0x80) {
            keep--; /* the text must not be cut inside a UTF-8 character */
        }
        strbuf_truncate(b, keep);
        strbuf_addstr(b, "\xe2\x80\xa6#");
        strbuf_addhex(b, hash);
    }
}

static const char *frame_table_keep(struct frame_table *t, const struct strbuf *b) {
    return arena_strdup(&t->arena, strbuf_cstr(b), b->len);
}

static void apply_normalise(struct frame_table *t, const struct rule *rule) {
    const char *part;
    size_t part_len;
    struct strbuf name = {0};
    pattern_captured(&rule->function, t->function.data, t->function.len, &part, &part_len);
    for (const char *s = rule->replacement; *s; s++) {
        strbuf_add(&name, *s == '*' ? part : s, *s == '*' ? part_len : 1);
    }
    if (name.failed || name.len == 0) {
        t->function.failed = t->function.failed || name.failed;
    } else {
        strbuf_clear(&t->function);
        strbuf_add(&t->function, name.data, name.len);
    }
    strbuf_release(&name);
}

/* Decides whose code the frame is. The first rule on the image or the function that matches
 * decides; without one, the dump does. */
static void decide_side(struct frame_table *t, const struct raw_frame *f, struct frame_info *info,
                        struct rule_subject *s) {
    const struct rule *rule = rules_match(t->rules, RULE_SIDE, s, NULL);
    if (rules_index(t->rules, f->image_rule) < rules_index(t->rules, rule)) {
        rule = f->image_rule;
    }
    info->by[RULE_SIDE] = rule;
    info->side = rule ? rule->side : f->side;
    info->vendor = rule ? rule->vendor : NULL;
    info->in_app = info->side == SIDE_APP;
    s->side = info->side;
}

/* Decides the place and the cause of a frame whose name and side are known. */
static void decide_rest(struct frame_table *t, const struct rule_subject *s,
                        struct frame_info *info) {
    const struct rule *rule = rules_match(t->rules, RULE_PLACE, s, &info->by_caller);
    info->by[RULE_PLACE] = rule;
    info->place = rule ? rule->place : PLACE_KEEP;
    info->modal = rule && rule->modal;
    info->by[RULE_CAUSE] = rule = rules_match(t->rules, RULE_CAUSE, s, &info->by_caller);
    info->cause = rule ? rule->cause : CAUSE_NONE;
    info->confidence = rule ? rule->confidence : 0;
    info->reason = rule ? rule->reason : "";
}

/* Decides the framework of a function, and applies the remaining kinds of rules. */
static void decide_framework(struct frame_table *t, const struct rule_subject *s,
                             struct frame_info *info) {
    const struct rule *rule = rules_match(t->rules, RULE_FRAMEWORK, s, NULL);
    info->by[RULE_FRAMEWORK] = rule;
    info->framework = rule ? rule->framework : NULL;
    info->linked = info->in_app && rule;
    for (int kind = RULE_CALLOUT; kind < RULE_KINDS; kind++) {
        info->by[kind] = rules_match(t->rules, (enum rule_kind)kind, s, NULL);
    }
    info->callout = info->by[RULE_CALLOUT] != NULL;
    info->hidden = info->by[RULE_HIDE] != NULL;
    info->exclusive = info->by[RULE_EXCLUSIVE] != NULL;
    info->memory = info->by[RULE_MEMORY] != NULL;
    info->waits = info->by[RULE_WAIT] != NULL;
    info->kernel = info->by[RULE_KERNEL] && !info->by[RULE_USER] && !info->memory;
    info->loop_image = rules_is_loop_image(t->rules, s->image, s->image_len, s->os);
    info->wait_name = s->function ? names_wait(s->function, s->function_len) : WAIT_NAME_NONE;
}

/* Does a rule say whose this function is? A rule for a whole image leaves open which of its
 * functions are a linked library's. */
static bool side_is_told(const struct frame_info *info) {
    const struct rule *rule = info->by[RULE_SIDE];
    return rule && !rule->by_place && !pattern_is_star(&rule->function);
}

/* Is this the name of a program's first function, or of a function of Go's package main, which only
 * programs have? That of an interpreted program is the name of its file's own code in Python,
 * JavaScript, Ruby or PHP. */
static bool is_program_start(const char *function, size_t len, bool interpreted) {
    static const char *const files[] = {"<module>", "Object.<anonymous>", "<main>", "{main}"};
    static const char in[] = "::main";
    size_t n = sizeof in - 1;
    for (size_t i = 0; interpreted && i < sizeof files / sizeof *files; i++) {
        if (strcmp(function, files[i]) == 0) {
            return true;
        }
    }
    return !interpreted && (strcmp(function, "main") == 0 || strncmp(function, "main.", 5) == 0 ||
                            (len > n && strcmp(function + len - n, in) == 0));
}

/* Returns how many bytes "lib" takes at the start of a library's name; 0: it is not there, or is
 * all of the name. */
static size_t lib_len(const char *name, size_t len) {
    return len > 3 && strncmp(name, "lib", 3) == 0 ? 3 : 0;
}

/* Is the image, but for "lib" and an extension, named as the library is, whose name may have a
 * "lib" of its own, as that of libuv? */
static bool image_is_library(const struct strbuf *image, const char *package, size_t len) {
    const char *name = strbuf_cstr(image);
    size_t own = lib_len(package, len);
    name += lib_len(name, image->len);
    len -= own;
    return strncmp(name, package + own, len) == 0 && (name[len] == '\0' || name[len] == '.');
}

/* Makes a function of the app one of the library that its source file, or V8's name of it, is of,
 * if no rule says whose it is. If a rule says that an image is the app's, functions of the library
 * that has the image's name stay the app's. False: out of memory. */
static bool decide_package(struct frame_table *t, const struct raw_frame *f,
                           struct frame_info *info) {
    const char *package = f->package;
    size_t len = f->package_len;
    if (!info->in_app || info->linked || side_is_told(info) || !f->function) {
        return true;
    }
    if (!package && !names_package(f->function, strlen(f->function), &package, &len)) {
        return true;
    }
    if (info->by[RULE_SIDE] && image_is_library(&t->image, package, len)) {
        return true;
    }
    strbuf_clear(&t->qualified);
    strbuf_add(&t->qualified, package, len);
    cap_function(&t->qualified);
    info->framework = t->qualified.failed ? NULL : frame_table_keep(t, &t->qualified);
    info->linked = info->framework != NULL;
    return info->linked;
}

/* Puts the function's name into t->full, with template arguments and the like expanded by
 * names_expand: the mangled name is expanded or, if there is none or it cannot be expanded, the
 * name. If neither can be expanded, t->full is f->function as it is. */
static void find_full_name(struct frame_table *t, const struct raw_frame *f) {
    strbuf_clear(&t->full);
    bool expanded = (f->linkage && names_expand(f->linkage, strlen(f->linkage), &t->full)) ||
                    names_expand(f->function, strlen(f->function), &t->full);
    if (!expanded) {
        strbuf_addstr(&t->full, f->function);
    }
}

/* Sets info->qualified to the name with its module, if that differs from the name without.
 * False: out of memory. */
static bool qualify(struct frame_table *t, struct frame_info *info) {
    strbuf_clear(&t->qualified);
    names_qualify(strbuf_cstr(&t->full), t->full.len, &t->qualified);
    cap_function(&t->qualified);
    if (!t->qualified.failed &&
        strcmp(strbuf_cstr(&t->qualified), strbuf_cstr(&t->function)) != 0) {
        info->qualified = frame_table_keep(t, &t->qualified);
    }
    return !t->qualified.failed && !t->full.failed;
}

static void set_qualified(struct rule_subject *s, const struct frame_info *info) {
    s->qualified = info->qualified;
    s->qualified_len = info->qualified ? strlen(info->qualified) : 0;
}

/* Applies the rules to the frame, one kind of rule after the other: the name first, then the side,
 * then the rest. */
static void apply_rules(struct frame_table *t, const struct raw_frame *f, struct frame_info *info) {
    struct rule_subject s = {
        .image = strbuf_cstr(&t->image), .image_len = t->image.len, .side = f->side, .os = f->os};
    if (f->function) {
        names_normalise(f->function, strlen(f->function), &t->function);
        cap_function(&t->function);
        s.function = strbuf_cstr(&t->function);
        s.function_len = t->function.len;
        find_full_name(t, f);
        t->function.failed = !qualify(t, info) || t->function.failed;
        const struct rule *rule = info->by[RULE_NORMALISE] =
            rules_match(t->rules, RULE_NORMALISE, &s, NULL);
        if (rule) {
            apply_normalise(t, rule);
            s.function = strbuf_cstr(&t->function);
            s.function_len = t->function.len;
        }
    }
    set_qualified(&s, info);
    decide_side(t, f, info, &s);
    decide_rest(t, &s, info);
    decide_framework(t, &s, info);
    info->starts_program = info->in_app && f->function &&
                           is_program_start(s.function, s.function_len, f->facts == NULL);
    t->function.failed = !decide_package(t, f, info) || t->function.failed;
}

/* Appends the text of an image and a function, which identifies a frame in a key. */
static void add_frame_name(struct strbuf *out, const char *image, const char *function) {
    strbuf_addstr(out, image);
    strbuf_addc(out, '\t');
    strbuf_addstr(out, function);
}

/* May the owner of a function's Java package tell that it is not the app's: is it in the app by no
 * rule? */
static bool frame_is_owned(const struct frame_info *info) {
    return info->in_app && !info->linked && info->resolved && !side_is_told(info);
}

/* Sets info->image and info->framework, which name the frame's image in keys. False: out of memory.
 */
static bool set_key_image(struct frame_table *t, const struct raw_frame *f,
                          struct frame_info *info) {
    char id[IMAGE_ID_TEXT] = "";
    if (!f->function && f->id) {
        image_id_text(f->id, id);
    }
    if (id[0]) {
        info->image = arena_strdup(&t->arena, id, strlen(id));
    } else {
        /* A framework that rules name has the same name in all keys, though the images that contain
         * it differ between versions of a system. */
        bool own = info->in_app && t->rules && !(info->linked && info->framework[0]);
        info->image = own               ? "app"
                      : info->vendor    ? info->vendor
                      : info->framework ? info->framework
                                        : info->image_name;
    }
    if (!info->framework) {
        bool known = info->image_name && strcmp(info->image_name, "?") != 0;
        info->framework = info->vendor ? info->vendor : known ? info->image_name : "";
    }
    return info->image != NULL;
}

/* Sets info->function to t->function, or, for a frame without a name, to its offset, and what
 * follows from it; info->canonical becomes the first info with this image and function, which may
 * be `info` itself. False: out of memory. */
static bool set_key_function(struct frame_table *t, const struct raw_frame *f,
                             struct frame_info *info, size_t index) {
    if (!f->function) {
        strbuf_addstr(&t->function, "+0x");
        strbuf_addhex(&t->function, f->offset);
    }
    info->function = frame_table_keep(t, &t->function);
    if (!info->function || t->function.failed) {
        return false;
    }
    const char *enclosing;
    size_t enclosing_len;
    names_enclosing(info->function, strlen(info->function), &enclosing, &enclosing_len);
    info->enclosing = hash_bytes(enclosing, enclosing_len);
    strbuf_clear(&t->raw);
    add_frame_name(&t->raw, info->image, info->function);
    const struct map_entry *entry =
        t->raw.failed ? NULL : map_put(&t->by_key, t->raw.data, t->raw.len, index, NULL);
    if (!entry) {
        return false;
    }
    info->canonical = entry->value == index ? info : t->infos.data[entry->value];
    return true;
}

/* Sets the members that keys use. False: out of memory. */
static bool finish_info(struct frame_table *t, const struct raw_frame *f, struct frame_info *info,
                        size_t index) {
    info->image_name = frame_table_keep(t, &t->image);
    if (!info->image_name || t->image.failed || !set_key_image(t, f, info) ||
        !set_key_function(t, f, info, index)) {
        return false;
    }
    bool asks = frame_is_owned(info);
    info->owner_len = asks ? names_owner(info->function, strlen(info->function)) : 0;
    return true;
}

/* Sets info->made_for to the app's type for which a library's generic function was made. False: out
 * of memory. */
static bool find_made_for(struct frame_table *t, const struct raw_frame *f,
                          struct frame_info *info) {
    const char *type;
    size_t len;
    if (!t->rules || !info->in_app || !f->function ||
        !names_generic_for(strbuf_cstr(&t->full), t->full.len, &type, &len)) {
        return true;
    }
    info->made_for = arena_strdup(&t->arena, type, len);
    return info->made_for != NULL;
}

/* Sets info->witness. False: out of memory. */
static bool find_witness(struct frame_table *t, const struct raw_frame *f,
                         struct frame_info *info) {
    if (!t->rules || !f->function) {
        return true;
    }
    strbuf_clear(&t->qualified);
    if (names_witness(strbuf_cstr(&t->full), t->full.len, &t->qualified)) {
        info->witness = frame_table_keep(t, &t->qualified);
    }
    return !t->qualified.failed && (info->witness || t->qualified.len == 0);
}

/* Makes the info of a frame from its image, its name and the rules. */
static bool make_info(struct frame_table *t, const struct raw_frame *f, struct frame_info *info,
                      size_t index) {
    info->side = f->side;
    info->in_app = info->said_in_app = f->side == SIDE_APP;
    info->in_image = f->facts != NULL;
    info->os = f->os;
    info->reason = "";
    info->resolved = f->function != NULL;
    strbuf_clear(&t->image);
    if (!f->image || !*f->image) {
        strbuf_addc(&t->image, '?');
    } else if (t->rules) {
        names_image(f->image, strlen(f->image), &t->image);
        cap_function(&t->image);
    } else {
        strbuf_addstr(&t->image, path_name(f->image));
    }
    if (t->rules) {
        apply_rules(t, f, info);
    } else if (f->function) {
        strbuf_addstr(&t->function, f->function);
        cap_function(&t->function);
    }
    return find_made_for(t, f, info) && find_witness(t, f, info) && finish_info(t, f, info, index);
}

/* Returns the place of the info like which those of the other nameless frames of the image are
 * made. NULL: out of memory. */
static struct frame_info **nameless_place(struct frame_table *t, const struct raw_frame *f) {
    size_t code = raw_frame_code(f);
    while (t->nameless.len <= code) {
        if (!VEC_PUSH(&t->nameless, NULL)) {
            return NULL;
        }
    }
    return &t->nameless.data[code];
}

/* Makes the info of a frame in an image without a name. Rules see its image alone, so that the
 * infos of an image's nameless frames differ only in what their offsets say. */
static bool make_nameless(struct frame_table *t, const struct raw_frame *f, struct frame_info *info,
                          size_t index) {
    struct frame_info **like = nameless_place(t, f);
    if (!like) {
        return false;
    }
    if (*like) {
        *info = **like;
        info->index = index;
        info->as_linked = info->as_app = NULL;
        info->vote_epoch = info->votes = info->newest = 0;
        return set_key_function(t, f, info, index);
    }
    if (!make_info(t, f, info, index)) {
        return false;
    }
    *like = info;
    return true;
}

struct frame_info *raw_frame_info(struct frame_table *t, const struct raw_frame *f) {
    struct frame_info *info = arena_alloc(&t->arena, sizeof *info);
    size_t index = t->infos.len;
    if (!info || !VEC_PUSH(&t->infos, info)) {
        return NULL;
    }
    info->index = index;
    strbuf_clear(&t->function);
    bool nameless = f->facts && !f->function;
    bool made = nameless ? make_nameless(t, f, info, index) : make_info(t, f, info, index);
    return made ? info : NULL;
}

/* Returns the canonical info of like's image and function; if there is none, a copy of `like`
 * becomes it. NULL: out of memory. */
static struct frame_info *named_info(struct frame_table *t, const struct frame_info *like) {
    strbuf_clear(&t->raw);
    add_frame_name(&t->raw, like->image, like->function);
    const struct map_entry *entry =
        t->raw.failed ? NULL : map_get(&t->by_key, t->raw.data, t->raw.len);
    if (entry || t->raw.failed) {
        return entry ? t->infos.data[entry->value] : NULL;
    }
    size_t index = t->infos.len;
    struct frame_info *made = arena_alloc(&t->arena, sizeof *made);
    if (!made || !VEC_PUSH(&t->infos, made)) {
        return NULL;
    }
    *made = *like;
    made->function = arena_strdup(&t->arena, like->function, strlen(like->function));
    made->canonical = made;
    made->index = index;
    made->enclosing = hash_bytes(like->function, strlen(like->function));
    return made->function && map_put(&t->by_key, t->raw.data, t->raw.len, index, NULL) ? made
                                                                                       : NULL;
}

/* Returns a new info that is a copy of `like`, but for the index and the canonical info, which is
 * that of like's image and function. NULL: out of memory. */
static struct frame_info *info_like(struct frame_table *t, const struct frame_info *like) {
    struct frame_info *canonical = named_info(t, like);
    struct frame_info *made = canonical ? arena_alloc(&t->arena, sizeof *made) : NULL;
    size_t index = t->infos.len;
    if (!made || !VEC_PUSH(&t->infos, made)) {
        return NULL;
    }
    *made = *like;
    made->canonical = canonical;
    made->index = index;
    return made;
}

struct frame_info *frame_as_linked(struct frame_table *t, struct frame_info *info) {
    if (!info->as_linked) {
        struct frame_info linked = *info;
        linked.framework = arena_strdup(&t->arena, info->function, info->owner_len);
        linked.image = linked.framework;
        linked.linked = true;
        linked.owner_len = 0;
        info->as_linked = linked.framework ? info_like(t, &linked) : NULL;
    }
    return info->as_linked;
}

struct frame_info *frame_as_app(struct frame_table *t, struct frame_info *info) {
    if (!info->as_app) {
        struct frame_info own = *info;
        own.framework = info->image_name;
        own.image = "app";
        own.linked = false;
        info->as_app = info_like(t, &own);
    }
    return info->as_app;
}

struct frame_info *frame_of_library(struct frame_table *t, const struct frame_info *info,
                                    const char *name) {
    struct frame_info library = {.image = name,
                                 .image_name = name,
                                 .framework = name,
                                 .function = "",
                                 .reason = "",
                                 .side = info->side,
                                 .vendor = info->vendor,
                                 .resolved = true};
    return named_info(t, &library);
}

struct frame_info *frame_of_name(struct frame_table *t, const char *kind, const char *name) {
    struct frame_info named = {
        .image = kind, .image_name = kind, .framework = "", .reason = "", .resolved = true};
    strbuf_clear(&t->function);
    for (; *name; name++) {
        /* A key's text is lines of words with tabs between them. */
        unsigned char c = (unsigned char)*name;
        strbuf_addc(&t->function, c < 0x20 || c == 0x7f ? ' ' : (char)c);
    }
    cap_function(&t->function);
    named.function = strbuf_cstr(&t->function);
    return t->function.failed ? NULL : named_info(t, &named);
}

/* ---- callers ---- */

static struct frame_info *info_from(struct frame_table *t, const struct frame_info *info,
                                    const struct frame_callers *callers) {
    const struct frame_info *caller = callers->next, *under = callers->under;
    struct frame_info *from = arena_alloc(&t->arena, sizeof *from);
    struct rule_subject s = {.function = info->resolved ? info->function : NULL,
                             .function_len = info->resolved ? strlen(info->function) : 0,
                             .image = info->image_name,
                             .image_len = strlen(info->image_name),
                             .side = info->side,
                             .os = info->os,
                             .caller_known = true};
    if (!from) {
        return NULL;
    }
    if (caller && caller->resolved) {
        s.caller = caller->function;
        s.caller_len = strlen(caller->function);
    }
    if (under) {
        s.under = under->framework;
        s.under_image = under->image_name;
    }
    set_qualified(&s, info);
    *from = *info;
    from->by_caller = false;
    from->as_linked = from->as_app = NULL;
    from->index = t->infos.len;
    decide_rest(t, &s, from);
    from->waits =
        from->waits || (from->by[RULE_CAUSE] && from->by[RULE_CAUSE]->framework_count > 0);
    return VEC_PUSH(&t->infos, from) ? from : NULL;
}

struct frame_info *frame_from(struct frame_table *t, struct frame_info *info,
                              const struct frame_callers *callers) {
    const struct frame_info *caller = callers->next, *under = callers->under;
    if (!info || !info->by_caller) {
        return info;
    }
    size_t key[] = {info->index, caller ? caller->canonical->index : SIZE_MAX,
                    under ? under->index : SIZE_MAX};
    struct map_entry *entry = map_put(&t->by_caller, key, sizeof key, SIZE_MAX, NULL);
    if (!entry) {
        return NULL;
    }
    if (entry->value == SIZE_MAX) {
        struct frame_info *from = info_from(t, info, callers);
        if (!from) {
            return NULL;
        }
        entry->value = from->index;
    }
    return t->infos.data[entry->value];
}
