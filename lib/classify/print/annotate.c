/* Writes the member "class" of a dump. */
#include "classify/print/annotate.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsonw.h"
#include "classify/print/triage_text.h"

struct annotation {
    struct jsonw w;
    struct strbuf text; /* scratch */
};

/* Writes a key's id, and the id with which the dump was annotated before, if other rules or
 * fewer names gave another one. If the id is unchanged, the former id that the annotation names
 * stays. */
static void put_id(struct annotation *a, const char *name, const char *was_name, char level,
                   const struct key *key, const char *annotated, const char *before) {
    char id[KEY_ID_SIZE];
    if (!key->count) {
        return;
    }
    strbuf_clear(&a->text);
    key_text(key, &a->text);
    key_id(level, strbuf_cstr(&a->text), a->text.len, id);
    jsonw_member_cstr(&a->w, name, id);
    const char *was = annotated && strcmp(annotated, id) == 0 ? before : annotated;
    if (was && *was && strcmp(was, id) != 0) {
        jsonw_member_cstr(&a->w, was_name, was);
    }
}

static void annotate_put_title(struct annotation *a, const struct key *key) {
    strbuf_clear(&a->text);
    for (size_t i = 0; i < key->count; i++) {
        const struct frame_info *info = key->frames[i].info, *call = key->frames[i].call;
        struct bucket_frame f = {.image_name = info->image_name,
                                 .function = info->function,
                                 .call = call && call->resolved ? call->function : NULL,
                                 .in_app = info->in_app,
                                 .resolved = info->resolved};
        strbuf_addstr(&a->text, i ? " \xe2\x86\x90 " : "");
        text_add_frame(&a->text, &f);
    }
    jsonw_member_cstr(&a->w, "title", strbuf_cstr(&a->text));
}

static void put_class(struct annotation *a, const struct dump *d, const struct stall_key *key,
                      uint64_t rules_hash) {
    static const bool none_open[APART_COUNT] = {false};
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
    annotate_put_title(a, &key->level[0]);
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
