/* Tells the faults that an examination of a history finds. */
#include <inttypes.h>
#include <stdarg.h>

#include "base/escape.h"
#include "history/history_private.h"

enum st history_fault(struct history_faults *f, struct err *e, const char *fmt, ...) {
    struct strbuf text = {0}, shown = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    text_add_shown(&shown, strbuf_cstr(&text), text.len);
    strbuf_addc(&shown, '\n');
    enum st st = text.failed ? err_nomem(e) : strbuf_check(&shown, e);
    if (st == ST_OK) {
        sink_write(f->out, shown.data, shown.len);
        f->sound = false;
    }
    strbuf_release(&text);
    strbuf_release(&shown);
    return st;
}

enum st history_row_fault(struct history_faults *f, const char *table, int64_t row,
                          const struct err *damage, struct err *e) {
    return damage->code == ERR_NOMEM
               ? err_nomem(e)
               : history_fault(f, e, "%s %" PRId64 ": %s", table, row, damage->text);
}
