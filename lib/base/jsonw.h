/* A small JSON printer: it writes straight to a sink, keeps commas and nesting, makes invalid UTF-8
 * U+FFFD, and knows no reals. Building and printing through a tree is some 20 times slower. */
#ifndef STALLKIT_BASE_JSONW_H
#define STALLKIT_BASE_JSONW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"

enum { JSONW_DEPTH = 64 };

struct jsonw {
    struct sink *sink; /* borrowed */
    int depth; /* open containers, < JSONW_DEPTH (asserted: our own nesting, never the input's) */
    bool need_comma[JSONW_DEPTH];
    bool after_key;
};

struct jsonw jsonw_init(struct sink *s);
void jsonw_begin_object(struct jsonw *w);
void jsonw_end_object(struct jsonw *w);
void jsonw_begin_array(struct jsonw *w);
void jsonw_end_array(struct jsonw *w);
/* The next value's member name (escaped as any string). */
void jsonw_key(struct jsonw *w, const char *key);
/* A member: its name and its value, or the beginning of it. */
void jsonw_member_object(struct jsonw *w, const char *key);
void jsonw_member_array(struct jsonw *w, const char *key);
void jsonw_member_u64(struct jsonw *w, const char *key, uint64_t v);
void jsonw_member_i64(struct jsonw *w, const char *key, int64_t v);
void jsonw_member_bool(struct jsonw *w, const char *key, bool v);
/* text NULL: there is no such member. */
void jsonw_member_cstr(struct jsonw *w, const char *key, const char *text);
void jsonw_str(struct jsonw *w, const char *s, size_t len);
void jsonw_cstr(struct jsonw *w, const char *s);
void jsonw_u64(struct jsonw *w, uint64_t v);
void jsonw_i64(struct jsonw *w, int64_t v);
void jsonw_bool(struct jsonw *w, bool v);
/* Text that is already JSON, passed through. */
void jsonw_raw(struct jsonw *w, const char *json, size_t len);

/* Writes a string value alone, with its quotes. */
void jsonw_escape(struct sink *s, const char *text, size_t len);

#endif
