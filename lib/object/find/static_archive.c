/* Reads static archives: "!<arch>\n", then for each member a header of 60 characters, its bytes,
 * and one byte of padding if their number is odd:
 *
 *     0  name, 16   "x.o/" (GNU) "x.o" (BSD); "/12": at 12 of the member "//" (GNU, long);
 *                   "#1/20": the first 20 bytes of the member (BSD, long)
 *    16  time, 12   decimal
 *    28  owner, group and mode, 20
 *    48  size, 10   decimal
 *    58  "`\n"
 *
 * A thin archive, GNU's "!<thin>\n", has the bytes of its tables only; the members' names, in the
 * table of names, are the paths of their files. */
#include "object/find/static_archive.h"

#include <string.h>

enum { NAME_FIELD = 16, TIME_FIELD = 12, OWNER_FIELDS = 20, SIZE_FIELD = 10 };

static const char magic[] = "!<arch>\n", thin_magic[] = "!<thin>\n"; /* both have the same length */

enum st static_archive_open(struct static_archive *a, const char *path, const uint8_t *bytes,
                            size_t len) {
    size_t magic_len = sizeof magic - 1;
    bool thin = len >= magic_len && memcmp(bytes, thin_magic, magic_len) == 0;
    if (!thin && (len < magic_len || memcmp(bytes, magic, magic_len) != 0)) {
        return ST_NONE;
    }
    *a = (struct static_archive){.members = reader_init(path, bytes, len), .thin = thin};
    reader_skip(&a->members, magic_len);
    return ST_OK;
}

/* Reads a decimal number with blanks after it; only blanks are 0, as the time of GNU's table of
 * names. Fails the reader if it is no number. */
static uint64_t read_decimal(struct reader *r, const uint8_t *text, size_t len) {
    uint64_t n = 0;
    size_t i = 0;
    for (; text && i < len && text[i] >= '0' && text[i] <= '9'; i++) {
        n = n * 10 + (uint64_t)(text[i] - '0'); /* no overflow: at most 16 digits */
    }
    if (!text || (i < len && text[i] != ' ')) {
        reader_fail(r);
    }
    return n;
}

/* Returns the length of a name that ends at character `end` or at the field's end. */
static size_t name_length(const uint8_t *name, size_t len, char end) {
    const uint8_t *at = memchr(name, end, len);
    return at ? (size_t)(at - name) : len;
}

/* Sets a member's name from its field, GNU's table of long names, or (BSD's long ones) the
 * beginning of its bytes. */
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

/* Does the name's field stand for a table of symbols ("/", "/SYM64/") or of names ("//")? */
static bool is_gnu_table(const uint8_t *field) {
    return field && field[0] == '/' && (field[1] < '0' || field[1] > '9');
}

static bool name_begins(const struct archive_member *m, const char *with) {
    size_t len = strlen(with);
    return m->name_len >= len && memcmp(m->name, with, len) == 0;
}

/* Is the member a table of symbols: "/", "/SYM64/", or a name that begins with "__.SYMDEF"
 * ("__.SYMDEF SORTED", "__.SYMDEF_64")? field: the name's field of its header. A long name that
 * begins with "/" is the absolute path of a thin archive's member. */
static bool is_table(const uint8_t *field, const struct archive_member *m) {
    return is_gnu_table(field) || name_begins(m, "__.SYMDEF");
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
        out->apart = a->thin && !is_gnu_table(name);
        struct reader body = reader_sub(r, out->apart ? 0 : size, NULL);
        if (!out->apart && reader_left(r) > 0) {
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
        } else if (!is_table(name, out)) {
            out->len = reader_left(&body);
            out->bytes = reader_bytes(&body, out->len);
            return ST_OK;
        }
    }
    return ST_NONE;
}

const char *static_archive_member_name(const char *path) {
    size_t len = strlen(path);
    const char *open = len > 0 && path[len - 1] == ')' ? strrchr(path, '(') : NULL;
    return open ? open + 1 : NULL;
}
