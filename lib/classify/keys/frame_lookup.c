/* Finds the info of a dump's frame. If a frame was looked up recently, its text is not built
 * again. */
#include <string.h>

#include "base/hash.h"
#include "base/path.h"
#include "classify/keys/frame_info.h"
#include "classify/keys/raw_frame_private.h"
#include "names/names.h"

/* Maximum distance in bytes of a report's name from the start of its function, in an image that is
 * not the app's. Of the exported functions of 376 libraries of Debian 12, 0.03 % are longer; of the
 * functions that are not exported, whose nearest exported name is wrong, 56 % lie farther from that
 * name. */
enum { FAR_NAME = 16 * 1024 };

/* Appends the text that distinguishes the frames of one image from those of another. */
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

/* Appends the text that distinguishes the frames of a library from others of the image. */
static void add_package(const struct raw_frame *f, struct strbuf *out) {
    strbuf_addc(out, 'p'); /* other heads begin with a digit */
    strbuf_addu64(out, f->package_len);
    strbuf_addc(out, ' ');
    strbuf_add(out, f->package, f->package_len);
}

/* Writes the text that identifies a frame into t->raw; NULL: out of memory. */
static const struct strbuf *raw_key(struct frame_table *t, const struct raw_frame *f) {
    struct strbuf *raw = &t->raw;
    strbuf_clear(raw);
    if (f->facts) {
        strbuf_add(raw, f->head, f->head_len);
    } else {
        if (f->package) {
            add_package(f, raw);
        }
        add_head(t, f, raw);
    }
    if (f->function) {
        const char *linkage = f->linkage ? f->linkage : "";
        strbuf_addstr(raw, f->function);
        strbuf_add(raw, "\n", 1);
        strbuf_add(raw, linkage, strlen(linkage));
    } else {
        strbuf_add(raw, "\n", 1); /* no name starts with a line feed */
        strbuf_add(raw, &f->offset, sizeof f->offset);
        if (f->id) {
            strbuf_add(raw, f->id->bytes, f->id->len);
        }
    }
    return raw->failed ? NULL : raw;
}

/* Returns a frame in the form in which it is compared with entries of the cache of recent frames.
 */
static struct recent_frame recent_like(const struct raw_frame *f) {
    struct recent_frame r = {.function = NULL};
    if (f->function) {
        r.head = f->head;
        r.function_len = strlen(f->function);
        r.linkage_len = f->linkage ? strlen(f->linkage) : 0;
    } else {
        r.code = raw_frame_code(f);
        r.offset = f->offset;
    }
    return r;
}

/* Returns the entry of the cache of recent frames for a frame in an image. Most frames are looked
 * up repeatedly, and a look-up in by_raw, whose hash resists constructed collisions, takes several
 * times as long. */
static struct recent_frame *recent_place(struct frame_table *t, const struct raw_frame *f,
                                         const struct recent_frame *like) {
    uint64_t hash = (uintptr_t)like->head ^ (uint64_t)like->code << 48 ^ like->offset;
    if (like->function_len) {
        hash ^= hash_quick(f->function, like->function_len);
    }
    if (like->linkage_len) {
        hash = hash_u64(hash) ^ hash_quick(f->linkage, like->linkage_len);
    }
    return &t->recent[hash_u64(hash) % FRAMES_RECENT];
}

static bool is_recent(const struct recent_frame *r, const struct raw_frame *f,
                      const struct recent_frame *like) {
    if (!r->info || r->head != like->head) {
        return false;
    }
    if (!f->function) {
        return r->code == like->code && r->offset == like->offset;
    }
    return r->function_len == like->function_len && r->linkage_len == like->linkage_len &&
           memcmp(r->function, f->function, like->function_len) == 0 &&
           (like->linkage_len == 0 ||
            memcmp(r->function + r->function_len + 1, f->linkage, like->linkage_len) == 0);
}

