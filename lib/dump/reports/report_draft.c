/* The draft of a dump, which a reader of reports fills. */
#include "dump/reports/report_private.h"

#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "dump/dump.h"
#include "dump/dump_private.h"

void report_init(struct report *r, const char *format, uint64_t ordinal, struct err *e) {
    *r = (struct report){.e = e,
                         .format = format,
                         .ordinal = ordinal,
                         .threshold_ms = -1,
                         .at_ms = -1,
                         .duration_ms = -1,
                         .cpu_ms = -1,
                         .since_launch_ms = -1,
                         .top_thread = -1,
                         .sample_interval_ms = -1};
}

void report_release(struct report *r) {
    VEC_RELEASE(&r->images);
    VEC_RELEASE(&r->threads);
    VEC_RELEASE(&r->samples);
    VEC_RELEASE(&r->frames);
    VEC_RELEASE(&r->names);
    VEC_RELEASE(&r->rows);
    VEC_RELEASE(&r->chains);
    VEC_RELEASE(&r->context);
    map_release(&r->name_index);
    map_release(&r->name_keys);
    map_release(&r->chain_index);
    map_release(&r->named_places);
    map_release(&r->file_places);
    arena_release(&r->arena);
}

void report_keep(struct report *r, const char *key, struct span span, bool text) {
    if (r->part_count < REPORT_PARTS_MAX) {
        r->parts[r->part_count++] = (struct report_part){key, span, text};
    }
}

/* ---- machines and systems ---- */

const char *report_cpu(int64_t type, int64_t subtype) {
    static const struct {
        int64_t type, subtype; /* -1: any subtype */
        const char *name;
    } cpus[] = {
        {0x01000007, 8, "x86_64h"}, {0x01000007, -1, "x86_64"}, {7, -1, "i386"},
        {0x0100000c, 2, "arm64e"},  {0x0100000c, -1, "arm64"},  {0x0200000c, -1, "arm64_32"},
        {12, 6, "armv6"},           {12, 9, "armv7"},           {12, 11, "armv7s"},
        {12, 12, "armv7k"},         {12, -1, "armv7"},
    };
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        if (cpus[i].type == type &&
            (cpus[i].subtype < 0 || cpus[i].subtype == (subtype & 0xffffff))) {
            return cpus[i].name;
        }
    }
    return NULL;
}

const char *report_code_type(const char *text) {
    static const char *const words[][2] = {
        {"ARM-64", "arm64"}, {"ARM", "armv7"},     {"X86-64", "x86_64"}, {"X86", "i386"},
        {"x86", "i386"},     {"i386", "i386"},     {"x86_64", "x86_64"}, {"x86_64h", "x86_64h"},
        {"arm64", "arm64"},  {"arm64e", "arm64e"}, {"arm64v8", "arm64"}, {"arm64_32", "arm64_32"},
        {"armv6", "armv6"},  {"armv7", "armv7"},   {"armv7s", "armv7s"}, {"armv7k", "armv7k"},
        {"armv7f", "armv7"},
    };
    size_t len = text ? strcspn(text, " (") : 0;
    size_t at;
    return len > 0 && PARSE_WORD(text, len, words, &at) ? words[at][1] : NULL;
}

/* Returns the text with the name of the operating system in its usual spelling: "Android 14" for
 * "android 14". */
static const char *os_as_usual(struct report *r, const char *text) {
    static const char *const names[] = {"Android", "iOS",     "iPadOS",   "macOS",
                                        "tvOS",    "watchOS", "visionOS", "Linux"};
    size_t len = text ? strcspn(text, " ") : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t same = 0;
        while (same < len && report_lower(text[same]) == report_lower(names[i][same])) {
            same++;
        }
        if (len > 0 && same == len && !names[i][len]) {
            return report_join(r, names[i], "", text[len] ? text + len : NULL);
        }
    }
    return text;
}

