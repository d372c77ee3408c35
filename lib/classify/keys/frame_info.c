/* Normalises each distinct function and matches it with the rules once; afterwards it is one
 * look-up. */
#include "classify/keys/frame_info.h"

#include <string.h>

#include "base/hash.h"
#include "base/path.h"
#include "names/names.h"

/* A frame as the dump has it. */
struct raw_frame {
    const struct image_facts *facts; /* of its image; NULL: it is in none of the dump's */
    const char *image;               /* NULL = none */
    const struct image_id *id;
    enum rule_side side;
    enum rule_os os;
    const struct rule *image_rule; /* the rule that decided on the image as a whole */
    const char *function;          /* NULL = unresolved */
    const char *linkage;           /* its mangled name; NULL = unknown */
    uint64_t offset;               /* of the function, for unresolved ones */
};

void frame_table_release(struct frame_table *t) {
    map_release(&t->by_image);
    map_release(&t->by_raw);
    map_release(&t->by_key);
    map_release(&t->by_caller);
    VEC_RELEASE(&t->infos);
    VEC_RELEASE(&t->images);
    VEC_RELEASE(&t->known_images);
    arena_release(&t->arena);
    strbuf_release(&t->raw);
    strbuf_release(&t->image);
    strbuf_release(&t->function);
    strbuf_release(&t->full);
    strbuf_release(&t->qualified);
    *t = (struct frame_table){.rules = t->rules};
}