/* Returns the info of a frame, and sets *text to its key in by_raw. NULL: out of memory. */
static struct frame_info *info_of_text(struct frame_table *t, const struct raw_frame *f,
                                       const char **text) {
    const struct strbuf *raw = raw_key(t, f);
    struct map_entry *entry = raw ? map_put(&t->by_raw, raw->data, raw->len, SIZE_MAX, NULL) : NULL;
    if (!entry) {
        return NULL;
    }
    *text = entry->key;
    if (entry->value == SIZE_MAX) {
        size_t index = t->infos.len;
        if (!raw_frame_info(t, f)) {
            return NULL;
        }
        entry->value = index; /* `entry` is still valid, because no other entry was added since */
    }
    return t->infos.data[entry->value];
}

static struct frame_info *find_info(struct frame_table *t, const struct raw_frame *f) {
    const char *text;
    if (!f->facts) {
        return info_of_text(t, f, &text);
    }
    struct recent_frame like = recent_like(f), *recent = recent_place(t, f, &like);
    if (!is_recent(recent, f, &like)) {
        struct frame_info *info = info_of_text(t, f, &text);
        if (!info) {
            return NULL;
        }
        like.info = info;
        like.function = text + f->head_len;
        *recent = like;
    }
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

static void forget_images(struct frame_table *t) {
    t->known_images.len = 0;
    map_clear(&t->by_image);
    arena_clear(&t->image_arena);
    memset(t->recent_images, 0, sizeof t->recent_images);
}

bool frame_table_begin(struct frame_table *t, const struct dump *d) {
    t->images.len = 0;
    memset(t->recent_files, 0, sizeof t->recent_files);
    if (t->known_images.len >= IMAGES_KNOWN_MAX) {
        forget_images(t);
    }
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

/* Returns the name of an image that rules and keys use. */
static const char *name_of(const struct dump_image *i) {
    return i->name && *i->name ? i->name : i->path;
}

/* Returns the system of an image: the dump's system, or, if the dump names none, the system that
 * the kind of the image's id implies. */
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

/* Sets facts->head from t->function, and facts->code. False: out of memory. */
static bool add_numbers(struct frame_table *t, struct image_facts *facts,
                        const struct image_id *id) {
    const struct strbuf *text = &t->function;
    size_t head =
        text->failed || t->image.failed ? SIZE_MAX : map_intern(&t->heads, text->data, text->len);
    if (head == SIZE_MAX) {
        return false;
    }
    facts->head = map_string(&t->heads, head);
    facts->head_len = text->len;
    struct {
        uint64_t head;
        uint8_t id[IMAGE_ID_MAX];
        uint8_t id_len;
    } code;
    memset(&code, 0, sizeof code); /* padding is compared, too */
    code.head = head;
    if (!image_id_is_zero(id)) {
        code.id_len = id->len;
        memcpy(code.id, id->bytes, id->len);
    }
    facts->code = map_intern(&t->codes, (const char *)&code, sizeof code);
    return facts->code != SIZE_MAX;
}

/* Is the image as a whole the app's? Its normalised name is in t->image. */
static bool image_is_app(const struct frame_table *t, const struct image_facts *facts,
                         const struct dump_image *i) {
    const struct rule_subject s = {.image = strbuf_cstr(&t->image),
                                   .image_len = t->image.len,
                                   .side = said_side(i),
                                   .os = facts->os};
    const struct rule *rule = rules_match(t->rules, RULE_SIDE, &s, NULL);
    if (rules_index(t->rules, facts->rule) < rules_index(t->rules, rule)) {
        rule = facts->rule;
    }
    return rule ? rule->side == SIDE_APP : i->in_app;
}

static struct image_facts *new_facts(struct frame_table *t, const struct dump_image *i) {
    char id[IMAGE_ID_TEXT];
    const char *name = name_of(i);
    struct image_facts *facts = arena_alloc(&t->image_arena, sizeof *facts);
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
    facts->in_app = t->rules ? image_is_app(t, facts, i) : i->in_app;
    struct raw_frame f = {
        .image = name, .side = said_side(i), .os = facts->os, .image_rule = facts->rule};
    strbuf_clear(&t->function);
    add_head(t, &f, &t->function);
    return add_numbers(t, facts, &i->id) ? facts : NULL;
}

/* The members of an image in a dump, except for its addresses. */
struct image_text {
    char letters[3]; /* a digit each: the dump's system, whether the image is the app's, the kind of
                        its id */
    const struct image_id *id;
    const char *name, *path;
    size_t name_len, path_len;
};

static struct image_text image_text_of(const struct frame_table *t, const struct dump_image *i) {
    const char *name = name_of(i);
    struct image_text text = {
        .letters = {(char)('0' + t->os), (char)('0' + i->in_app), (char)('0' + i->id.kind)},
        .id = &i->id,
        .name = name ? name : "",
        .path = i->path ? i->path : ""};
    text.name_len = strlen(text.name);
    text.path_len = strlen(text.path);
    return text;
}

/* Does a recent image have this text? */
static bool is_recent_image(const struct recent_image *r, const struct image_text *text) {
    const char *at = r->text;
    size_t len = sizeof text->letters + text->id->len + text->name_len + 1 + text->path_len;
    if (!r->facts || r->len != len || memcmp(at, text->letters, sizeof text->letters) != 0) {
        return false;
    }
    at += sizeof text->letters;
    if (memcmp(at, text->id->bytes, text->id->len) != 0) {
        return false;
    }
    at += text->id->len;
    return memcmp(at, text->name, text->name_len) == 0 && at[text->name_len] == '\n' &&
           memcmp(at + text->name_len + 1, text->path, text->path_len) == 0;
}

static const struct image_facts *facts_of_text(struct frame_table *t, const struct dump_image *i,
                                               const struct image_text *text,
                                               struct recent_image *recent) {
    struct strbuf *raw = &t->raw;
    strbuf_clear(raw);
    strbuf_add(raw, text->letters, sizeof text->letters);
    strbuf_add(raw, text->id->bytes, text->id->len);
    strbuf_add(raw, text->name, text->name_len);
    strbuf_addc(raw, '\n');
    strbuf_add(raw, text->path, text->path_len);
    struct map_entry *entry =
        raw->failed ? NULL : map_put(&t->by_image, raw->data, raw->len, SIZE_MAX, NULL);
    if (!entry) {
        return NULL;
    }
    *recent = (struct recent_image){.text = entry->key, .len = entry->len};
    if (entry->value == SIZE_MAX) {
        struct image_facts *facts = new_facts(t, i);
        if (!facts || !VEC_PUSH(&t->known_images, facts)) {
            return NULL;
        }
        /* `entry` is still valid, because no other entry was added since. */
        entry->value = t->known_images.len - 1;
    }
    recent->facts = t->known_images.data[entry->value];
    return recent->facts;
}

/* Returns the facts about an image; NULL: out of memory. The facts are cached, because many dumps
 * have the same images. */
static const struct image_facts *find_facts(struct frame_table *t, const struct dump_image *i) {
    struct image_text text = image_text_of(t, i);
    uint64_t hash = hash_quick(i->id.bytes, i->id.len) ^ hash_quick(text.name, text.name_len);
    struct recent_image *recent = &t->recent_images[hash % IMAGES_RECENT];
    return is_recent_image(recent, &text) ? recent->facts : facts_of_text(t, i, &text, recent);
}

/* Sets the image and the system of a raw frame, by the image's index in the dump; with an index of
 * no image only the system, which is the dump's. False: out of memory. */
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
        f->head = f->facts->head;
        f->head_len = f->facts->head_len;
        f->image = name_of(i);
        f->side = said_side(i);
        f->os = f->facts->os;
        f->image_rule = f->facts->rule;
        f->id = image_id_is_zero(&i->id) || i->unplaced ? NULL : &i->id;
    }
    return true;
}

