/* The temporary file of unpacked bytes. The file is unlinked at once, so that it disappears even if
 * the process is killed. */
#include "object/find/spill.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/strbuf.h"

static enum st spill_open_file(struct spill *s, struct err *e) {
    struct strbuf path = {0};
    const char *folder = s->folder ? s->folder : P_tmpdir;
    strbuf_addf(&path, "%s/stallkit.XXXXXX", folder);
    enum st st = strbuf_check(&path, e);
    if (st == ST_OK) {
        s->fd = mkstemp(path.data);
        st = s->fd >= 0 ? ST_OK : err_sys(e, errno, "cannot make a temporary file in '%s'", folder);
    }
    if (st == ST_OK) {
        s->open = true;
        (void)unlink(path.data);
    }
    strbuf_release(&path);
    return st;
}

enum st spill_begin(struct spill *s, struct err *e) {
    if (!s->open && spill_open_file(s, e) != ST_OK) {
        return ST_ERR;
    }
    s->end = s->start;
    /* Without truncation, bytes of an unfinished piece would be read in the holes of the new one.
     */
    return ftruncate(s->fd, (off_t)s->start) == 0
               ? ST_OK
               : err_sys(e, errno, "cannot cut a temporary file");
}

enum st spill_write(struct spill *s, uint64_t offset, const void *bytes, size_t len,
                    struct err *e) {
    const char *from = bytes;
    uint64_t at, end;
    if (!checked_add_u64(s->start, offset, &at) || !checked_add_u64(at, len, &end) ||
        end > INT64_MAX) {
        return err_set(e, ERR_LIMIT, "too large for a temporary file");
    }
    s->end = end > s->end ? end : s->end;
    while (len > 0) {
        ssize_t n = pwrite(s->fd, from, len, (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return err_sys(e, n < 0 ? errno : ENOSPC, "cannot write a temporary file in '%s'",
                           s->folder ? s->folder : P_tmpdir);
        }
        from += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return ST_OK;
}

enum st spill_map(struct spill *s, uint64_t size, struct filemap *out, struct err *e) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), next;
    if (size == 0 || size > SIZE_MAX || !checked_add_u64(s->start, size, &next) ||
        next > INT64_MAX - page) {
        return err_set(e, ERR_LIMIT, "too large for a temporary file");
    }
    next += page - 1;
    next -= next % page;
    if (ftruncate(s->fd, (off_t)next) != 0) {
        return err_sys(e, errno, "cannot grow a temporary file");
    }
    void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, s->fd, (off_t)s->start);
    if (p == MAP_FAILED) {
        return err_sys(e, errno, "cannot map a temporary file");
    }
    *out = (struct filemap){.data = p, .size = (size_t)size, .mapped = true};
    s->start = s->end = next;
    return ST_OK;
}

void spill_release(struct spill *s) {
    if (s->open) {
        close(s->fd);
    }
    *s = (struct spill){0};
}
