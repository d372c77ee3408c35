/* Explains the stack that a bucket has kept, by the rules. */
#include <string.h>

#include "classify/keys/exemplar.h"
#include "classify/keys/keyer_private.h"
#include "classify/print/explain.h"
#include "classify/summary/summary_private.h"

void summary_stack_clear(struct summary_stack *s) {
    s->frames.len = 0;
    strbuf_clear(&s->explanation);
    arena_clear(&s->arena);
}

void summary_stack_release(struct summary_stack *s) {
    VEC_RELEASE(&s->frames);
    strbuf_release(&s->explanation);
    arena_release(&s->arena);
}

/* Was the function of this line inlined? */
static bool is_inlined(const struct dump *d, const struct dump_line *line) {
    for (size_t i = 0; line && i < d->location_count; i++) {
        const struct dump_location *l = &d->locations[i];
        if (line >= l->lines && line < l->lines + l->line_count) {
            return line + 1 < l->lines + l->line_count;
        }
    }
    return false;
}

static bool is_of_key(const struct key *key, const struct frame_info *info) {
    for (size_t i = 0; i < key->count; i++) {
        const struct key_frame *f = &key->frames[i];
        if ((f->call ? f->call : f->info)->canonical == info->canonical) {
            return true;
        }
    }
    return false;
}

static const char *copy(struct summary_stack *out, const char *text, bool *ok) {
    const char *kept = text ? arena_strdup(&out->arena, text, strlen(text)) : NULL;
    *ok = *ok && (kept || !text);
    return kept;
}

static bool take_judged_frames(struct keyer *k, const struct dump *d, const struct stall_key *key,
                               const struct judged_stack *s, struct summary_stack *out) {
    bool ok = true;
    for (size_t i = 0; ok && i < s->count && i < STORED_FRAMES; i++) {
        const struct judged_frame *from = judged_at(k, s, i);
        const struct frame_info *info = from->info;
        const char *name =
            from->line && from->line->function ? from->line->function : info->function;
        struct summary_frame f = {.in_app = info->in_app,
                                  .inlined = is_inlined(d, from->line),
                                  .key = is_of_key(&key->level[0], info),
                                  .told = info == s->told};
        f.function = copy(out, name, &ok);
        f.image = copy(out, info->image_name, &ok);
        f.file = copy(out, from->line ? from->line->file : NULL, &ok);
        f.line = from->line ? from->line->line : 0;
        ok = ok && VEC_PUSH(&out->frames, f);
    }
    return ok;
}

static enum st explain_document(struct keyer *k, const struct strbuf *text,
                                struct summary_stack *out, struct err *e) {
    static const struct explain_view plain = {.colour = false};
    struct dump d = {0};
    struct stall_key key = {0};
    struct judged_stack judged;
    struct sink sink = sink_to_strbuf(&out->explanation);
    enum st st = dump_parse(&d, strbuf_cstr(text), text->len, e);
    if (st == ST_OK) {
        st = explain_dump(k, &d, &plain, &key, &sink, e);
    }
    if (sink_close(&sink, e) != ST_OK) {
        st = ST_ERR;
    }
    if (st == ST_OK && key.stack && key.status != KEY_NO_STACK) {
        st = judge_stack(k, &d, key.stack, &judged, e);
        if (st == ST_OK && !take_judged_frames(k, &d, &key, &judged, out)) {
            st = err_nomem(e);
        }
    }
    dump_release(&d);
    return st;
}

/* Returns the first level-2 bucket, in the order of output, that has a stack; NULL = none has. */
static const struct bucket *heaviest_part(const struct triage *t, const struct bucket *b) {
    for (size_t i = 0; i < b->children.len; i++) {
        const struct bucket *part = t->level[1].buckets.data[b->children.data[i]];
        if (part->evidence.stack.len) {
            return part;
        }
    }
    return NULL;
}

enum st summary_explain(const struct summary *s, const struct summary_bucket *b, struct keyer *k,
                        struct summary_stack *out, struct err *e) {
    struct err why = {0};
    const struct bucket_set *set = &s->t->level[0];
    size_t rank = (size_t)(b - s->buckets.data);
    const struct bucket *part = heaviest_part(s->t, set->buckets.data[set->ranked[rank]]);
    struct strbuf text = {0};
    VEC(const char *) pieces = {0};
    enum st st = ST_OK;
    summary_stack_clear(out);
    for (size_t i = 0; part && st == ST_OK && i < part->evidence.stack.len; i++) {
        if (!VEC_PUSH(&pieces, map_string(&s->t->pieces, part->evidence.stack.data[i]))) {
            st = err_nomem(&why);
        }
    }
    if (part && st == ST_OK) {
        st = exemplar_join(pieces.data, pieces.len, &text, &why);
    }
    if (part && st == ST_OK) {
        st = explain_document(k, &text, out, &why);
    }
    VEC_RELEASE(&pieces);
    strbuf_release(&text);
    if (st != ST_OK && why.code != ERR_NOMEM) { /* a partial may hold a malformed stack */
        summary_stack_clear(out);
        return ST_OK;
    }
    return st == ST_OK ? ST_OK : err_nomem(e);
}

enum st summary_explain_first(struct summary *s, size_t count, struct keyer *k, struct err *e) {
    count = count < s->buckets.len ? count : s->buckets.len;
    enum st st = VEC_RESERVE(&s->explained, count) ? ST_OK : err_nomem(e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        s->explained.data[s->explained.len++] = (struct summary_stack){0};
        st = summary_explain(s, &s->buckets.data[i], k, &s->explained.data[i], e);
    }
    return st;
}

void summary_explained_release(struct summary *s) {
    for (size_t i = 0; i < s->explained.len; i++) {
        summary_stack_release(&s->explained.data[i]);
    }
    VEC_RELEASE(&s->explained);
}
