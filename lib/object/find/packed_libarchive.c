/* Reads archives through libarchive, with two guards of our own. libarchive skips a member of a
 * packed tar by unpacking it without a bound, so members of tars are read to their end here, and
 * their bytes are counted. (A zip is not packed as a whole, and its members are skipped without
 * reading them.) Nested packings, which libarchive would undo one inside the other, are refused:
 * each multiplies the size. */
#include "object/find/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "object/find/libarchive_calls.h"
#include "object/object_private.h"

/* libarchive's error number for a file of none of its formats, ARCHIVE_ERRNO_FILE_FORMAT, which its
 * header does not give. */
#ifdef EFTYPE
enum { UNKNOWN_FORMAT = EFTYPE };
#else
enum { UNKNOWN_FORMAT = EILSEQ };
#endif

enum { BLOCK = 128 * 1024, FILTERS_MAX = 2, MAGIC_SIZE = 8 };

struct unpacking {
    struct libarchive_calls lib;
    struct archive *archive;
    const char *path;
    const struct packed_visitor *visitor;
    struct spill *spill;
    uint64_t own_left; /* the budget in bytes, unless the visitor has one */
    uint64_t *left;    /* bytes that may still be unpacked: own_left or the visitor's */
    size_t members;
};

bool packed_supported(void) {
    struct libarchive_calls unused;
    return libarchive_calls_load(&unused, NULL) == ST_OK;
}

static const char *why(const struct unpacking *u) {
    const char *text = u->lib.f_error_string(u->archive);
    return text ? text : "damaged";
}

static enum st packed_damaged(const struct unpacking *u, struct err *e) {
    if (u->lib.f_errno(u->archive) == ENOMEM) {
        return err_nomem(e);
    }
    return err_set(e, ERR_FORMAT, "cannot unpack '%s': %s", u->path, why(u));
}

static enum st too_much(const struct unpacking *u, struct err *e) {
    return u->visitor->left
               ? err_set(e, ERR_LIMIT, "'%s' unpacks to too much", u->path)
               : err_set(e, ERR_LIMIT, "'%s' unpacks to more than %d times its size plus %d MiB",
                         u->path, PACKED_RATIO, PACKED_FLOOR >> 20);
}

/* Reads one block of the current member. ST_NONE: the member's end. ST_ERR with *lost: this member
 * cannot be read, but others can. */
static enum st next_block(struct unpacking *u, const void **bytes, size_t *len, uint64_t *offset,
                          bool *lost, struct err *e) {
    int64_t at = 0;
    *len = 0;
    int r = u->lib.f_read_data_block(u->archive, bytes, len, &at);
    if (r == ARCHIVE_EOF) {
        return ST_NONE;
    }
    if (r < ARCHIVE_WARN) {
        *lost = r != ARCHIVE_FATAL;
        return packed_damaged(u, e);
    }
    if (*len > *u->left) {
        return too_much(u, e);
    }
    *u->left -= *len;
    *offset = at < 0 ? 0 : (uint64_t)at;
    return ST_OK;
}

static bool is_object(const uint8_t *bytes, size_t len) {
    return elffile_is(bytes, len) || macho_is_thin(bytes, len) || macho_is_universal(bytes, len);
}

/* Writes a block of a member to the spill and updates the member's *size. A sparse file in a tar
 * may claim any size, so its holes count as unpacked bytes. */
static enum st keep_block(struct unpacking *u, const void *bytes, size_t len, uint64_t offset,
                          uint64_t *size, struct err *e) {
    uint64_t end;
    if (!checked_add_u64(offset, len, &end)) {
        return too_much(u, e);
    }
    uint64_t hole = end > *size && end - *size > len ? end - *size - len : 0;
    if (hole > *u->left) {
        return too_much(u, e);
    }
    *u->left -= hole;
    *size = end > *size ? end : *size;
    return spill_write(u->spill, offset, bytes, len, e);
}

/* Is the file packed, but no archive, so that libarchive gives it as one member? */
static bool is_no_archive(const struct unpacking *u) {
    return u->lib.f_format(u->archive) == ARCHIVE_FORMAT_RAW;
}

enum keeping { KEEP_NOT, KEEP_OBJECT, KEEP_ANY };

/* Reads a member to its end, and writes it to the spill unless its first bytes show that it is not
 * kept; such a member of a zip, or of a packed file that is no archive, is read no further. *size
 * is the size of a kept member, else 0. */
