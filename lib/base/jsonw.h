/* A small JSON writer: it writes straight to a sink, keeps track of commas and nesting, escapes
 * characters that may not be shown (utf8_is_printable), replaces invalid UTF-8 by U+FFFD, and has
 * no real numbers. Building a tree and printing it is some 20 times slower. */
#ifndef STALLKIT_BASE_JSONW_H
#define STALLKIT_BASE_JSONW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"

enum { JSONW_DEPTH = 64 };

struct jsonw {
    struct sink *sink; /* borrowed: takes the text */
    /* The number of open containers, < JSONW_DEPTH. The bound is asserted, since the nesting
     * depends on the program and never on its input. */
    int depth;
    bool need_comma[JSONW_DEPTH];
    bool after_key;
};

struct jsonw jsonw_init(struct sink *s);
void jsonw_begin_object(struct jsonw *w);
void jsonw_end_object(struct jsonw *w);
void jsonw_begin_array(struct jsonw *w);
void jsonw_end_array(struct jsonw *w);
/* Writes the name of the next member, escaped as any string. */
void jsonw_key(struct jsonw *w, const char *key);
/* These functions write a member: its name and its value, or the start of its object or array. */
void jsonw_member_object(struct jsonw *w, const char *key);
void jsonw_member_array(struct jsonw *w, const char *key);
void jsonw_member_u64(struct jsonw *w, const char *key, uint64_t v);
void jsonw_member_i64(struct jsonw *w, const char *key, int64_t v);
void jsonw_member_bool(struct jsonw *w, const char *key, bool v);
/* Writes a string member; nothing if text is NULL. */
void jsonw_member_cstr(struct jsonw *w, const char *key, const char *text);
void jsonw_str(struct jsonw *w, const char *s, size_t len);
void jsonw_cstr(struct jsonw *w, const char *s);
void jsonw_u64(struct jsonw *w, uint64_t v);
void jsonw_i64(struct jsonw *w, int64_t v);
void jsonw_bool(struct jsonw *w, bool v);
/* Writes text that is already JSON, unchanged. */
void jsonw_raw(struct jsonw *w, const char *json, size_t len);

/* Writes one string value with its quotes to a sink, without a jsonw. */
void jsonw_escape(struct sink *s, const char *text, size_t len);

#endif