/* Cuts an over-long function to KEY_FUNCTION_MAX bytes that still tell it from others. */
static void cap_function(struct strbuf *b) {
    if (b->len > KEY_FUNCTION_MAX) {
        uint64_t hash = hash_bytes(b->data, b->len);
        size_t keep = KEY_FUNCTION_MAX - 20;
        while (keep > 0 && ((unsigned char)b->data[keep] & 0xc0) == 0x80) {
            keep--; /* not inside a UTF-8 character */
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

/* Decides whose code it is: what the dump says, or the first rule on the image or the function. */
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

/* Decides place and cause of a subject whose name and side are decided. */
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

/* Which framework it is part of, and what else rules know of a function. */
static void decide_framework(struct frame_table *t, const struct rule_subject *s,
                             struct frame_info *info) {
    const struct rule *rule = rules_match(t->rules, RULE_FRAMEWORK, s, NULL);
    info->by[RULE_FRAMEWORK] = rule;
    info->framework = rule ? rule->framework : NULL;
    for (int kind = RULE_CALLOUT; kind < RULE_KINDS; kind++) {
        info->by[kind] = rules_match(t->rules, (enum rule_kind)kind, s, NULL);
    }
    info->callout = info->by[RULE_CALLOUT] != NULL;
    info->hidden = info->by[RULE_HIDE] != NULL;
    info->exclusive = info->by[RULE_EXCLUSIVE] != NULL;
    info->memory = info->by[RULE_MEMORY] != NULL;
    info->waits = info->by[RULE_WAIT] != NULL;
    info->loop_image = rules_is_loop_image(t->rules, s->image, s->image_len, s->os);
}

/* All that is known of the function's name, in t->full. */
static void find_full_name(struct frame_table *t, const struct raw_frame *f) {
    strbuf_clear(&t->full);
    bool expanded = (f->linkage && names_expand(f->linkage, strlen(f->linkage), &t->full)) ||
                    names_expand(f->function, strlen(f->function), &t->full);
    if (!expanded) {
        strbuf_addstr(&t->full, f->function);
    }
}

/* The name with its module, where that tells it from the one without. False: out of memory. */
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

/* Applies the rules to the frame, kind by kind: the name first, then the side, then the rest. */
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
}

/* What tells a key's frames apart. */
static void add_name(struct strbuf *out, const char *image, const char *function) {
    strbuf_addstr(out, image);
    strbuf_addc(out, '\t');
    strbuf_addstr(out, function);
}

/* Fills in the members that keys use, and finds the canonical info. False: out of memory. */
static bool finish_info(struct frame_table *t, const struct raw_frame *f, struct frame_info *info,
                        size_t index) {
    char id[IMAGE_ID_TEXT] = "";
    if (!f->function) {
        strbuf_addstr(&t->function, "+0x");
        strbuf_addhex(&t->function, f->offset);
        if (f->id) {
            image_id_text(f->id, id);
        }
    }
    info->image_name = frame_table_keep(t, &t->image);
    info->function = frame_table_keep(t, &t->function);
    if (id[0]) {
        info->image = arena_strdup(&t->arena, id, strlen(id));
    } else {
        info->image = info->in_app && t->rules ? "app"
                      : info->vendor           ? info->vendor
                                               : info->image_name;
    }
    if (!info->framework) {
        bool known = info->image_name && strcmp(info->image_name, "?") != 0;
        info->framework = info->vendor ? info->vendor : known ? info->image_name : "";
    }
    if (!info->image_name || !info->function || !info->image || t->function.failed ||
        t->image.failed) {
        return false;
    }
    const char *enclosing;
    size_t enclosing_len;
    names_enclosing(info->function, strlen(info->function), &enclosing, &enclosing_len);
    info->enclosing = hash_bytes(enclosing, enclosing_len);
    strbuf_clear(&t->raw);
    add_name(&t->raw, info->image, info->function);
    const struct map_entry *entry =
        t->raw.failed ? NULL : map_put(&t->by_key, t->raw.data, t->raw.len, index, NULL);
    if (!entry) {
        return false;
    }
    info->canonical = entry->value == index ? info : t->infos.data[entry->value];
    return true;
}

/* False: out of memory. */
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

static struct frame_info *new_info(struct frame_table *t, const struct raw_frame *f) {
    struct frame_info *info = arena_alloc(&t->arena, sizeof *info);
    size_t index = t->infos.len;
    if (!info || !VEC_PUSH(&t->infos, info)) {
        return NULL;
    }
    info->index = index;
    info->side = f->side;
    info->in_app = info->said_in_app = f->side == SIDE_APP;
    info->os = f->os;
    info->reason = "";
    info->resolved = f->function != NULL;
    strbuf_clear(&t->image);
    strbuf_clear(&t->function);
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
    return find_made_for(t, f, info) && finish_info(t, f, info, index) ? info : NULL;
}

/* What tells the frames of one image from those of another. */
static void add_head(const struct frame_table *t, const struct raw_frame *f, struct strbuf *out) {
    strbuf_addc(out, (char)('0' + f->side));
    strbuf_addc(out, (char)('0' + f->os));
    if (f->image_rule) {
        strbuf_addu64(out, rules_index(t->rules, f->image_rule));
    }
    strbuf_addc(out, '\t');
    strbuf_addstr(out, f->image ? f->image : "");
    strbuf_addc(out, '\t');
}

/* Writes what tells a frame from others into t->raw; NULL: out of memory. */
static const struct strbuf *raw_key(struct frame_table *t, const struct raw_frame *f) {
    struct strbuf *raw = &t->raw;
    strbuf_clear(raw);
    if (f->facts) {
        strbuf_add(raw, f->facts->head, f->facts->head_len);
    } else {
        add_head(t, f, raw);
    }
    if (f->function) {
        const char *linkage = f->linkage ? f->linkage : "";
        strbuf_addstr(raw, f->function);
        strbuf_add(raw, "\n", 1);
        strbuf_add(raw, linkage, strlen(linkage));
    } else {
        strbuf_add(raw, "\n", 1); /* no name starts with it */
        strbuf_add(raw, &f->offset, sizeof f->offset);
        if (f->id) {
            strbuf_add(raw, f->id->bytes, f->id->len);
        }
    }
    return raw->failed ? NULL : raw;
}

static struct frame_info *find_info(struct frame_table *t, const struct raw_frame *f) {
    const struct strbuf *raw = raw_key(t, f);
    if (!raw) {
        return NULL;
    }
    uint64_t hash = hash_quick(raw->data, raw->len);
    struct recent_frame *recent = &t->recent[hash % FRAMES_RECENT];
    if (recent->info && recent->hash == hash && recent->len == raw->len &&
        memcmp(recent->raw, raw->data, raw->len) == 0) {
        return recent->info;
    }
    struct map_entry *entry = map_put(&t->by_raw, raw->data, raw->len, SIZE_MAX, NULL);
    if (!entry) {
        return NULL;
    }
    *recent = (struct recent_frame){.hash = hash, .raw = entry->key, .len = entry->len};
    if (entry->value == SIZE_MAX) {
        size_t index = t->infos.len;
        if (!new_info(t, f)) {
            return NULL;
        }
        entry->value = index; /* nothing else was put */
    }
    recent->info = t->infos.data[entry->value];
    return recent->info;
}

/* ---- of a dump ---- */

static bool begins_with(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

static enum rule_os os_of(const char *os) {
    static const char *const darwin[] = {"iOS",     "iPadOS",   "iPhone OS", "macOS", "Mac OS",
                                         "watchOS", "visionOS", "tvOS",      "xrOS",  "Darwin"};
    for (size_t i = 0; os && i < sizeof darwin / sizeof *darwin; i++) {
        if (begins_with(os, darwin[i])) {
            return OS_DARWIN;
        }
    }
    return os && (strstr(os, "Linux") || begins_with(os, "Android")) ? OS_LINUX : OS_ANY;
}

bool frame_table_begin(struct frame_table *t, const struct dump *d) {
    t->images.len = 0;
    if (d->image_count && !VEC_RESERVE(&t->images, d->image_count)) {
        return false;
    }
    for (; t->images.len < d->image_count; t->images.len++) {
        t->images.data[t->images.len] = NULL;
    }
    t->os = os_of(d->device.os);
    t->addresses = address_rules_of(d);
    return true;
}

/* The name that rules and keys go by. */
static const char *name_of(const struct dump_image *i) {
    return i->name && *i->name ? i->name : i->path;
}

/* Where a dump does not name its system, the kind of an image's id tells. */
static enum rule_os os_of_image(const struct frame_table *t, const struct dump_image *i) {
    if (t->os != OS_ANY) {
        return t->os;
    }
    return i->id.kind == IMAGE_ID_UUID    ? OS_DARWIN
           : i->id.kind == IMAGE_ID_BUILD ? OS_LINUX
                                          : OS_ANY;
}

static enum rule_side said_side(const struct dump_image *i) {
    return i->in_app ? SIDE_APP : SIDE_SYSTEM;
}

static struct image_facts *new_facts(struct frame_table *t, const struct dump_image *i) {
    char id[IMAGE_ID_TEXT];
    const char *name = name_of(i);
    struct image_facts *facts = arena_alloc(&t->arena, sizeof *facts);
    if (!facts) {
        return NULL;
    }
    facts->os = os_of_image(t, i);
    if (t->rules) {
        strbuf_clear(&t->image);
        if (name) {
            names_image(name, strlen(name), &t->image);
        }
        struct rule_image_subject s = {.name = name ? strbuf_cstr(&t->image) : NULL,
                                       .path = i->path,
                                       .id = image_id_text(&i->id, id),
                                       .os = facts->os};
        facts->rule = rules_match_image(t->rules, &s);
    }
    struct raw_frame f = {
        .image = name, .side = said_side(i), .os = facts->os, .image_rule = facts->rule};
    strbuf_clear(&t->function);
    add_head(t, &f, &t->function);
    facts->head = frame_table_keep(t, &t->function);
    facts->head_len = t->function.len;
    return facts->head && !t->function.failed && !t->image.failed ? facts : NULL;
}

/* The facts of this image, which many dumps have; NULL: out of memory. */
static const struct image_facts *find_facts(struct frame_table *t, const struct dump_image *i) {
    const char *name = name_of(i), *path = i->path ? i->path : "";
    struct strbuf *raw = &t->raw;
    strbuf_clear(raw);
    strbuf_addc(raw, (char)('0' + t->os));
    strbuf_addc(raw, (char)('0' + i->in_app));
    strbuf_addc(raw, (char)('0' + i->id.kind));
    strbuf_add(raw, i->id.bytes, i->id.len);
    strbuf_addstr(raw, name ? name : "");
    strbuf_addc(raw, '\n');
    strbuf_add(raw, path, strlen(path));
    struct map_entry *entry =
        raw->failed ? NULL : map_put(&t->by_image, raw->data, raw->len, SIZE_MAX, NULL);
    if (entry && entry->value == SIZE_MAX) {
        struct image_facts *facts = new_facts(t, i);
        if (!facts || !VEC_PUSH(&t->known_images, facts)) {
            return NULL;
        }
        entry->value = t->known_images.len - 1; /* nothing else was put */
    }
    return entry ? t->known_images.data[entry->value] : NULL;
}

/* False: out of memory. */
static bool set_image(struct frame_table *t, struct raw_frame *f, const struct dump *d,
                      int32_t image) {
    f->os = t->os;
    if (image >= 0 && (size_t)image < d->image_count) {
        const struct dump_image *i = &d->images[image];
        const struct image_facts **facts = &t->images.data[image];
        if (!*facts && !(*facts = find_facts(t, i))) {
            return false;
        }
        f->facts = *facts;
        f->image = name_of(i);
        f->side = said_side(i);
        f->os = f->facts->os;
        f->image_rule = f->facts->rule;
        f->id = image_id_is_zero(&i->id) ? NULL : &i->id;
    }
    return true;
}

/* Code in no image, interpreted or made at run time: it is of its file, if that is known. */
static void set_file(struct raw_frame *f, const char *file, bool in_app) {
    f->image = file ? path_name(file) : NULL;
    f->side = in_app ? SIDE_APP : SIDE_SYSTEM;
}

struct frame_info *frame_of_line(struct frame_table *t, const struct dump *d,
                                 const struct dump_location *l, size_t line) {
    struct raw_frame f = {.offset = l->image < 0 ? 0 : l->start};
    if (!set_image(t, &f, d, l->image)) {
        return NULL;
    }
    if (line < l->line_count) {
        if (l->image < 0) {
            set_file(&f, l->lines[line].file, l->in_app);
        }
        f.function = l->lines[line].function ? l->lines[line].function : l->lines[line].linkage;
        f.function = f.function && *f.function ? f.function : NULL;
        f.linkage = l->lines[line].linkage;
    }
    return find_info(t, &f);
}

struct frame_info *frame_of_location(struct frame_table *t, const struct dump *d,
                                     const struct dump_location *l) {
    return frame_of_line(t, d, l, l->line_count ? l->line_count - 1 : 0);
}

struct frame_info *frame_of_address(struct frame_table *t, const struct dump *d,
                                    const struct dump_stack *s, size_t i) {
    struct raw_frame f = {0};
    uint64_t address = address_of_frame(&t->addresses, s, i);
    int32_t image = dump_image_at(d, address);
    if (!set_image(t, &f, d, image)) {
        return NULL;
    }
    if (image >= 0) {
        f.offset = address - d->images[image].load;
    }
    const struct dump_name *name = dump_name_at(d, s->frames[i]);
    if (image < 0 && name) {
        set_file(&f, name->file, name->in_app);
    }
    f.function = name && *name->symbol ? name->symbol : NULL;
    return find_info(t, &f);
}

struct frame_info *frame_of_type(struct frame_table *t, const struct frame_info *info) {
    struct raw_frame f = {
        .image = info->image_name, .side = SIDE_APP, .os = info->os, .function = info->made_for};
    return find_info(t, &f);
}

/* The info of this image and function of a key, made as `like` if it is new. */
static struct frame_info *named_info(struct frame_table *t, const struct frame_info *like) {
    strbuf_clear(&t->raw);
    add_name(&t->raw, like->image, like->function);
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
        unsigned char c = (unsigned char)*name; /* a key's text is lines of words with tabs */
        strbuf_addc(&t->function, c < 0x20 || c == 0x7f ? ' ' : (char)c);
    }
    cap_function(&t->function);
    named.function = strbuf_cstr(&t->function);
    return t->function.failed ? NULL : named_info(t, &named);
}

/* ---- callers ---- */

static struct frame_info *info_from(struct frame_table *t, const struct frame_info *info,
                                    const struct frame_info *caller) {
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
    set_qualified(&s, info);
    *from = *info;
    from->by_caller = false;
    from->index = t->infos.len;
    decide_rest(t, &s, from);
    return VEC_PUSH(&t->infos, from) ? from : NULL;
}

struct frame_info *frame_from(struct frame_table *t, struct frame_info *info,
                              const struct frame_info *caller) {
    if (!info || !info->by_caller) {
        return info;
    }
    size_t key[] = {info->index, caller ? caller->canonical->index : SIZE_MAX};
    struct map_entry *entry = map_put(&t->by_caller, key, sizeof key, SIZE_MAX, NULL);
    if (!entry) {
        return NULL;
    }
    if (entry->value == SIZE_MAX) {
        struct frame_info *from = info_from(t, info, caller);
        if (!from) {
            return NULL;
        }
        entry->value = from->index;
    }
    return t->infos.data[entry->value];
}
