/* A dump in the making: filled by a reader, written as stall-dump/1. */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/hash.h"
#include "base/jsonw.h"
#include "base/parse.h"
#include "base/path.h"
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
                         .sample_interval_ms = -1};
}

void report_release(struct report *r) {
    VEC_RELEASE(&r->images);
    VEC_RELEASE(&r->threads);
    VEC_RELEASE(&r->samples);
    VEC_RELEASE(&r->frames);
    VEC_RELEASE(&r->names);
    map_release(&r->name_index);
    arena_release(&r->arena);
}

void report_keep(struct report *r, const char *key, struct span span, bool text) {
    if (r->part_count < REPORT_PARTS_MAX) {
        r->parts[r->part_count++] = (struct report_part){key, span, text};
    }
}

/* ---- strings ---- */

const char *report_text(struct report *r, const char *s, size_t len) {
    if (len == 0) {
        return NULL;
    }
    const char *copy = arena_strdup(&r->arena, s, len);
    r->no_memory = r->no_memory || !copy;
    return copy;
}

const char *report_string(struct report *r, const json_t *value) {
    return json_is_string(value)
               ? report_text(r, json_string_value(value), json_string_length(value))
               : NULL;
}

const char *report_join(struct report *r, const char *a, const char *between, const char *b) {
    if (!a || !b) {
        return a ? a : b;
    }
    struct strbuf text = {0};
    strbuf_addstr(&text, a);
    strbuf_addstr(&text, between);
    strbuf_addstr(&text, b);
    r->no_memory = r->no_memory || text.failed;
    const char *joined = report_text(r, strbuf_cstr(&text), text.len);
    strbuf_release(&text);
    return joined;
}

bool report_address(const json_t *value, uint64_t *out) {
    int64_t negative;
    if (json_is_integer(value)) {
        *out = (uint64_t)json_integer_value(value);
        return true;
    }
    if (!json_is_string(value)) {
        return false;
    }
    const char *s = json_string_value(value);
    size_t len = json_string_length(value);
    if (parse_address(s, len, out)) {
        return true;
    }
    if (parse_i64(s, len, &negative)) {
        *out = (uint64_t)negative;
        return true;
    }
    return false;
}

/* ---- machines and systems ---- */

const char *report_cpu(int64_t type, int64_t subtype) {
    static const struct {
        int64_t type, subtype; /* -1: any */
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
        r->os = report_text(r, text, len);
    }
    if (close) {
        const char *build = open + 1; /* "(Build 21H1320)" on macOS */
        build += strncmp(build, "Build ", 6) == 0 ? 6 : 0;
        r->os_build = report_text(r, build, build < close ? (size_t)(close - build) : 0);
    }
}

/* A path without the "/private" that only some of a process's paths have. */
static const char *public_path(const char *path) {
    static const char prefix[] = "/private/";
    return path && strncmp(path, prefix, sizeof prefix - 1) == 0 ? path + sizeof prefix - 2 : path;
}

void report_executable(struct report *r, const char *path) {
    const char *base = path_name(path);
    if (!path || base == path) {
        r->process = path ? path : r->process;
        return;
    }
    r->process = base;
    const char *shown = public_path(path);
    const char *bundle = strstr(shown, ".app/");
    r->bundle = bundle ? report_text(r, shown, (size_t)(bundle - shown) + 5) : NULL;
}

/* Does the image come with the app? Not if it is one of the libraries that every Swift app once
 * contained. */
static bool is_in_app(const struct report *r, const struct report_image *image) {
    const char *name = image->name ? image->name : "";
    if (strncmp(name, "libswift", 8) == 0) {
        return false;
    }
    if (r->bundle && image->path) {
        return strncmp(public_path(image->path), r->bundle, strlen(r->bundle)) == 0;
    }
    return image->in_app || (r->process && strcmp(name, r->process) == 0);
}

/* ---- frames ---- */

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

enum st report_frame(struct report *r, uint64_t address) {
    if (r->frames.len >= REPORT_FRAMES_MAX) {
        return err_set(r->e, ERR_LIMIT, "its stacks unfold to more than %d frames",
                       REPORT_FRAMES_MAX);
    }
    return VEC_PUSH(&r->frames, report_strip(r, address)) ? ST_OK : err_nomem(r->e);
}

