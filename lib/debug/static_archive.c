/* Reading static archives: "!<arch>\n", then for each member a header of 60 characters, its bytes,
 * and one more if they are odd:
 *
 *    0  name, 16   "x.o/" (GNU) "x.o" (BSD); "/12": at 12 of the member "//" (GNU, long);
 *                  "#1/20": the first 20 bytes of the member (BSD, long)
 *   16  time, 12   decimal
 *   28  owner, group and mode, 20
 *   48  size, 10   decimal
 *   58  "`\n"
 */
#include "debug/static_archive.h"

#include <stdbool.h>
#include <string.h>

enum { NAME_FIELD = 16, TIME_FIELD = 12, OWNER_FIELDS = 20, SIZE_FIELD = 10 };

static const char magic[] = "!<arch>\n";

enum st static_archive_open(struct static_archive *a, const char *path, const uint8_t *bytes,
                            size_t len) {
    size_t magic_len = sizeof magic - 1;
    if (len < magic_len || memcmp(bytes, magic, magic_len) != 0) {
        return ST_NONE;
    }
    *a = (struct static_archive){.members = reader_init(path, bytes, len)};
    reader_skip(&a->members, magic_len);
    return ST_OK;
}

/* A decimal number that blanks fill up; fails the reader if it is none. */
static uint64_t read_decimal(struct reader *r, const uint8_t *text, size_t len) {
    uint64_t n = 0;
    size_t i = 0;
    for (; text && i < len && text[i] >= '0' && text[i] <= '9'; i++) {
        n = n * 10 + (uint64_t)(text[i] - '0'); /* of at most 16 digits */
    }
    if (!text || i == 0 || (i < len && text[i] != ' ')) {
        reader_fail(r);
    }
    return n;
}

/* The length of a name that ends at a character or the field. */
static size_t name_length(const uint8_t *name, size_t len, char end) {
    const uint8_t *at = memchr(name, end, len);
    return at ? (size_t)(at - name) : len;
}

/* Sets the name of a member from its field; BSD's long ones stand in front of the bytes. */
static void read_member_name(struct static_archive *a, const uint8_t *field, struct reader *body,
                             struct archive_member *out) {
    struct reader names = a->long_names;
    const uint8_t *name = field;
    size_t len = NAME_FIELD;
    if (memcmp(field, "#1/", 3) == 0) {
        len = (size_t)read_decimal(body, field + 3, NAME_FIELD - 3);
        name = reader_bytes(body, len);
        len = name ? name_length(name, len, '\0') : 0;
    } else if (field[0] == '/' && field[1] >= '0' && field[1] <= '9') {
        reader_skip(&names, read_decimal(body, field + 1, NAME_FIELD - 1));
        len = reader_left(&names);
        name = reader_bytes(&names, len);
        len = name ? name_length(name, len, '\n') : 0;
        len -= len > 0 && name[len - 1] == '/';
    } else {
        while (len > 0 && field[len - 1] == ' ') {
            len--;
        }
        len -= len > 1 && field[0] != '/' && field[len - 1] == '/';
    }
    out->name = (const char *)name;
    out->name_len = len;
}

static bool name_begins(const struct archive_member *m, const char *with) {
    size_t len = strlen(with);
    return m->name_len >= len && memcmp(m->name, with, len) == 0;
}

/* Tables of symbols: "/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64 …". */
static bool is_table(const struct archive_member *m) {
    return name_begins(m, "__.SYMDEF") || name_begins(m, "/");
}

enum st static_archive_next(struct static_archive *a, struct archive_member *out, struct err *e) {
    struct reader *r = &a->members;
    while (reader_left(r) > 0) {
        const uint8_t *name = reader_bytes(r, NAME_FIELD);
        out->time = read_decimal(r, reader_bytes(r, TIME_FIELD), TIME_FIELD);
        reader_skip(r, OWNER_FIELDS);
        uint64_t size = read_decimal(r, reader_bytes(r, SIZE_FIELD), SIZE_FIELD);
        const uint8_t *end = reader_bytes(r, 2);
        if (!end || memcmp(end, "`\n", 2) != 0) {
            reader_fail(r);
        }
        struct reader body = reader_sub(r, size, NULL);
        if (reader_left(r) > 0) {
            reader_skip(r, size % 2);
        }
        if (reader_check(r, e, "header of an archive's member") != ST_OK) {
            return ST_ERR;
        }
        read_member_name(a, name, &body, out);
        if (reader_check(&body, e, "name of an archive's member") != ST_OK) {
            return ST_ERR;
        }
        if (out->name_len == 2 && name_begins(out, "//")) {
            a->long_names = body;
        } else if (!is_table(out)) {
            out->len = reader_left(&body);
            out->bytes = reader_bytes(&body, out->len);
            return ST_OK;
        }
    }
    return ST_NONE;
}