void report_os(struct report *r, const char *text) {
    static const char old_name[] = "iPhone OS ";
    if (!text) {
        return;
    }
    const char *open = strrchr(text, '('), *close = open ? strchr(open, ')') : NULL;
    size_t len = close ? (size_t)(open - text) : strlen(text);
    while (len > 0 && text[len - 1] == ' ') {
        len--;
    }
    if (len >= sizeof old_name - 1 && strncmp(text, old_name, sizeof old_name - 1) == 0) {
        const char *version =
            report_text(r, text + sizeof old_name - 1, len - (sizeof old_name - 1));
        r->os = report_join(r, "iOS", " ", version);
    } else {
        r->os = strncmp(text, "???", 3) == 0 ? NULL : os_as_usual(r, report_text(r, text, len));
    }
    if (close) {
        const char *build = open + 1; /* macOS writes "(Build 21H1320)" */
        build += strncmp(build, "Build ", 6) == 0 ? 6 : 0;
        len = build < close ? (size_t)(close - build) : 0;
        r->os_build = strncmp(build, "???", 3) == 0 ? NULL : report_text(r, build, len);
    }
}

/* Returns the path without a leading "/private". Some paths of a process have it, and others do
 * not. */
static const char *public_path(const char *path) {
    static const char prefix[] = "/private/";
    return path && strncmp(path, prefix, sizeof prefix - 1) == 0 ? path + sizeof prefix - 2 : path;
}

/* Is the file part of a simulator's system, or of a platform in Xcode? */
static bool belongs_to_platform(const char *path) {
    return path && (strstr(path, ".simruntime/") || strstr(path, ".platform/Developer/"));
}

void report_executable(struct report *r, const char *path) {
    const char *base = path_name(path);
    if (!path || base == path) {
        r->process = path ? path : r->process;
        return;
    }
    r->process = base;
    const char *shown = public_path(path);
    const char *bundle = belongs_to_platform(shown) ? NULL : strstr(shown, ".app/");
    r->bundle = bundle ? report_text(r, shown, (size_t)(bundle - shown) + 5) : NULL;
}

