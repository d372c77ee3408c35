/* Makes a document valid UTF-8, because every text that is written from it must be valid. */
#ifndef STALLKIT_DUMP_UTF8_REPAIR_H
#define STALLKIT_DUMP_UTF8_REPAIR_H

#include <stdint.h>

#include "base/strbuf.h"

/* Replaces each byte of the text that is not UTF-8 (RFC 3629) by U+FFFD, and adds how many there
 * were to *count. ST_ERR: out of memory, or the text would grow past DUMP_TEXT_MAX bytes; the text
 * is then unchanged. */
enum st utf8_repair(struct strbuf *text, uint64_t *count, struct err *e) BASE_MUST_USE;

#endif
