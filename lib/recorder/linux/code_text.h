/* Stores names of code in memory of a fixed size, splits texts that end in a file and a line, and
 * tells which files are the app's. */
#ifndef STALLREC_CODE_TEXT_H
#define STALLREC_CODE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"

enum { CODE_TEXT_SIZE = 64 * 1024, CODE_TEXT_MAX = 1024 /* bytes of one text with its NUL */ };

struct code_text {
    uint32_t used;
    char bytes[CODE_TEXT_SIZE];
};

/* Stores a copy of a text, cut at a NUL and to CODE_TEXT_MAX - 1 bytes, with '?' for control
 * characters. NULL: there is no room. */
const char *code_text_keep_async(struct code_text *text, const char *bytes, size_t size);

/* Does the file, by its path, belong to the app, and not to the system or to an installed package
 * (in site-packages, dist-packages or node_modules)? False for a path that is not absolute, as it
 * names no file. */
bool code_text_is_app_file_async(const char *file);

/* Does the path contain the text `part`? */
bool code_text_has_async(const char *path, const char *part);

/* Sets name->symbol from a text, and file, line and in_app if the text ends in a file and a line as
 * V8 writes it: "JS:~name /path/file.js:12:5", "JS:~name file:///path/file.mjs:12:5". In any other
 * text file becomes NULL, line 0 and in_app false. *name stays unchanged if there is no room for
 * the symbol. */
void code_text_name_async(struct code_text *text, const char *bytes, size_t size,
                          struct rec_code_name *name);

#endif