static bool same_name(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

/* Does the image belong to the app? Swift's runtime libraries, which old apps contained, do not
 * count. Some texts name the app's image by the app's identifier. */
bool report_is_in_app(const struct report *r, const struct report_image *image) {
    if ((image->name && strncmp(image->name, "libswift", 8) == 0) ||
        belongs_to_platform(image->path)) {
        return false;
    }
    if (r->bundle && image->path) {
        return strncmp(public_path(image->path), r->bundle, strlen(r->bundle)) == 0;
    }
    return image->in_app || same_name(image->name, r->process) ||
           (!image->path && same_name(image->name, r->app_id));
}

/* ---- images and stacks ---- */

uint64_t report_strip(const struct report *r, uint64_t address) {
    bool arm64 = r->arch && strncmp(r->arch, "arm64", 5) == 0;
    return arm64 ? address & ((UINT64_C(1) << 47) - 1) : address;
}

void report_image(struct report *r, const struct report_image *image) {
    r->no_memory = !VEC_PUSH(&r->images, *image) || r->no_memory;
}

void report_own_uuid(struct report *r, const char *uuid) {
    for (size_t i = 0; uuid && r->process && i < r->images.len; i++) {
        struct report_image *image = &r->images.data[i];
        if (image->name && strcmp(image->name, r->process) == 0) {
            if (image_id_is_zero(&image->id)) {
                (void)parse_uuid(uuid, strlen(uuid), &image->id);
            }
            return;
        }
    }
}

struct report_stack report_begin_stack(const struct report *r) {
    return (struct report_stack){.first = r->frames.len, .samples = 1};
}

void report_end_stack(const struct report *r, struct report_stack *s) {
    s->count = r->frames.len - s->first;
}

enum st report_add_thread(struct report *r, const struct report_thread *t) {
    if (r->threads.len >= DUMP_STACKS_MAX) {
        return err_set(r->e, ERR_LIMIT, "more than %d threads", DUMP_STACKS_MAX);
    }
    return VEC_PUSH(&r->threads, *t) ? ST_OK : err_nomem(r->e);
}

enum st report_add_sample(struct report *r, const struct report_stack *s) {
    if (r->samples.len >= DUMP_STACKS_MAX) {
        return err_set(r->e, ERR_LIMIT, "more than %d different stacks", DUMP_STACKS_MAX);
    }
    return VEC_PUSH(&r->samples, *s) ? ST_OK : err_nomem(r->e);
}

enum st report_probe_images(struct report *r, struct dump *out) {
    struct dump_image_order *order = arena_array(&r->arena, r->images.len, sizeof *order);
    *out = (struct dump){.image_count = r->images.len};
    out->images = arena_array(&r->arena, r->images.len, sizeof *out->images);
    if (!order || !out->images) {
        return err_nomem(r->e);
    }
    for (size_t i = 0; i < r->images.len; i++) {
        out->images[i].load = r->images.data[i].load;
        out->images[i].size = r->images.data[i].size;
    }
    dump_order_images(out->images, r->images.len, order);
    out->image_order = order;
    return ST_OK;
}

/* ---- frames and their names ---- */

struct report_frame report_frame_at(const struct report *r, uint64_t address) {
    struct report_frame frame = {.address = report_strip(r, address)};
    const struct map_entry *entry = map_get(&r->name_index, &frame.address, sizeof frame.address);
    frame.name = entry ? entry->value + 1 : 0;
    return frame;
}

enum st report_add_frame(struct report *r, struct report_frame frame) {
    if (r->frames.len >= REPORT_FRAMES_MAX) {
        return err_set(r->e, ERR_LIMIT, "its stacks unfold to more than %d frames",
                       REPORT_FRAMES_MAX);
    }
    return VEC_PUSH(&r->frames, frame) ? ST_OK : err_nomem(r->e);
}

enum st report_frame(struct report *r, uint64_t address) {
    return report_add_frame(r, report_frame_at(r, address));
}

static bool names_equal(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_row(const struct report_name *a, const struct report_name *b) {
    return a->line == b->line && names_equal(a->symbol, b->symbol) && names_equal(a->file, b->file);
}

/* Returns the entry in name_keys of a name, made with `value` if it is new; NULL: out of memory. */
static struct map_entry *put_name_key(struct report *r, const struct report_name *name,
                                      size_t value, bool *added) {
    struct strbuf key = {0};
    strbuf_addf(&key, "%" PRIx64 " %" PRIu32 " %s%c%s", name->address, name->line, name->symbol, 0,
                name->file ? name->file : "");
    struct map_entry *entry =
        key.failed ? NULL : map_put(&r->name_keys, key.data, key.len, value, added);
    strbuf_release(&key);
    return entry;
}

/* Returns the readable name of "$s4Shop4CartC3addyyF ---> Cart.add()", as swift-demangle(1) writes
 * names; of any other name the whole of it. */
static const char *without_mangled(const char *symbol) {
    static const char arrow[] = " ---> ";
    const size_t word = symbol && strchr("$_", *symbol) ? strcspn(symbol, " ") : 0;
    const bool paired = word > 0 && strncmp(symbol + word, arrow, sizeof arrow - 1) == 0;
    return paired && symbol[word + sizeof arrow - 1] ? symbol + word + sizeof arrow - 1 : symbol;
}

uint64_t report_name(struct report *r, const struct report_name *name) {
    bool added = false;
    struct report_name own = *name;
    own.address = report_strip(r, own.address);
    own.symbol = without_mangled(own.symbol);
    if (!own.symbol) {
        return 0;
    }
    struct map_entry *last =
        VEC_RESERVE(&r->names, 1)
            ? map_put(&r->name_index, &own.address, sizeof own.address, r->names.len, &added)
            : NULL;
    if (last && !added) {
        const struct report_name *before = &r->names.data[last->value];
        if (is_same_row(before, &own)) {
            return last->value + 1;
        }
        const struct map_entry *entry = put_name_key(r, before, last->value, NULL);
        entry = entry ? put_name_key(r, &own, r->names.len, &added) : NULL;
        last->value = entry ? entry->value : last->value;
        last = entry ? last : NULL;
    }
    if (!last) {
        r->no_memory = true;
        return 0;
    }
    if (added) {
        r->names.data[r->names.len++] = own;
    }
    return last->value + 1;
}
