/* Makes the labels of stallflame --by, and the chains of the holders of locks, from a dump. */
#include "flame_labels.h"

#include <string.h>

static void label_add_version(struct strbuf *b, const struct dump *d) {
    strbuf_addstr(b, d->app.version ? d->app.version : "no version");
    if (d->app.build) {
        strbuf_addf(b, " (%s)", d->app.build);
    }
}

/* Appends the cause: the annotated one, `said`, or, if that is NULL, the key's. */
static void add_cause(struct strbuf *b, const char *said, const struct stall_key *key) {
    strbuf_addstr(b, said ? said : rule_cause_text(key->cause));
}

/* Appends the function of a key's frame, or, if the frame is a framework, the function of it that
 * the app called. A frame without a name gets the image's name and its offset, a whole library the
 * image's name. */
static void label_add_frame(struct strbuf *b, const struct key_frame *f) {
    const struct frame_info *info = f->call && f->call->resolved ? f->call : f->info;
    strbuf_addstr(b, info->resolved && info->function[0] ? "" : info->image_name);
    strbuf_addstr(b, info->function);
}

/* Appends the bucket's title as annotated; if title is NULL, the functions of the key, innermost
 * first, or "no stack" if it has none. */
static void label_add_bucket(struct strbuf *b, const char *title, const struct stall_key *key) {
    const struct key *level = &key->level[0];
    if (title) {
        strbuf_addstr(b, title);
    } else if (level->count == 0) {
        strbuf_addstr(b, "no stack");
    }
    for (size_t i = 0; !title && i < level->count; i++) {
        strbuf_addstr(b, i > 0 ? " \xe2\x86\x90 " : "");
        label_add_frame(b, &level->frames[i]);
    }
}

enum st flame_label_of(const struct flame_labels *l, const struct dump *d,
                       const struct stall_key *key, struct flame_label *out, struct err *e) {
    size_t starts[FLAME_BY_COUNT];
    const char *title = d->class.title ? d->class.title : d->class.level1;
    for (size_t i = 0; i < l->count; i++) {
        starts[i] = out->storage.len;
        switch (l->kinds[i]) {
        case FLAME_BY_CAUSE:
            add_cause(&out->storage, l->anew ? NULL : d->class.cause, key);
            break;
        case FLAME_BY_BUCKET:
            label_add_bucket(&out->storage, l->anew ? NULL : title, key);
            break;
        default:
            label_add_version(&out->storage, d);
        }
        strbuf_addc(&out->storage, '\0');
    }
    for (size_t i = 0; i < l->count; i++) {
        out->texts[i] = strbuf_cstr(&out->storage) + starts[i];
    }
    return strbuf_check(&out->storage, e);
}

void flame_label_release(struct flame_label *label) {
    strbuf_release(&label->storage);
}

/* ---- holders ---- */

static const char mark_begin[] = "[held by ", mark_unknown[] = "[held by an unknown thread]";

bool flame_is_holder_mark(const char *name, size_t len) {
    size_t begin = sizeof mark_begin - 1;
    return len > begin && memcmp(name, mark_begin, begin) == 0;
}

/* Appends a mark such as "[held by db.flush: mutex]": the thread for which the waiter, a thread of
 * the chain, waits, and the lock which that thread holds. */
static void holder_add_mark(struct strbuf *b, const struct dump *d, const struct dump_waits *w,
                            size_t waiter) {
    bool cycle = w->back != SIZE_MAX && waiter + 1 == w->count;
    strbuf_addstr(b, mark_begin);
    size_t before = b->len;
    holder_add_thread(b, dump_waits_owner(w, waiter));
    strbuf_addstr(b, b->len > before ? ": " : "a thread without a name: ");
    holder_add_lock(b, d, &w->threads[waiter]->waits_for);
    strbuf_addstr(b, cycle ? ", deadlock]" : "]");
}

/* Appends the mark of a guessed holder: "[held by db.flush: SQLite, inferred]". */
static void add_inferred_mark(struct strbuf *b, const struct lock_holder *h) {
    strbuf_addstr(b, mark_begin);
    size_t before = b->len;
    holder_add_thread(b, h->inferred);
    strbuf_addf(b, "%s: %s, inferred]", b->len > before ? "" : "a thread without a name",
                h->key.frames[1].info->function);
}

enum st flame_holders_of(const struct dump *d, const struct stall_key *key,
                         struct flame_holders *out, struct err *e) {
    struct dump_waits w;
    size_t starts[DUMP_WAITS_MAX];
    if (key->holder.status == HOLDER_NONE) {
        return ST_OK;
    }
    dump_waits(d, key->holder.waiter, &w);
    for (size_t i = 0; i < w.count && dump_waits_owner(&w, i); i++) {
        bool cycle = i + 1 == w.count;
        starts[out->count] = out->storage.len;
        out->links[out->count++].stack = cycle ? NULL : &w.threads[i + 1]->stack;
        holder_add_mark(&out->storage, d, &w, i);
        strbuf_addc(&out->storage, '\0');
    }
    if (key->holder.status == HOLDER_INFERRED) {
        starts[0] = 0;
        out->links[out->count++].stack = &key->holder.inferred->stack;
        add_inferred_mark(&out->storage, &key->holder);
    }
    for (size_t i = 0; i < out->count; i++) {
        out->links[i].mark = strbuf_cstr(&out->storage) + starts[i];
    }
    if (out->count == 0) {
        out->links[out->count++].mark = mark_unknown;
    }
    return strbuf_check(&out->storage, e);
}

void flame_holders_release(struct flame_holders *h) {
    strbuf_release(&h->storage);
}
