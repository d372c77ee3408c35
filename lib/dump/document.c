/* Builds Jansson's tree of a document from the steps of the JSON grammar. */
#include "dump/document.h"

#include "base/strbuf.h"
#include "dump/json/scan_private.h"

struct document_load {
    const struct document_options *options;
    const char *text;
    struct strbuf decoded; /* the decoded text of the last string with escapes */
    struct strbuf name;    /* the name of the member whose value comes next */
    json_t *root;
    json_t *open[DUMP_DEPTH_MAX]; /* the containers that are open now; the root owns them */
    size_t depth;
};

/* Returns the text of a string or number, borrowed until the next call; NULL: out of memory. */
static const char *document_text(struct document_load *l, const struct token *t, size_t *len) {
    *len = t->len;
    if (t->kind != VALUE_ESCAPED) {
        return t->text;
    }
    strbuf_clear(&l->decoded);
    char *room = strbuf_room(&l->decoded, ((size_t)t->len + 1) * 3);
    *len = room ? token_decode(t->text, t->len, room) : 0;
    return room;
}

/* Makes a number with Jansson, or a string of its text if Jansson cannot hold it; NULL: out of
 * memory. */
static json_t *document_number(const struct token *t) {
    json_error_t why;
    json_t *number = json_loadb(t->text, t->len, JSON_DECODE_ANY, &why);
    if (!number && json_error_code(&why) != json_error_out_of_memory) {
        number = json_stringn_nocheck(t->text, t->len);
    }
    return number;
}

/* Makes the Jansson value of a token; NULL: out of memory. */
static json_t *document_value(struct document_load *l, const struct token *t) {
    size_t len;
    const char *text;
    switch (t->kind) {
    case VALUE_NULL:
        return json_null();
    case VALUE_FALSE:
        return json_false();
    case VALUE_TRUE:
        return json_true();
    case VALUE_INTEGER:
        return json_integer(t->integer);
    case VALUE_REAL:
        return document_number(t);
    case VALUE_ARRAY:
        return json_array();
    case VALUE_OBJECT:
        return json_object();
    case VALUE_DIGITS:
        if (l->options->long_numbers) {
            return document_number(t);
        }
        break;
    default:
        break;
    }
    text = document_text(l, t, &len);
    return text ? json_stringn_nocheck(text, len) : NULL;
}

static enum st document_name(struct document_load *l, const struct token *t, struct err *e) {
    size_t len;
    const char *text = document_text(l, t, &len);
    strbuf_clear(&l->name);
    strbuf_add(&l->name, text ? text : "", len);
    if (!text || strbuf_check(&l->name, e) != ST_OK) {
        return err_nomem(e);
    }
    if (l->options->unique &&
        json_object_get(l->open[l->depth - 1], strbuf_cstr(&l->name)) != NULL) {
        return scan_refuse(l->text, t->text, ERR_FORMAT, "a name for the second time", e);
    }
    return ST_OK;
}

/* Puts a value into the innermost open container. */
static enum st document_add(struct document_load *l, const struct token *t, bool container,
                            struct err *e) {
    json_t *value = document_value(l, t);
    if (!value) {
        return err_nomem(e);
    }
    json_t *parent = l->depth > 0 ? l->open[l->depth - 1] : NULL;
    int failed = 0;
    if (!parent) {
        l->root = value;
    } else if (json_is_array(parent)) {
        failed = json_array_append_new(parent, value);
    } else {
        failed = json_object_set_new_nocheck(parent, strbuf_cstr(&l->name), value);
    }
    if (failed) {
        return err_nomem(e);
    }
    if (container) {
        l->open[l->depth++] = value;
    }
    return ST_OK;
}

static enum st document_take(struct document_load *l, size_t len, struct err *e) {
    struct scan scan = {.depth_max = l->options->depth_max, .values_max = l->options->values_max};
    struct token token = {0};
    const char *at = l->text;
    enum scan_event event;
    enum st st = ST_OK;
    while (st == ST_OK && (event = scan_next(&scan, &at, l->text + len, &token)) > SCAN_MANY) {
        if (event == SCAN_CLOSE) {
            l->depth--;
        } else if (event == SCAN_KEY) {
            st = document_name(l, &token, e);
        } else {
            st = document_add(l, &token, event == SCAN_OPEN, e);
        }
    }
    return st == ST_OK ? scan_end(event, at, l->text, len, e) : st;
}

enum st document_load(json_t **root, const char *text, size_t len,
                      const struct document_options *options, struct err *e) {
    static const struct document_options as_dumps = {0};
    struct document_load l; /* only the members listed here are set: `open` is large, and only its
                               first `depth` members are ever read */
    l.options = options ? options : &as_dumps;
    l.text = text;
    l.decoded = l.name = (struct strbuf){0};
    l.root = NULL;
    l.depth = 0;
    size_t text_max = l.options->text_max ? l.options->text_max : DUMP_TEXT_MAX;
    *root = NULL;
    if (len > text_max) {
        return err_set(e, ERR_LIMIT, "a document of more than %zu bytes", text_max);
    }
    enum st st = scan_begin(text, len, e);
    if (st == ST_OK) {
        st = document_take(&l, len, e);
    }
    strbuf_release(&l.decoded);
    strbuf_release(&l.name);
    if (st != ST_OK) {
        json_decref(l.root);
        return st;
    }
    *root = l.root;
    return ST_OK;
}
