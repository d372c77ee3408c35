/* Implements stallclassify --marks, and filters on the marks that users gave to buckets. */
#include "triage/classify_marks.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/parse.h"
#include "classify/print/triage_text.h"

/* ---- filters ---- */

struct marks_choice {
    struct classify_history *h;
    const struct where *where;
    struct bucket_note note; /* note on the current bucket */
    struct err failed;       /* the first failure */
    size_t chosen, count;
};

static enum st say_mark(void *ctx, const char *field, const char **text) {
    const struct marks_choice *c = ctx;
    *text = c->note.ignored ? "true" : "false";
    if (strcmp(field, "owner") == 0) {
        *text = c->note.owner;
    }
    return *text && **text ? ST_OK : ST_NONE;
}

static bool is_chosen(void *ctx, const char *id, size_t rank) {
    struct marks_choice *c = ctx;
    (void)rank;
    c->note = (struct bucket_note){0};
    if (classify_history_is_marked(c->h, id)) {
        (void)classify_history_note(c->h, id, &c->note);
    }
    struct err e = {0};
    enum st st = where_match_bucket(c->where, say_mark, c, &e);
    if (st == ST_ERR && !err_is(&c->failed)) {
        c->failed = e;
    }
    c->chosen += st == ST_OK;
    c->count++;
    return st == ST_OK;
}

bool classify_keep_asked(struct classify_history *h, const struct where *where, struct triage *t,
                         const struct cli_tool *tool, struct cli_failures *failures) {
    struct marks_choice c = {.h = h, .where = where};
    struct err e = {0};
    if (!where_asks_marks(where)) {
        return true;
    }
    if (triage_keep(t, is_chosen, &c, &e) != ST_OK) {
        return cli_fail(failures, h->path, &e);
    }
    if (err_is(&c.failed)) {
        return cli_fail(failures, h->path, &c.failed);
    }
    cli_say(tool->name, "owner and ignored choose %zu of %zu bucket%s; sums are of all", c.chosen,
            c.count, c.count == 1 ? "" : "s");
    return true;
}

/* ---- the list ---- */

struct marks_list {
    struct classify_history *h;
    struct cli_output out;
    struct jsonw w;
    bool json;
    struct strbuf title, text;
};

static const char *mark_state(const struct bucket_note *n) {
    if (n->ignored) {
        return "ignored";
    }
    if (n->back_in && *n->back_in) {
        return "back";
    }
    return n->fixed_in && *n->fixed_in ? "fixed" : "open";
}

static void put_mark_json(struct marks_list *l, const char *id, const struct bucket_note *n) {
    jsonw_begin_object(&l->w);
    jsonw_member_cstr(&l->w, "id", id);
    jsonw_member_cstr(&l->w, "title", strbuf_cstr(&l->title));
    jsonw_member_cstr(&l->w, "state", mark_state(n));
    bucket_note_json(&l->w, n);
    jsonw_end_object(&l->w);
}

static void put_mark_text(struct marks_list *l, const char *id, const struct bucket_note *n) {
    strbuf_clear(&l->text);
    strbuf_addf(&l->text, "%s  %-7s  ", id, mark_state(n));
    text_add_clean(&l->text, strbuf_cstr(&l->title));
    sink_printf(&l->out.sink, "%s\n", strbuf_cstr(&l->text));
    strbuf_clear(&l->text);
    bucket_note_add(&l->text, n);
    sink_printf(&l->out.sink, "    %s\n", strbuf_cstr(&l->text));
}

static enum st put_marked(void *ctx, uint64_t bucket, struct err *e) {
    struct marks_list *l = ctx;
    struct bucket_note note = {0};
    char id[KEY_ID_SIZE];
    strbuf_clear(&l->title);
    enum st st = history_title_of(l->h->h, bucket, &l->title, e);
    if (st == ST_OK) {
        key_number_text(bucket, id);
        if (classify_history_note(l->h, id, &note)) {
            (l->json ? put_mark_json : put_mark_text)(l, id, &note);
        }
        st = strbuf_check(&l->text, e);
    }
    return st == ST_NONE ? ST_OK : st;
}

int classify_list_marks(struct classify_history *h, const struct cli_tool *tool,
                        const struct classify_output *output, struct cli_failures *failures) {
    const char *format = print_formats[output->format].word;
    struct marks_list l = {.h = h, .json = strcmp(format, "json") == 0};
    struct err e = {0};
    if (!l.json && strcmp(format, "table") != 0) {
        return cli_usage_error(tool, "with --marks the formats are table and json");
    }
    if (!cli_output_open(&l.out, output->path, failures)) {
        return CLI_FAILED;
    }
    if (l.json) {
        l.w = jsonw_init(&l.out.sink);
        jsonw_begin_object(&l.w);
        jsonw_member_cstr(&l.w, "format", "stall-marks/1");
        jsonw_member_array(&l.w, "buckets");
    }
    enum st st = history_marked_each(h->h, NULL, put_marked, &l, &e);
    if (l.json) {
        jsonw_end_array(&l.w);
        jsonw_end_object(&l.w);
        sink_char(&l.out.sink, '\n');
    }
    bool ok = st == ST_OK ? classify_notes_were_read(h, failures) : cli_fail(failures, h->path, &e);
    cli_output_close(&l.out, ok, failures);
    strbuf_release(&l.title);
    strbuf_release(&l.text);
    return cli_exit_status(failures);
}
