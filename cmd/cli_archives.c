/* Reads archives of dumps with libarchive. A member is unpacked into a file without a name, so
 * that the readers of dumps need not know where an input comes from. */
#include "cli_archives.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/gz.h"
#include "base/strbuf.h"
#include "object/find/packed.h"

struct archive_reading {
    const char *name;
    cli_on_input on_input;
    cli_on_failure on_failure;
    void *ctx;
    uint64_t *left;
    struct spill *spill;
    size_t given; /* number of members that were passed to on_input or on_failure */
    int depth;    /* number of archives around this one */
    bool single;  /* a compressed file that is no archive: its only member has no name */
};

static bool read_archive(int fd, const struct archive_reading *outer);

/* Returns the kind of an open file by its first bytes; a gzip counts only if it holds a tar. The
 * file is rewound; PACKED_NOT, too, if it cannot be. */
static enum packed_kind kind_of_open(int fd, const char *name) {
    uint8_t head[PACKED_HEAD];
    ssize_t got = pread(fd, head, sizeof head, 0);
    size_t len = got > 0 ? (size_t)got : 0;
    enum packed_kind kind = packed_kind_of(head, len);
    if (kind != PACKED_MAYBE || head[0] != 0x1f) {
        return kind;
    }
    struct gz_input *in = NULL;
    int again = dup(fd);
    size_t more = 0;
    kind = PACKED_NOT;
    if (again >= 0 && gz_input_open(&in, again, name, NULL) == ST_OK) {
        for (len = 0; len < sizeof head; len += more) {
            if (gz_input_read(in, head + len, sizeof head - len, &more, NULL) != ST_OK ||
                more == 0) {
                break;
            }
        }
        kind = packed_kind_of(head, len) == PACKED_CERTAIN ? PACKED_CERTAIN : PACKED_NOT;
        gz_input_close(in);
    }
    return lseek(fd, 0, SEEK_SET) == 0 ? kind : PACKED_NOT;
}

/* Is a member to be read? Hidden files, and the files that macOS adds to zips, are not. */
static bool wants_member(void *ctx, const char *name) {
    (void)ctx;
    for (; *name; name += strcspn(name, "/"), name += *name == '/') {
        size_t len = strcspn(name, "/");
        bool dot = len == 1 || (len == 2 && name[1] == '.');
        if ((*name == '.' && !dot) || (len == 8 && strncmp(name, "__MACOSX", 8) == 0)) {
            return false;
        }
    }
    return true;
}

static bool wants_any_member(void *ctx, const char *name) {
    (void)ctx;
    (void)name;
    return true;
}

/* Returns the name of a member, ARCHIVE/MEMBER with '?' for control characters of MEMBER, in *out;
 * of a compressed file that is no archive, or if memory ran out, only the name of the file. */
static const char *name_of_member(const struct archive_reading *a, const char *member,
                                  struct strbuf *out) {
    strbuf_addstr(out, a->name);
    if (!a->single) {
        strbuf_addc(out, '/');
        for (; *member; member++) {
            bool control = (unsigned char)*member < ' ' || *member == 0x7f;
            strbuf_addc(out, control ? '?' : *member);
        }
    }
    return out->failed ? a->name : strbuf_cstr(out);
}

static void fail_member(void *ctx, const char *member, const struct err *why) {
    struct archive_reading *a = ctx;
    struct strbuf name = {0};
    a->given++;
    a->on_failure(a->ctx, name_of_member(a, member, &name), why);
    strbuf_release(&name);
}

/* Returns a descriptor, at offset 0, of a nameless file that holds these bytes; -1 with errno on
 * failure. */
static int unnamed_file(const uint8_t *bytes, size_t size) {
    char path[] = P_tmpdir "/stallkit.XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        return -1;
    }
    unlink(path);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            int why = errno;
            close(fd);
            errno = why;
            return -1;
        }
        bytes += n;
        size -= (size_t)n;
    }
    (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

static enum st take_member(void *ctx, const char *member, struct filemap *map, struct err *e) {
    struct archive_reading *a = ctx;
    struct strbuf name = {0};
    a->given++;
    int fd = unnamed_file(map->data, map->size);
    /* Frees the member now; it would otherwise be kept until the archive's end. */
    spill_release(a->spill);
    if (fd < 0) {
        return err_sys(e, errno, "cannot unpack '%s'", a->name);
    }
    struct archive_reading inner = *a;
    inner.name = name_of_member(a, member, &name);
    inner.depth++;
    if (read_archive(fd, &inner)) {
        close(fd);
    } else {
        a->on_input(a->ctx, fd, inner.name, !a->single);
    }
    strbuf_release(&name);
    return ST_OK;
}

/* Reads an archive as cli_read_archive does; outer->name is the file's name. */
static bool read_archive(int fd, const struct archive_reading *outer) {
    enum packed_kind kind = kind_of_open(fd, outer->name);
    struct archive_reading a = *outer;
    struct spill spill = {0};
    struct err e = {0};
    if (kind == PACKED_NOT) {
        return false;
    }
    if (outer->depth > CLI_ARCHIVE_DEPTH) {
        err_set(&e, ERR_LIMIT, "archives are nested too deep");
        a.on_failure(a.ctx, a.name, &e);
        return true;
    }
    a.single = false;
    a.given = 0;
    a.spill = &spill;
    const struct packed_visitor v = {.ctx = &a,
                                     .wants = wants_member,
                                     .take = take_member,
                                     .complain = fail_member,
                                     .wants_any = wants_any_member,
                                     .whole = true,
                                     .left = a.left};
    enum st st = packed_read_open(fd, a.name, &spill, &v, &e);
    if (st == ST_NONE && lseek(fd, 0, SEEK_SET) == 0) {
        struct packed_visitor one = v;
        a.single = one.single = true;
        st = packed_read_open(fd, a.name, &spill, &one, &e);
    }
    if (st == ST_NONE) {
        st = err_set(&e, ERR_FORMAT, "damaged, or packed in a way that is not known");
    }
    if (st == ST_OK && a.given == 0) {
        st = err_set(&e, ERR_FORMAT, "empty: no dump in it");
    }
    if (st == ST_ERR) {
        a.on_failure(a.ctx, a.name, &e);
    }
    spill_release(&spill);
    return true;
}

bool cli_read_archive(int fd, const char *name, cli_on_input on_input, cli_on_failure on_failure,
                      void *ctx) {
    struct stat st;
    uint64_t left;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || lseek(fd, 0, SEEK_CUR) != 0) {
        return false;
    }
    if (!checked_mul_u64((uint64_t)st.st_size, CLI_ARCHIVE_RATIO, &left) ||
        !checked_add_u64(left, CLI_ARCHIVE_FLOOR, &left)) {
        left = UINT64_MAX;
    }
    const struct archive_reading a = {
        .name = name, .on_input = on_input, .on_failure = on_failure, .ctx = ctx, .left = &left};
    return read_archive(fd, &a);
}
