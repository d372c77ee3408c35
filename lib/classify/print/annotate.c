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

static void key_id_of(const struct key *key, char level, struct strbuf *scratch,
                      char id[KEY_ID_SIZE]) {
    strbuf_clear(scratch);
    key_text(key, scratch);
    key_id(level, strbuf_cstr(scratch), scratch->len, id);
}

/* Writes a key's id; nothing if the key is empty. Also writes the id that the dump's earlier
 * annotation has, if other rules or fewer names gave a different one. If the id is unchanged, the
 * former id that the annotation names stays. */
static void put_id(struct annotation *a, const char *name, const char *was_name, char level,
                   const struct key *key, const char *annotated, const char *before) {
    char id[KEY_ID_SIZE];
    if (!key->count) {
        return;
    }
    key_id_of(key, level, &a->text, id);
    jsonw_member_cstr(&a->w, name, id);
    const char *was = annotated && strcmp(annotated, id) == 0 ? before : annotated;
    if (was && *was && strcmp(was, id) != 0) {
        jsonw_member_cstr(&a->w, was_name, was);
    }
}

static void add_bucket_title(struct strbuf *text, const struct key *key) {
    for (size_t i = 0; i < key->count; i++) {
        const struct frame_info *info = key->frames[i].info, *call = key->frames[i].call;
        struct bucket_frame f = {.image_name = info->image_name,
                                 .function = info->function,
                                 .call = call && call->resolved ? call->function : NULL,
                                 .in_app = info->in_app,
                                 .resolved = info->resolved};
        strbuf_addstr(text, i ? " \xe2\x86\x90 " : "");
        text_add_frame(text, &f);
    }
}

static const bool none_open[APART_COUNT] = {false};

static void put_class(struct annotation *a, const struct dump *d, const struct stall_key *key,
                      uint64_t rules_hash) {
    enum triage_apart apart = triage_apart_of(d, key, none_open);
    char hash[KEY_ID_SIZE];
    jsonw_begin_object(&a->w);
    if (apart != APART_NONE) {
        jsonw_member_cstr(&a->w, "apart", triage_apart_text(apart));
    }
    put_id(a, "level1", "level1_was", '1', &key->level[0], d->class.level1, d->class.level1_was);
    put_id(a, "level2", "level2_was", '2', &key->level[1], d->class.level2, d->class.level2_was);
    put_id(a, "action", "action_was", 'a', &key->action, d->class.action, d->class.action_was);
    jsonw_member_cstr(&a->w, "cause", rule_cause_text(key->cause));
    jsonw_member_i64(&a->w, "confidence", key->confidence);
    jsonw_member_cstr(&a->w, "reason", key->reason);
    if (key->truth >= 0) {
        jsonw_member_i64(&a->w, "truth", key->truth);
    }
    strbuf_clear(&a->text);
    add_bucket_title(&a->text, &key->level[0]);
    jsonw_member_cstr(&a->w, "title", strbuf_cstr(&a->text));
    key_number_text(rules_hash >> 16, hash);
    jsonw_member_cstr(&a->w, "rules", hash);
    jsonw_end_object(&a->w);
}

enum st annotate_dump(const struct dump *d, const struct stall_key *key, uint64_t rules_hash,
                      struct sink *out, struct err *e) {
    struct strbuf class = {0};
    struct sink sink = sink_to_strbuf(&class);
    struct annotation a = {.w = jsonw_init(&sink)};
    put_class(&a, d, key, rules_hash);
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

enum st annotate_head(const struct dump *d, const struct stall_key *key, size_t text_len,
                      struct sink *out, struct err *e) {
    struct answer_head h = {.kind = "dump",
                            .id = d->id,
                            .time = d->time,
                            .version = d->app.version,
                            .os = d->device.os};
    char bucket[KEY_ID_SIZE], image_id[IMAGE_ID_TEXT];
    const struct dump_image *image = image_without_symbols(d);
    const struct key *level1 = &key->level[0];
    struct strbuf text = {0};
    if (image) {
        h.image_id = image_id_text(&image->id, image_id);
        h.image = image->name;
    }
    if (level1->count && triage_apart_of(d, key, none_open) == APART_NONE) {
        key_id_of(level1, '1', &text, bucket);
        strbuf_clear(&text);
        add_bucket_title(&text, level1);
        h.bucket = bucket;
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