void report_name(struct report *r, const struct report_name *name) {
    bool added = false;
    struct report_name own = *name;
    own.address = report_strip(r, own.address);
    if (!own.symbol) {
        return;
    }
    const struct map_entry *entry =
        map_put(&r->name_index, &own.address, sizeof own.address, r->names.len, &added);
    if (!entry || (added && !VEC_PUSH(&r->names, own))) {
        r->no_memory = true;
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

/* ---- writing ---- */

static void put_number(struct jsonw *w, const char *key, int64_t value) {
    if (value >= 0) {
        jsonw_member_i64(w, key, value);
    }
}

static void put_flag(struct jsonw *w, const char *key, bool value) {
    if (value) {
        jsonw_member_bool(w, key, true);
    }
}

/* A UUID made of the original, the same for the same original: version 8 of RFC 9562. */
static void made_up_id(const struct report *r, const struct strbuf *original, char out[37]) {
    struct strbuf seed = {0};
    strbuf_addu64(&seed, hash_bytes(strbuf_cstr(original), original->len));
    strbuf_addc(&seed, '/');
    strbuf_addu64(&seed, r->ordinal);
    uint64_t high = hash_bytes(strbuf_cstr(&seed), seed.len);
    strbuf_addc(&seed, '/');
    uint64_t low = hash_bytes(strbuf_cstr(&seed), seed.len);
    strbuf_release(&seed);
    (void)snprintf(out, 37, "%08x-%04x-8%03x-%04x-%012llx", (unsigned)(high >> 32),
                   (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
                   (unsigned)(0x8000 | (low >> 48 & 0x3fff)),
                   (unsigned long long)(low & 0xffffffffffff));
}

static void write_head(const struct report *r, struct jsonw *w, const char *id) {
    jsonw_member_cstr(w, "format", "stall-dump/1");
    jsonw_member_cstr(w, "id", id);
    jsonw_member_cstr(w, "time", r->time);
    jsonw_member_object(w, "app");
    jsonw_member_cstr(w, "id", r->app_id);
    jsonw_member_cstr(w, "version", r->app_version);
    jsonw_member_cstr(w, "build", r->app_build);
    jsonw_end_object(w);
    jsonw_member_object(w, "device");
    jsonw_member_cstr(w, "model", r->model);
    jsonw_member_cstr(w, "os", r->os);
    jsonw_member_cstr(w, "os_build", r->os_build);
    jsonw_member_cstr(w, "arch", r->arch);
    jsonw_member_cstr(w, "thermal", r->thermal);
    jsonw_end_object(w);
    jsonw_member_cstr(w, "user", r->user);
}

/* What the report holds and the dump does not. */
static void write_lack(const struct report *r, struct jsonw *w) {
    char text[64];
    if (r->frames_unread > 0) {
        (void)snprintf(text, sizeof text, "%llu frame%s that could not be read",
                       (unsigned long long)r->frames_unread, r->frames_unread == 1 ? "" : "s");
        jsonw_member_cstr(w, "lack", text);
    }
}

static void write_stall(const struct report *r, struct jsonw *w, const char *id) {
    int64_t known = r->duration_ms > 0 ? r->duration_ms : -1;
    bool short_enough = r->cpu_ms >= 0 && r->cpu_ms < INT64_MAX / 1000;
    jsonw_member_object(w, "stall");
    jsonw_member_cstr(w, "id", id);
    put_number(w, "seq", 1);
    jsonw_member_cstr(w, "kind", r->kind);
    jsonw_member_cstr(w, "detector", r->detector);
    jsonw_member_cstr(w, "activity", r->activity);
    jsonw_member_cstr(w, "reason", r->reason);
    put_number(w, "threshold_ms", r->threshold_ms);
    put_number(w, "at_ms", r->at_ms);
    put_number(w, "duration_ms", r->duration_ms);
    put_number(w, "span_ms", r->duration_ms);
    put_flag(w, "ended", r->ended);
    put_flag(w, "fatal", r->fatal);
    put_number(w, "cpu_ms", r->cpu_ms);
    put_number(w, "cpu_permille", known > 0 && short_enough ? r->cpu_ms * 1000 / known : -1);
    jsonw_member_cstr(w, "app_state", r->app_state);
    put_number(w, "since_launch_ms", r->since_launch_ms);
    jsonw_end_object(w);
}

/* used[i]: a frame lies in image i. */
static enum st find_used(struct report *r, bool *used) {
    struct dump probe = {.image_count = r->images.len};
    struct dump_image_order *order = arena_array(&r->arena, r->images.len, sizeof *order);
    probe.images = arena_array(&r->arena, r->images.len, sizeof *probe.images);
    if (!order || !probe.images) {
        return err_nomem(r->e);
    }
    for (size_t i = 0; i < r->images.len; i++) {
        probe.images[i].load = r->images.data[i].load;
        probe.images[i].size = r->images.data[i].size;
    }
    dump_order_images(probe.images, r->images.len, order);
    probe.image_order = order;
    for (size_t i = 0; i < r->frames.len; i++) {
        int32_t image = dump_image_at(&probe, r->frames.data[i]);
        if (image >= 0) {
            used[image] = true;
        }
    }
    return ST_OK;
}

static void draft_write_image(const struct report *r, struct jsonw *w,
                              const struct report_image *image) {
    char id[IMAGE_ID_TEXT];
    jsonw_begin_object(w);
    if (!image_id_is_zero(&image->id)) {
        jsonw_member_cstr(w, "uuid", image_id_text(&image->id, id));
    }
    jsonw_member_cstr(w, "name", image->name);
    jsonw_member_cstr(w, "path", image->path);
    jsonw_member_cstr(w, "arch", image->arch);
    jsonw_member_u64(w, "load", image->load);
    if (image->size > 0) {
        jsonw_member_u64(w, "size", image->size);
    }
    put_flag(w, "in_app", is_in_app(r, image));
    jsonw_end_object(w);
}

static enum st draft_write_images(struct report *r, struct jsonw *w) {
    bool *used = arena_array(&r->arena, r->images.len, sizeof *used);
    if (!used) {
        return err_nomem(r->e);
    }
    if (find_used(r, used) != ST_OK) {
        return ST_ERR;
    }
    jsonw_member_array(w, "images");
    for (size_t i = 0; i < r->images.len; i++) {
        if (used[i]) {
            draft_write_image(r, w, &r->images.data[i]);
        }
    }
    jsonw_end_array(w);
    return ST_OK;
}

/* Behind a signal's trampoline stands the frame that was interrupted, at its exact address. */
static bool is_trampoline(const struct report *r, uint64_t address) {
    const struct map_entry *entry = map_get(&r->name_index, &address, sizeof address);
    return entry && strcmp(r->names.data[entry->value].symbol, "_sigtramp") == 0;
}

static void write_frames(const struct report *r, struct jsonw *w, const struct report_stack *s) {
    /* A report without any frame is useless. */
    const uint64_t *frames = s->count > 0 ? r->frames.data + s->first : NULL;
    bool usual = !s->returns;
    jsonw_member_array(w, "frames");
    for (size_t i = 0; i < s->count; i++) {
        jsonw_u64(w, frames[i]);
        usual = usual && !(i > 0 && is_trampoline(r, frames[i - 1]));
    }
    jsonw_end_array(w);
    if (usual) {
        return;
    }
    jsonw_member_array(w, "exact");
    for (size_t i = 0; i < s->count; i++) {
        if (i == 0 ? !s->returns : is_trampoline(r, frames[i - 1])) {
            jsonw_u64(w, i);
        }
    }
    jsonw_end_array(w);
}

static void draft_write_wait(const struct report *r, struct jsonw *w,
                             const struct report_thread *t) {
    bool own = t->crashed && r->own_lock && t->id >= 0;
    if (!own && !t->waits_for) {
        return;
    }
    jsonw_member_object(w, "waits_for");
    jsonw_member_cstr(w, "kind", own ? r->own_lock : t->waits_for);
    jsonw_member_i64(w, "owner", own ? t->id : t->owner);
    jsonw_end_object(w);
}

static void draft_write_threads(const struct report *r, struct jsonw *w) {
    jsonw_member_array(w, "threads");
    for (size_t i = 0; i < r->threads.len; i++) {
        const struct report_thread *t = &r->threads.data[i];
        jsonw_begin_object(w);
        put_number(w, "id", t->id);
        jsonw_member_cstr(w, "name", t->name);
        put_flag(w, "main", t->main);
        put_flag(w, "crashed", t->crashed);
        draft_write_wait(r, w, t);
        write_frames(r, w, &t->stack);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void draft_write_samples(const struct report *r, struct jsonw *w) {
    if (r->samples.len == 0) {
        return;
    }
    jsonw_member_object(w, "samples");
    put_number(w, "interval_ms", r->sample_interval_ms);
    jsonw_member_array(w, "stacks");
    for (size_t i = 0; i < r->samples.len; i++) {
        jsonw_begin_object(w);
        jsonw_member_u64(w, "count", r->samples.data[i].samples);
        write_frames(r, w, &r->samples.data[i]);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static void write_names(const struct report *r, struct jsonw *w) {
    if (r->names.len == 0) {
        return;
    }
    jsonw_member_object(w, "names");
    for (size_t i = 0; i < r->names.len; i++) {
        const struct report_name *n = &r->names.data[i];
        char key[24];
        (void)snprintf(key, sizeof key, "%llu", (unsigned long long)n->address);
        jsonw_member_array(w, key);
        jsonw_cstr(w, n->symbol);
        jsonw_u64(w, n->offset);
        if (n->file) {
            jsonw_cstr(w, n->file);
            jsonw_u64(w, n->line);
        }
        jsonw_end_array(w);
    }
    jsonw_end_object(w);
}

/* Writes a string whose bytes can be recovered: bytes that are not UTF-8 stay as they are, which
 * readers of dumps accept. */
static void draft_write_bytes(struct strbuf *out, struct span s) {
    strbuf_addc(out, '"');
    for (; s.p < s.end; s.p++) {
        unsigned char c = (unsigned char)*s.p;
        if (c == '\n') {
            strbuf_addstr(out, "\\n");
        } else if (c < 0x20) {
            strbuf_addf(out, "\\u%04x", c);
        } else {
            if (c == '"' || c == '\\') {
                strbuf_addc(out, '\\');
            }
            strbuf_addc(out, (char)c);
        }
    }
    strbuf_addc(out, '"');
}

/* Writes the member that keeps the original. */
static enum st write_original(const struct report *r, struct strbuf *out) {
    strbuf_addf(out, "{\"format\":\"%s\"", r->format);
    for (size_t i = 0; i < r->part_count; i++) {
        const struct report_part *part = &r->parts[i];
        strbuf_addf(out, ",\"%s\":", part->key);
        if (part->text) {
            draft_write_bytes(out, part->span);
        } else {
            struct sink s = sink_to_strbuf(out);
            span_write_compact(part->span, &s);
            if (sink_close(&s, r->e) != ST_OK) {
                return ST_ERR;
            }
        }
    }
    strbuf_addc(out, '}');
    return strbuf_check(out, r->e);
}

static enum st write_dump(struct report *r, const struct strbuf *original, struct strbuf *out) {
    char made_up[37];
    const char *id = r->id;
    if (!id) {
        made_up_id(r, original, made_up);
        id = made_up;
    }
    struct sink sink = sink_to_strbuf(out);
    struct jsonw w = jsonw_init(&sink);
    jsonw_begin_object(&w);
    write_head(r, &w, id);
    write_lack(r, &w);
    write_stall(r, &w, id);
    enum st st = draft_write_images(r, &w);
    draft_write_threads(r, &w);
    draft_write_samples(r, &w);
    write_names(r, &w);
    jsonw_key(&w, "report");
    jsonw_raw(&w, strbuf_cstr(original), original->len);
    jsonw_end_object(&w);
    return sink_close(&sink, r->e) == ST_OK ? st : ST_ERR;
}

enum st report_finish(struct report *r, const struct report_document *d) {
    struct strbuf original = {.limit = DUMP_TEXT_MAX}, out = {.limit = DUMP_TEXT_MAX};
    if (r->no_memory) {
        return err_nomem(r->e);
    }
    enum st st = write_original(r, &original);
    if (st == ST_OK) {
        st = write_dump(r, &original, &out);
    }
    if (st == ST_OK && r->no_memory) {
        st = err_nomem(r->e);
    }
    if (st == ST_OK) {
        st = d->take(d->ctx, out.data, out.len, r->e);
    }
    strbuf_release(&original);
    strbuf_release(&out);
    return st;
}
