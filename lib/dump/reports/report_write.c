/* Writes a draft as stall-dump/1. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/jsonw.h"
#include "base/parse.h"
#include "dump/dump.h"
#include "dump/reports/report_private.h"

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

void report_made_up_id(const void *bytes, size_t len, uint64_t ordinal, char out[REPORT_ID_TEXT]) {
    char seed[2 * DECIMAL_MAX + 2];
    size_t used = decimal_put(seed, hash_bytes(bytes, len));
    seed[used++] = '/';
    used += decimal_put(seed + used, ordinal);
    uint64_t high = hash_bytes(seed, used);
    seed[used++] = '/';
    uint64_t low = hash_bytes(seed, used);
    (void)snprintf(out, REPORT_ID_TEXT, "%08x-%04x-8%03x-%04x-%012llx", (unsigned)(high >> 32),
                   (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
                   (unsigned)(0x8000 | (low >> 48 & 0x3fff)),
                   (unsigned long long)(low & 0xffffffffffff));
}

void report_write_head(const struct report *r, struct jsonw *w, const char *format,
                       const char *id) {
    jsonw_member_cstr(w, "format", format);
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
}

static void write_context(const struct report *r, struct jsonw *w) {
    jsonw_member_cstr(w, "user", r->user);
    if (r->context.len > 0) {
        jsonw_member_object(w, "context");
        for (size_t i = 0; i < r->context.len; i++) {
            jsonw_member_cstr(w, r->context.data[i].name, r->context.data[i].value);
        }
        jsonw_end_object(w);
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
    if (r->top_thread >= 0) {
        jsonw_member_object(w, "top_thread");
        put_number(w, "id", r->top_thread);
        jsonw_end_object(w);
    }
    put_flag(w, "ended", r->ended);
    put_flag(w, "fatal", r->fatal);
    put_number(w, "cpu_ms", r->cpu_ms);
    put_number(w, "cpu_permille", known > 0 && short_enough ? r->cpu_ms * 1000 / known : -1);
    jsonw_member_cstr(w, "app_state", r->app_state);
    jsonw_member_cstr(w, "visibility", r->visibility);
    put_number(w, "since_launch_ms", r->since_launch_ms);
    jsonw_end_object(w);
}

/* Sets used[i] for each image i that a frame lies in. */
static enum st find_used(struct report *r, bool *used) {
    struct dump probe;
    if (report_probe_images(r, &probe) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < r->frames.len; i++) {
        int32_t image = dump_image_at(&probe, r->frames.data[i].address);
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
        jsonw_member_cstr(w, image->id.kind == IMAGE_ID_BUILD ? "build_id" : "uuid",
                          image_id_text(&image->id, id));
    }
    jsonw_member_cstr(w, "name", image->name);
    jsonw_member_cstr(w, "path", image->path);
    jsonw_member_cstr(w, "arch", image->arch);
    jsonw_member_u64(w, "load", image->load);
    if (image->size > 0) {
        jsonw_member_u64(w, "size", image->size);
    }
    put_flag(w, "in_app", report_is_in_app(r, image));
    put_flag(w, "unplaced", image->unplaced);
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

/* Is this the address of a signal trampoline? A signal interrupted the function of the frame after
 * the trampoline's, so the address of that frame is exact. */
static bool is_trampoline(const struct report *r, uint64_t address) {
    const struct map_entry *entry = map_get(&r->name_index, &address, sizeof address);
    return entry && strcmp(r->names.data[entry->value].symbol, "_sigtramp") == 0;
}

static void write_frames(const struct report *r, struct jsonw *w, const struct report_stack *s) {
    /* A stack without frames is an empty array; r->frames.data may then be NULL. */
    const struct report_frame *frames = s->count > 0 ? r->frames.data + s->first : NULL;
    bool usual = !s->returns && !s->calls;
    jsonw_member_array(w, "frames");
    for (size_t i = 0; i < s->count; i++) {
        jsonw_u64(w, frames[i].address);
        usual = usual && !(i > 0 && is_trampoline(r, frames[i - 1].address));
    }
    jsonw_end_array(w);
    if (usual) {
        return;
    }
    jsonw_member_array(w, "exact");
    for (size_t i = 0; i < s->count; i++) {
        if (s->calls || (i == 0 ? !s->returns : is_trampoline(r, frames[i - 1].address))) {
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
    put_number(w, "owner", own ? t->id : t->owner);
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
        jsonw_member_cstr(w, "state", t->state);
        put_number(w, "cpu_ms", t->cpu_ms > 0 ? t->cpu_ms : -1);
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

/* Writes a string from which the original bytes can be read back: bytes that are not UTF-8 are
 * copied, which readers of dumps accept. */
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

/* Writes the dump's member "report", which keeps the original document. */
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
    char made_up[REPORT_ID_TEXT];
    const char *id = r->id;
    if (!id || id[strspn(id, "0-")] == 0) { /* people replace an id by zeros to remove it */
        report_made_up_id(strbuf_cstr(original), original->len, r->ordinal, made_up);
        id = made_up;
    }
    struct sink sink = sink_to_strbuf(out);
    struct jsonw w = jsonw_init(&sink);
    jsonw_begin_object(&w);
    report_write_head(r, &w, "stall-dump/1", id);
    write_context(r, &w);
    report_write_lack(r, &w);
    write_stall(r, &w, id);
    enum st st = draft_write_images(r, &w);
    draft_write_threads(r, &w);
    draft_write_samples(r, &w);
    report_write_names(r, &w);
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
    enum st st = report_join_inlined(r);
    if (st == ST_OK) {
        st = write_original(r, &original);
    }
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