static enum st packed_read_member(struct unpacking *u, enum keeping keeping, uint64_t *size,
                                  bool *lost, struct err *e) {
    bool zip = u->lib.f_format(u->archive) == ARCHIVE_FORMAT_ZIP, first = true;
    bool keep = keeping != KEEP_NOT;
    const void *bytes;
    size_t len;
    uint64_t offset = 0;
    enum st st;
    *size = 0;
    while ((st = next_block(u, &bytes, &len, &offset, lost, e)) == ST_OK) {
        if (len == 0) {
            continue;
        }
        if (first && keep) {
            keep = offset == 0 && (keeping == KEEP_ANY || is_object(bytes, len));
            if (keep && spill_begin(u->spill, e) != ST_OK) {
                return ST_ERR;
            }
        }
        first = false;
        if (!keep && (zip || is_no_archive(u))) {
            /* Libarchive skips the rest of this member; in a packed file that is no archive
             * there is no other member. */
            return ST_OK;
        }
        if (keep && keep_block(u, bytes, len, offset, size, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return st == ST_NONE ? ST_OK : st;
}

/* Writes the name of the only member of a packed file that is no archive: the packed file's name
 * without its last extension. */
static enum st single_name(const struct unpacking *u, struct strbuf *out, struct err *e) {
    const char *base = path_base(u->path), *dot = strrchr(base, '.');
    strbuf_add(out, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    return strbuf_check(out, e);
}

static const char *packed_name_of(const struct unpacking *u, struct archive_entry *entry) {
    const char *name = u->lib.f_entry_pathname_utf8(entry);
    name = name ? name : u->lib.f_entry_pathname(entry);
    return name ? name : "?";
}

static enum keeping keeping_of(const struct packed_visitor *v, const char *name) {
    if (!v->wants(v->ctx, name)) {
        return KEEP_NOT;
    }
    return v->wants_any && v->wants_any(v->ctx, name) ? KEEP_ANY : KEEP_OBJECT;
}

/* Hands a member on. ST_NONE: the member is the only one of a packed file, and no object file. */
static enum st visit_member(struct unpacking *u, const char *name, bool file, struct err *e) {
    const struct packed_visitor *v = u->visitor;
    struct err failure = {0};
    struct filemap map = {0};
    uint64_t size = 0;
    bool lost = false;
    enum keeping keep = file ? keeping_of(v, name) : KEEP_NOT;
    if (keep == KEEP_NOT && u->lib.f_format(u->archive) == ARCHIVE_FORMAT_ZIP) {
        return ST_OK;
    }
    enum st st = packed_read_member(u, keep, &size, &lost, &failure);
    if (st == ST_ERR && lost && failure.code != ERR_NOMEM) {
        if (keep != KEEP_NOT) {
            v->complain(v->ctx, name, &failure);
        }
        return ST_OK;
    }
    bool kept = keep == KEEP_ANY || size >= MAGIC_SIZE;
    if (st == ST_OK && !kept && keep == KEEP_OBJECT && is_no_archive(u)) {
        return ST_NONE;
    }
    if (st == ST_OK && kept) {
        st = size > 0 ? spill_map(u->spill, size, &map, &failure) : ST_OK;
        if (st == ST_OK) {
            st = v->take(v->ctx, name, &map, &failure);
        }
        filemap_release(&map);
    }
    return st == ST_ERR ? err_copy(e, &failure) : ST_OK;
}

static enum st packed_visit(struct unpacking *u, struct archive_entry *entry, struct err *e) {
    struct strbuf single = {0};
    bool file = u->lib.f_entry_filetype(entry) == AE_IFREG;
    if (!is_no_archive(u)) {
        return visit_member(u, packed_name_of(u, entry), file, e);
    }
    enum st st = single_name(u, &single, e);
    st = st == ST_OK ? visit_member(u, strbuf_cstr(&single), file, e) : st;
    strbuf_release(&single);
    return st;
}

static enum st packed_read_all(struct unpacking *u, struct err *e) {
    struct archive_entry *entry;
    int r;
    while ((r = u->lib.f_read_next_header(u->archive, &entry)) != ARCHIVE_EOF) {
        if (r < ARCHIVE_WARN && r != ARCHIVE_RETRY) {
            return packed_damaged(u, e);
        }
        if (u->lib.f_filter_count(u->archive) > FILTERS_MAX) {
            return err_set(e, ERR_UNSUPPORTED, "'%s' is packed more than once", u->path);
        }
        if (++u->members > PACKED_MEMBERS) {
            return err_set(e, ERR_LIMIT, "more than %d files in '%s'", PACKED_MEMBERS, u->path);
        }
        enum st st = r != ARCHIVE_RETRY ? packed_visit(u, entry, e) : ST_OK;
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

/* The formats that libarchive is told to read: archives (tar, zip), raw, or both. Raw: a packed
 * file is taken for one member, whatever it holds. */
enum formats { SET_UP_ARCHIVES, SET_UP_RAW, SET_UP_BOTH };

static bool set_up(const struct libarchive_calls *lib, struct archive *a, enum formats formats) {
    return lib->f_read_support_filter_gzip(a) >= ARCHIVE_WARN &&
           lib->f_read_support_filter_xz(a) >= ARCHIVE_WARN &&
           lib->f_read_support_filter_zstd(a) >= ARCHIVE_WARN &&
           lib->f_read_support_filter_bzip2(a) >= ARCHIVE_WARN &&
           (formats == SET_UP_RAW || (lib->f_read_support_format_tar(a) >= ARCHIVE_WARN &&
                                      lib->f_read_support_format_zip(a) >= ARCHIVE_WARN)) &&
           (formats == SET_UP_ARCHIVES || lib->f_read_support_format_raw(a) >= ARCHIVE_WARN);
}

/* ---- what follows the archive ---- */

static enum st bytes_behind(const struct unpacking *u, struct err *e) {
    return err_set(e, ERR_FORMAT, "bytes after the end of the archive '%s' are not read", u->path);
}

static bool is_zero(const uint8_t *bytes, size_t len) {
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* Are all bytes of the file zero from here on, as padding is? True also if they cannot be read. */
static bool rest_is_zero(int fd, int64_t from) {
    uint8_t bytes[4096];
    ssize_t got;
    while ((got = pread(fd, bytes, sizeof bytes, (off_t)from)) > 0) {
        if (!is_zero(bytes, (size_t)got)) {
            return false;
        }
        from += got;
    }
    return true;
}

static uint32_t le_at(const uint8_t *p, size_t bytes) {
    uint32_t value = 0;
    while (bytes > 0) {
        value = value << 8 | p[--bytes];
    }
    return value;
}

/* Does the directory at the end of a zip begin where its own offset says, and do only zeros, or
 * nothing, follow the zip? Else bytes, such as another zip, stand before or behind it. Also true
 * for Zip64, which is not looked at (APPNOTE §4.3.16), if no end of a directory is found, or if
 * memory or reading fails. */
static bool is_one_zip(int fd, int64_t size) {
    enum { END_SIZE = 22, TAIL_MAX = END_SIZE + 65535 };
    uint8_t *tail = malloc(TAIL_MAX);
    int64_t from = size > TAIL_MAX ? size - TAIL_MAX : 0;
    ssize_t got = tail ? pread(fd, tail, TAIL_MAX, (off_t)from) : 0;
    bool one = true;
    for (ssize_t i = got - END_SIZE; i >= 0; i--) {
        const uint8_t *end = tail + i;
        if (memcmp(end, "PK\5\6", 4) == 0) {
            const int64_t directory = (int64_t)le_at(end + 12, 4) + le_at(end + 16, 4);
            const bool large = i >= 20 && memcmp(end - 20, "PK\6\7", 4) == 0;
            one = large || (directory == from + i &&
                            rest_is_zero(fd, from + i + END_SIZE + le_at(end + 20, 2)));
            break;
        }
    }
    free(tail);
    return one;
}

/* Unpacks a packed tar again, and finds whether more than zeros follow the tar's end, of which
 * libarchive does not tell. */
static enum st check_packed_end(struct unpacking *u, int fd, int64_t start, struct err *e) {
    struct archive *a = u->lib.f_read_new();
    struct archive_entry *entry;
    const void *bytes;
    size_t len;
    int64_t at, tar = u->lib.f_filter_bytes(u->archive, 0);
    bool zero = true;
    enum st st = ST_OK;
    if (!a || !set_up(&u->lib, a, SET_UP_RAW) || lseek(fd, (off_t)start, SEEK_SET) < 0) {
        st = err_nomem(e);
    } else if (u->lib.f_read_open_fd(a, fd, BLOCK) == ARCHIVE_OK &&
               u->lib.f_read_next_header(a, &entry) == ARCHIVE_OK) {
        while (zero && st == ST_OK &&
               u->lib.f_read_data_block(a, &bytes, &len, &at) == ARCHIVE_OK) {
            size_t skip = at >= tar ? 0 : tar - at < (int64_t)len ? (size_t)(tar - at) : len;
            zero = is_zero((const uint8_t *)bytes + skip, len - skip);
            st = len - skip > *u->left ? too_much(u, e) : ST_OK;
            *u->left -= st == ST_OK ? len - skip : 0;
        }
        zero = zero && rest_is_zero(fd, start + u->lib.f_filter_bytes(a, -1));
    }
    if (a) {
        u->lib.f_read_free(a);
    }
    return st == ST_OK && !zero ? bytes_behind(u, e) : st;
}

/* Checks that the archive, which was read to its end, ends with the file or is followed by zeros
 * only. A zip that does not begin at the start of the file is not checked. */
static enum st check_archive_end(struct unpacking *u, int fd, int64_t start, int64_t size,
                                 struct err *e) {
    if (u->lib.f_format(u->archive) == ARCHIVE_FORMAT_ZIP) {
        return start > 0 || is_one_zip(fd, size) ? ST_OK : bytes_behind(u, e);
    }
    if (!is_no_archive(u) && u->lib.f_filter_count(u->archive) > 1) {
        return check_packed_end(u, fd, start, e);
    }
    return rest_is_zero(fd, start + u->lib.f_filter_bytes(u->archive, -1)) ? ST_OK
                                                                           : bytes_behind(u, e);
}

/* ---- opening ---- */

static uint64_t budget(uint64_t file_size) {
    uint64_t total;
    return checked_mul_u64(file_size, PACKED_RATIO, &total) &&
                   checked_add_u64(total, PACKED_FLOOR, &total)
               ? total
               : UINT64_MAX;
}

enum st packed_read_open(int fd, const char *path, struct spill *spill,
                         const struct packed_visitor *v, struct err *e) {
    struct stat sb;
    if (fstat(fd, &sb) != 0) {
        return err_sys(e, errno, "cannot read '%s'", path);
    }
    struct unpacking u = {
        .path = path, .visitor = v, .spill = spill, .own_left = budget((uint64_t)sb.st_size)};
    struct err absent = {0};
    u.left = v->left ? v->left : &u.own_left;
    if (libarchive_calls_load(&u.lib, &absent) != ST_OK) {
        return err_set(e, absent.code,
                       "'%s' is an archive, and libarchive cannot be loaded to read it (%s)", path,
                       absent.text);
    }
    struct archive *a = u.archive = u.lib.f_read_new();
    if (!a) {
        return err_nomem(e);
    }
    if (!set_up(&u.lib, a, v->single ? SET_UP_BOTH : SET_UP_ARCHIVES)) {
        u.lib.f_read_free(a);
        return err_nomem(e);
    }
    enum st st;
    const int64_t start = v->whole ? (int64_t)lseek(fd, 0, SEEK_CUR) : -1;
    if (u.lib.f_read_open_fd(a, fd, BLOCK) == ARCHIVE_OK) {
        st = packed_read_all(&u, e);
        if (st == ST_OK && start >= 0) {
            st = check_archive_end(&u, fd, start, (int64_t)sb.st_size, e);
        }
    } else {
        /* Opening fails for a single packed file that is no archive, and for a file that is damaged
         * at its beginning; the former is no error, the latter only if v->strict. Lack of memory
         * and a failed read are always errors. */
        int code = u.lib.f_errno(a);
        bool failed = code == ENOMEM || code == EIO || (v->strict && code != UNKNOWN_FORMAT);
        st = failed ? packed_damaged(&u, e) : ST_NONE;
    }
    u.lib.f_read_free(a);
    return st;
}

enum st packed_read(const char *path, struct spill *spill, const struct packed_visitor *v,
                    struct err *e) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return err_sys(e, errno, "cannot open '%s'", path);
    }
    enum st st = packed_read_open(fd, path, spill, v, e);
    close(fd);
    return st;
}
