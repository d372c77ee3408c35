/* Labels of dumps for stallflame --by. */
#include "flame_labels.h"

static bool needs_rules(const struct flame_labels *l) {
    for (size_t i = 0; i < l->count; i++) {
        if (l->kinds[i] != FLAME_BY_VERSION) {
            return true;
        }
    }
    return false;
}

enum st flame_labels_start(struct flame_labels *l, unsigned jobs, struct err *e) {
    if (!needs_rules(l)) {
        return ST_OK;
    }
    enum st st = rules_new(&l->rules, e);
    if (st == ST_OK) {
        st = rules_add_builtin(l->rules, e);
    }
    for (unsigned i = 0; st == ST_OK && i < jobs; i++) {
        st = keyer_new(&l->keyers[i], &(struct key_options){.rules = l->rules}, e);
    }
    return st;
}

/* ---- the texts ---- */

static void label_add_version(struct strbuf *b, const struct dump *d) {
    strbuf_addstr(b, d->app.version ? d->app.version : "no version");
    if (d->app.build) {
        strbuf_addf(b, " (%s)", d->app.build);
    }
}

static void add_cause(struct strbuf *b, const struct dump *d, const struct stall_key *key) {
    const char *cause = d->class.cause ? d->class.cause : rule_cause_text(key->cause);
    if (!*cause) {
        cause = rule_cause_text(key->status == KEY_IDLE ? CAUSE_IDLE : CAUSE_UNKNOWN);
    }
    strbuf_addstr(b, cause);
}

/* The bucket's title, or the functions of its key, the innermost first. */
static void label_add_bucket(struct strbuf *b, const struct dump *d, const struct stall_key *key) {
    const char *title = d->class.title ? d->class.title : d->class.level1;
    const struct key *level = &key->level[0];
    if (title) {
        strbuf_addstr(b, title);
    } else if (key->status != KEY_OK || level->count == 0) {
        strbuf_addstr(b, key->status == KEY_IDLE ? "idle" : "no stack");
    }
    for (size_t i = 0; !title && key->status == KEY_OK && i < level->count; i++) {
        strbuf_addstr(b, i > 0 ? " \xe2\x86\x90 " : "");
        const struct frame_info *info = level->frames[i].info;
        strbuf_addstr(b, info->resolved ? "" : info->image_name);
        strbuf_addstr(b, info->function);
    }
}

enum st flame_labels_find(struct flame_labels *l, const struct dump *d, struct flame_label *out,
                          unsigned worker, struct err *e) {
    struct stall_key key = {0};
    size_t starts[FLAME_BY_COUNT];
    if (l->keyers[worker] && !(d->class.cause && (d->class.title || d->class.level1)) &&
        keyer_key(l->keyers[worker], d, &key, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < l->count; i++) {
        starts[i] = out->storage.len;
        switch (l->kinds[i]) {
        case FLAME_BY_CAUSE:
            add_cause(&out->storage, d, &key);
            break;
        case FLAME_BY_BUCKET:
            label_add_bucket(&out->storage, d, &key);
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

void flame_labels_release(struct flame_labels *l) {
    for (size_t i = 0; i < CLI_JOBS_MAX; i++) {
        keyer_free(l->keyers[i]);
    }
    rules_free(l->rules);
}
