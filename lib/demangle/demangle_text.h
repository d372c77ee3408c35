/* Mangled names inside text: a log, a linker's messages, nm's output. */
#ifndef STALLKIT_DEMANGLE_DEMANGLE_TEXT_H
#define STALLKIT_DEMANGLE_DEMANGLE_TEXT_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "demangle/demangle.h"

/* Appends the text with the names in it readable, and every other byte as it is. A name is a whole
 * word of letters, digits, `_`, `$`, `.` and bytes over 127, or that with a `@` in front; Swift's
 * classes are found in the names that Objective-C has for them (-[_TtC4Shop4Cart add:],
 * _OBJC_CLASS_$__TtC4Shop4Cart). ST_ERR: out of memory. Thread safe. */
enum st demangle_text(const char *text, size_t len, enum demangle_style style, struct strbuf *out,
                      struct err *e) BASE_MUST_USE;

/* Of a text that goes on: how many bytes at its front can be given to demangle_text now, 0 … len.
 * The rest is a word that may go on, too. */
size_t demangle_text_whole(const char *text, size_t len);

#endif
