/* Writes the member "class" of a dump, and the head of the annotated dump. */
#include "classify/print/annotate.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsonw.h"
#include "classify/print/triage_text.h"
#include "classify/stats/stall_count.h"
#include "dump/input/answer_head.h"

struct annotation {
    struct jsonw w;
    struct strbuf text; /* scratch */
};

/* The names of the members that have the ids of a level. */
struct id_members {
    const char *now, *was, *own;
};

/* Writes the id of the bucket in which the dump is counted; nothing if the key is empty. Also
 * writes the id of the dump's own key, if that is another one, and the id that the dump's earlier
 * annotation has, if other rules, fewer names or other buckets gave a different one. If the id is
 * unchanged, the former id that the annotation names stays. */
static void put_id(struct annotation *a, const struct id_members *m, char level,
                   const struct key *key, const struct bucket_place *place, const char *annotated,
                   const char *before) {
    char own[KEY_ID_SIZE];
    if (!key->count) {
        return;
    }
    jsonw_member_cstr(&a->w, m->now, place->id);
    const char *was = annotated && strcmp(annotated, place->id) == 0 ? before : annotated;
    if (was && *was && strcmp(was, place->id) != 0) {
        jsonw_member_cstr(&a->w, m->was, was);
    }
    if (place->other) {
        strbuf_clear(&a->text);
        key_text(key, &a->text);
        key_id(level, strbuf_cstr(&a->text), a->text.len, own);
        jsonw_member_cstr(&a->w, m->own, own);
    }
}

static void add_title_frame(struct strbuf *text, size_t i, const struct bucket_frame *f) {
    strbuf_addstr(text, i ? " \xe2\x86\x90 " : "");
    text_add_frame(text, f);
}

/* Appends the title of the bucket in which the dump is counted. */
static void add_bucket_title(struct strbuf *text, const struct key *key,
                             const struct bucket_place *place) {
    for (size_t i = 0; place->other && i < place->other->frame_count; i++) {
        add_title_frame(text, i, place->other->frames[i]);
    }
    for (size_t i = 0; !place->other && i < key->count; i++) {
        const struct frame_info *info = key->frames[i].info, *call = key->frames[i].call;
        struct bucket_frame f = {.image_name = info->image_name,
                                 .function = info->function,
                                 .call = call && call->resolved ? call->function : NULL,
                                 .in_app = info->in_app,
                                 .resolved = info->resolved};
        add_title_frame(text, i, &f);
    }
}

static const bool none_open[APART_COUNT] = {false};

static void put_level_ids(struct annotation *a, const struct dump *d, const struct stall_key *key,
                          const struct dump_place *place) {
    static const struct id_members members[] = {{"level1", "level1_was", "level1_own"},
                                                {"level2", "level2_was", "level2_own"},
                                                {"action", "action_was", "action_own"}};
    put_id(a, &members[0], '1', &key->level[0], &place->level[0], d->class.level1,
           d->class.level1_was);
    put_id(a, &members[1], '2', &key->level[1], &place->level[1], d->class.level2,
           d->class.level2_was);
    put_id(a, &members[2], 'a', &key->action, &place->level[2], d->class.action,
           d->class.action_was);
}

static void put_class(struct annotation *a, const struct dump *d, const struct stall_key *key,
                      const struct dump_place *place, uint64_t rules_hash) {
    enum triage_apart apart = triage_apart_of(d, key, none_open);
    char hash[KEY_ID_SIZE];
    jsonw_begin_object(&a->w);
    if (apart != APART_NONE) {
        jsonw_member_cstr(&a->w, "apart", triage_apart_text(apart));
    }
    put_level_ids(a, d, key, place);
    jsonw_member_cstr(&a->w, "cause", rule_cause_text(key->cause));
    jsonw_member_i64(&a->w, "confidence", key->confidence);
    jsonw_member_cstr(&a->w, "reason", key->reason);
    if (key->truth >= 0) {
        jsonw_member_i64(&a->w, "truth", key->truth);
    }
    strbuf_clear(&a->text);
    add_bucket_title(&a->text, &key->level[0], &place->level[0]);
    jsonw_member_cstr(&a->w, "title", strbuf_cstr(&a->text));
    key_number_text(rules_hash >> 16, hash);
    jsonw_member_cstr(&a->w, "rules", hash);
    jsonw_end_object(&a->w);
}

enum st annotate_dump(const struct dump *d, const struct stall_key *key,
                      const struct dump_place *place, uint64_t rules_hash, struct sink *out,
                      struct err *e) {
    struct strbuf class = {0};
    struct sink sink = sink_to_strbuf(&class);
    struct annotation a = {.w = jsonw_init(&sink)};
    put_class(&a, d, key, place, rules_hash);
    enum st st = sink_close(&sink, e);
    if (st == ST_OK && a.text.failed) {
        st = err_nomem(e);
    }
    if (st == ST_OK) {
        st = dump_write_member(d, "class", strbuf_cstr(&class), class.len, out, e);
    }
    strbuf_release(&class);
    strbuf_release(&a.text);
    return st;
}

/* Finds the first image of the app whose symbols a file with its id could still bring. NULL: there
 * is none. */
const struct dump_image *image_without_symbols(const struct dump *d) {
    for (size_t i = 0; i < d->image_count; i++) {
        const struct dump_image *image = &d->images[i];
        bool none = image->symbols == DUMP_SYMBOLS_MISSING ||
                    image->symbols == DUMP_SYMBOLS_UUID_MISMATCH ||
                    image->symbols == DUMP_SYMBOLS_ARCH_MISMATCH;
        if (none && image->in_app && image->id.kind != IMAGE_ID_NONE) {
            return image;
        }
    }
    return NULL;
}

enum st annotate_head(const struct dump *d, const struct stall_key *key,
                      const struct dump_place *place, size_t text_len, struct sink *out,
                      struct err *e) {
    struct answer_head h = {.kind = "dump",
                            .id = d->id,
                            .time = d->time,
                            .version = d->app.version,
                            .os = d->device.os};
    char image_id[IMAGE_ID_TEXT];
    const struct dump_image *image = image_without_symbols(d);
    const struct key *level1 = &key->level[0];
    struct strbuf text = {0};
    if (image) {
        h.image_id = image_id_text(&image->id, image_id);
        h.image = image->name;
    }
    if (level1->count && triage_apart_of(d, key, none_open) == APART_NONE) {
        add_bucket_title(&text, level1, &place->level[0]);
        h.bucket = place->level[0].id;
        h.cause = rule_cause_text(key->cause);
        h.title = strbuf_cstr(&text);
        h.ms = stall_count_alone(d, STALL_CAP_MS, &h.span_ms);
    }
    enum st st = text.failed ? err_nomem(e) : ST_OK;
    if (st == ST_OK) {
        answer_head_write(&h, text_len, out);
    }
    strbuf_release(&text);
    return st;
}
