/* Copies texts of a summary. */
#include "base/strbuf.h"
#include "classify/summary/summary_private.h"

const char *summary_keep(struct summary_maker *m) {
    const char *text =
        m->text.failed ? NULL : arena_strdup(&m->s->arena, strbuf_cstr(&m->text), m->text.len);
    m->failed = m->failed || !text;
    strbuf_clear(&m->text);
    return text ? text : "";
}
