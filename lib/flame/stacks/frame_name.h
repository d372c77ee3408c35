/* Splits a frame's text into its parts, and joins them, by the conventions of folded stacks.
 *
 *     libc.so`read     the function `read` of the module `libc.so`: DTrace's and Instruments' form
 *     parse_[i]        the function `parse`, inlined into the frame below; _[k] kernel, _[j] JIT
 *     Shop+0x1f40, 0x7f12, [unknown]     not resolved
 * */
#ifndef STALLKIT_FLAME_FRAME_NAME_H
#define STALLKIT_FLAME_FRAME_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct frame_name {
    const char *module; /* NULL = none */
    size_t module_len;
    const char *name;
    size_t name_len;
    char mark; /* 'i' inlined, 'k' kernel, 'j' JIT, or 0 */
    bool unresolved;
};

enum { FRAME_MARK_LEN = 4 }; /* length of "_[i]" */

/* Does a frame's text, escaped or not, end in _[i], with other bytes before it? */
bool frame_is_inlined(const char *text, size_t len);

/* Splits a frame's name, unescaped; the result points into text. */
struct frame_name frame_name_split(const char *text, size_t len);

/* Appends a module's name for use in frames: characters that would change how the name is split are
 * replaced by '_'. */
void frame_name_module(struct strbuf *out, const char *module);
/* Appends MODULE`NAME, or NAME without a module, with _[i] after it if `inlined`. */
void frame_name_join(struct strbuf *out, const char *module, const char *name, bool inlined);

#endif
