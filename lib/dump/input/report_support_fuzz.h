/* Code shared by the fuzzers of the report readers. */
#ifndef STALLKIT_DUMP_REPORT_SUPPORT_FUZZ_H
#define STALLKIT_DUMP_REPORT_SUPPORT_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump.h"
#include "dump/input/report_formats.h"
#include "dump/reports/report_format_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

/* Requires that a dump is one line that parses, or that is refused because of a limit and for no
 * other reason. A session record must not parse as a dump. */
static inline enum st check_dump(void *ctx, const char *text, size_t len, struct err *e) {
    struct dump d;
    struct err why = {0};
    (void)e;
    (void)ctx;
    require(len > 0 && memchr(text, '\n', len) == NULL);
    if (report_is_session(text, len)) {
        require(dump_parse(&d, text, len, &why) == ST_NONE);
        return ST_OK;
    }
    enum st st = dump_parse(&d, text, len, &why);
    require(st == ST_OK || (st == ST_ERR && why.code == ERR_LIMIT));
    require(st != ST_OK || (d.id && d.stall.kind && d.stall.seq == 1));
    dump_release(&d);
    return ST_OK;
}

/* Reads any bytes as a document of this format, and then as one of any format. */
static inline void fuzz_report(const struct report_format *format, const uint8_t *data,
                               size_t size) {
    struct err e = {0};
    const char *text = (const char *)data;
    const struct report_document d = {{text, text + size}, check_dump, NULL, NULL, NULL, 0};
    enum st st = size > 0 ? format->read(&d, &e) : ST_NONE;
    require(st != ST_ERR || (err_is(&e) && e.code != ERR_NOMEM && e.code != ERR_INTERNAL));
    err_clear(&e);
    st = report_convert(text, size, NULL, check_dump, NULL, &e);
    require(st != ST_ERR || err_is(&e));
}

#endif