/* Was the image, by its name, built from the code in whose folder the file lies? Such code is not
 * that of a library. */
static bool is_built_from(struct frame_table *t, const struct raw_frame *f, const char *file) {
    strbuf_clear(&t->image);
    if (f->image) {
        names_image(f->image, strlen(f->image), &t->image);
    }
    return names_builds_program(file, strlen(file), strbuf_cstr(&t->image), t->image.len);
}

/* Fills *recent with the library that the file is of, for frames in the image of f; with none if
 * the file is of no library, or the image was built from it. False: out of memory. */
static bool find_linked_package(struct frame_table *t, struct raw_frame *f, const char *file,
                                struct recent_file *recent) {
    *recent = (struct recent_file){
        .file = file, .facts = f->facts, .head = f->head, .head_len = f->head_len};
    if (!names_package(file, strlen(file), &f->package, &f->package_len) ||
        is_built_from(t, f, file)) {
        return true;
    }
    strbuf_clear(&t->raw);
    add_package(f, &t->raw);
    size_t named = t->raw.len;
    strbuf_add(&t->raw, f->head, f->head_len);
    size_t head = t->raw.failed ? SIZE_MAX : map_intern(&t->heads, t->raw.data, t->raw.len);
    if (head == SIZE_MAX) {
        recent->file = NULL;
        return false;
    }
    recent->head = map_string(&t->heads, head);
    recent->head_len = t->raw.len;
    recent->package = recent->head + named - f->package_len;
    recent->package_len = f->package_len;
    return true;
}

