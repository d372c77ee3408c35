/* Texts of names of code, in memory of a fixed size. */
#ifndef STALLREC_CODE_TEXT_H
#define STALLREC_CODE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"

enum { CODE_TEXT_SIZE = 64 * 1024, CODE_TEXT_MAX = 1024 /* bytes of one */ };

struct code_text {
    uint32_t used;
    char bytes[CODE_TEXT_SIZE];
};

/* Keeps a copy of a text, cut to CODE_TEXT_MAX - 1 bytes and at a NUL, with control characters as
 * '?'. NULL when there is no room. */
const char *code_text_keep_async(struct code_text *text, const char *bytes, size_t size);

/* Is the file part of the app, not of the system or of the runtime that runs it? By its path; one
 * that is not absolute names no file. */
bool code_text_is_app_file_async(const char *file);

/* Does the path have this part? */
bool code_text_has_async(const char *path, const char *part);

/* Sets the symbol, and the file and line where the text ends in them as V8 writes it:
 * "JS:~name /path/file.js:12:5", "JS:~name file:///path/file.mjs:12:5". Without room *name stays.
 */
void code_text_name_async(struct code_text *text, const char *bytes, size_t size,
                          struct rec_code_name *name);

#endif
