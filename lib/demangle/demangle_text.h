/* Demangles names inside text: a log, a linker's messages, nm's output. */
#ifndef STALLKIT_DEMANGLE_DEMANGLE_TEXT_H
#define STALLKIT_DEMANGLE_DEMANGLE_TEXT_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "demangle/demangle.h"

/* Appends the text with the mangled names in it demangled, and every other byte unchanged. A name
 * is a whole word of letters, digits, `_`, `$`, `.` and bytes over 127, perhaps with a `@` in
 * front, without the dots at its end; a word of fewer than 5 bytes that begins with `$` or `_T` is
 * none. Swift classes are also found inside Objective-C names (-[_TtC4Shop4Cart add:],
 * _OBJC_CLASS_$__TtC4Shop4Cart). ST_ERR: out of memory. Thread safe. */
enum st demangle_text(const char *text, size_t len, enum demangle_style style, struct strbuf *out,
                      struct err *e) BASE_MUST_USE;

/* Returns how many bytes at the front of an unfinished text can be given to demangle_text now, 0 …
 * len. The rest is a word that may continue. */
size_t demangle_text_whole(const char *text, size_t len);

#endif