/* Sets f->package to the library that a frame's source file is of, and, if the frame is in an
 * image, f->head to that library's; nothing is set without rules, or if the frame is not the app's.
 * file: NULL = unknown. False: out of memory. */
static bool set_package(struct frame_table *t, struct raw_frame *f, const char *file) {
    bool in_app = f->facts ? f->facts->in_app && f->function : f->side == SIDE_APP;
    if (!file || !t->rules || !in_app) {
        return true;
    }
    if (!f->facts) {
        bool found = names_package(file, strlen(file), &f->package, &f->package_len);
        f->package = found ? f->package : NULL;
        return true;
    }
    struct recent_file *recent = &t->recent_files[hash_u64((uintptr_t)file) % FILES_RECENT];
    if ((recent->file != file || recent->facts != f->facts) &&
        !find_linked_package(t, f, file, recent)) {
        return false;
    }
    f->head = recent->head;
    f->head_len = recent->head_len;
    f->package = recent->package;
    f->package_len = recent->package_len;
    return true;
}

/* Sets, for code in no image (interpreted, or made at run time), the image to the name of its
 * source file without folders, or NULL if that is not known, and the side by in_app. */
static void set_file(struct raw_frame *f, const char *file, bool in_app) {
    f->image = file ? path_name(file) : NULL;
    f->side = in_app ? SIDE_APP : SIDE_SYSTEM;
}

/* Is a name that a report gives for an address so far from it that it is probably only the nearest
 * symbol of a library that has few? Names of the app's images are believed. */
static bool is_far(const struct raw_frame *f, uint64_t distance) {
    return f->facts && !f->facts->in_app && distance > FAR_NAME;
}

struct frame_info *frame_of_line(struct frame_table *t, const struct dump *d,
                                 const struct dump_location *l, size_t line) {
    struct raw_frame f = {.offset = t->startless && l->line_count == 0 ? l->offset : l->start};
    f.offset = l->image < 0 ? 0 : f.offset;
    if (!set_image(t, &f, d, l->image)) {
        return NULL;
    }
    if (l->source == DUMP_SOURCE_REPORT && is_far(&f, l->offset - l->start)) {
        f.offset = l->offset;
    } else if (line < l->line_count) {
        if (l->image < 0) {
            set_file(&f, l->lines[line].file, l->in_app);
        }
        f.function = l->lines[line].function ? l->lines[line].function : l->lines[line].linkage;
        f.function = f.function && *f.function ? f.function : NULL;
        f.linkage = l->lines[line].linkage;
        if (!set_package(t, &f, l->lines[line].file)) {
            return NULL;
        }
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
    name = name && is_far(&f, name->offset) ? NULL : name;
    f.function = name && *name->symbol ? name->symbol : NULL;
    if (name && !set_package(t, &f, name->file)) {
        return NULL;
    }
    return find_info(t, &f);
}

struct frame_info *frame_of_type(struct frame_table *t, const struct frame_info *info) {
    struct raw_frame f = {
        .image = info->image_name, .side = SIDE_APP, .os = info->os, .function = info->made_for};
    return find_info(t, &f);
}
