/* Batches of dumps for upload.
 *
 * A batch is two files, each made under another name, flushed and renamed; the second rename makes
 * the batch exist:
 *
 *     .stall-batch-<id>.list        names of the files in it, one a line
 *     .stall-batch-<id>.jsonl.gz    their content
 *
 * stallrec_batch_done removes the files of the list, then the content, then the list. If a process
 * is killed before the second rename, there is no batch, and nothing was taken from the folder; if
 * it is killed in stallrec_batch_done before the content is removed, the batch is still there, and
 * the call can be repeated. A list without content and content without a list are junk. The id is a
 * hash of the names in the list, so that gathering the same files again after a kill gives the same
 * id. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "files/dumpname.h"
#include "files/folder.h"
#include "support/rec_text.h"
#include "support/share.h"
#include "stallrec.h"
#include "support/rec_fd.h"

#define PREFIX  ".stall-batch-"
#define LIST    ".list"
#define CONTENT ".jsonl.gz"
#define PART    PREFIX "new.part"

enum {
    FILES_MAX = 4096, /* maximum number of files in one batch; others wait for the next batch */
    CHUNK = 16 * 1024,
    /* Maximum number of bytes of one unpacked dump, which is the format's limit. */
    INPUT_MAX = 64 << 20,
    NAME = 96,
    GZIP = 16,
    WINDOW = 15,
    MEM_LEVEL = 8
};

typedef char file_name[REC_FILE_NAME];

struct gather {
    int dir, fd;
    z_stream z;
    uint64_t written, limit;
    file_name *names; /* names of the folder's files that may be sent, sorted: sessions, then dumps,
                         each by time */
    uint32_t count, cap;
    file_name *taken;
    uint32_t taken_count;
    uint32_t dumps, sessions, left_out;
    unsigned char in[CHUNK], text[CHUNK], out[CHUNK];
};

/* ---- the folder ---- */

static int batch_compare_names(const void *left, const void *right) {
    return strcmp(left,
                  right); /* "session-" sorts before "stall-", and in both the time comes first */
}

static bool gather_add_name(struct gather *g, const char *name) {
    if (g->count == g->cap) {
        uint32_t cap = g->cap != 0 ? 2 * g->cap : 64;
        file_name *more = realloc(g->names, cap * sizeof *more);
        if (more == NULL) {
            return false;
        }
        g->names = more;
        g->cap = cap;
    }
    memcpy(g->names[g->count++], name, strlen(name) + 1);
    return true;
}

static bool may_be_sent(const char *name) {
    struct rec_file_name parsed = rec_file_name_read(name);
    return strlen(name) < REC_FILE_NAME && parsed.kind != REC_FILE_OTHER && !parsed.local;
}

static enum stallrec_error gather_list_files(struct gather *g) {
    DIR *folder = rec_folder_list(g->dir);
    if (folder == NULL) {
        return STALLREC_ERR_DIRECTORY;
    }
    enum stallrec_error st = STALLREC_OK;
    for (struct dirent *e; st == STALLREC_OK && (e = readdir(folder)) != NULL;) {
        if (may_be_sent(e->d_name) && !gather_add_name(g, e->d_name)) {
            st = STALLREC_ERR_MEMORY;
        }
    }
    closedir(folder);
    if (g->count > 0) {
        qsort(g->names, g->count, sizeof *g->names, batch_compare_names);
    }
    return st;
}

/* ---- packing ---- */

/* Reads as read(2) does, and repeats it after a signal. */
static ssize_t batch_read(int fd, void *bytes, size_t size) {
    ssize_t n;
    do {
        n = read(fd, bytes, size);
    } while (n < 0 && errno == EINTR);
    return n;
}

enum pack { PACK_OK, PACK_FULL, PACK_DAMAGED, PACK_WRITE, PACK_MEMORY };

/* Compresses len bytes of text into the batch's content file. PACK_FULL: the file would grow beyond
 * g->limit bytes. */
static enum pack deflate_text(struct gather *g, const unsigned char *text, size_t len, int flush) {
    g->z.next_in = (z_const Bytef *)text;
    g->z.avail_in = (uInt)len;
    do {
        g->z.next_out = g->out;
        g->z.avail_out = CHUNK;
        if (deflate(&g->z, flush) == Z_STREAM_ERROR) {
            return PACK_MEMORY;
        }
        size_t made = CHUNK - g->z.avail_out;
        if (made > g->limit - g->written) {
            return PACK_FULL;
        }
        if (!rec_write_all(g->fd, g->out, made)) {
            return PACK_WRITE;
        }
        g->written += made;
    } while (g->z.avail_out == 0);
    return PACK_OK;
}

/* The state of the check of a file's text. */
struct line {
    uint64_t len;
    bool ended; /* the text's last byte is a newline */
};

static enum pack pack_text(struct gather *g, struct line *line, const unsigned char *text,
                           size_t len) {
    /* Only one JSON object on one line is accepted, as the recorder writes it; any other text
     * would damage the lines beside it. */
    const unsigned char *newline = len > 0 ? memchr(text, '\n', len) : NULL;
    if (len > 0 && (line->ended || (line->len == 0 && text[0] != '{') ||
                    (newline != NULL && newline != text + len - 1))) {
        return PACK_DAMAGED;
    }
    line->len += len;
    line->ended = newline != NULL;
    return line->len > INPUT_MAX ? PACK_DAMAGED : deflate_text(g, text, len, Z_NO_FLUSH);
}

/* Inflates the len bytes in g->in and packs the text. *end becomes true when the gzip stream is
 * complete. PACK_DAMAGED: the stream is damaged, or bytes follow its end. */
static enum pack pack_gzip(struct gather *g, z_stream *z, struct line *line, size_t len,
                           bool *end) {
    z->next_in = g->in;
    z->avail_in = (uInt)len;
    do {
        z->next_out = g->text;
        z->avail_out = CHUNK;
        int status = *end ? Z_DATA_ERROR : inflate(z, Z_NO_FLUSH);
        if (status == Z_MEM_ERROR) {
            return PACK_MEMORY;
        }
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
            return PACK_DAMAGED;
        }
        *end = status == Z_STREAM_END;
        enum pack st = pack_text(g, line, g->text, CHUNK - z->avail_out);
        if (st != PACK_OK) {
            return st;
        }
    } while (z->avail_in > 0 || z->avail_out == 0);
    return PACK_OK;
}

static enum pack pack_open_file(struct gather *g, int fd, bool gzip) {
    z_stream z = {0};
    struct line line = {0};
    bool end = false;
    enum pack st = PACK_OK;
    if (gzip && inflateInit2(&z, WINDOW + GZIP) != Z_OK) {
        return PACK_MEMORY;
    }
    while (st == PACK_OK) {
        ssize_t n = batch_read(fd, g->in, CHUNK);
        if (n == 0) {
            break;
        }
        if (n < 0) {
            st = PACK_DAMAGED;
        } else if (gzip) {
            st = pack_gzip(g, &z, &line, (size_t)n, &end);
        } else {
            st = pack_text(g, &line, g->in, (size_t)n);
        }
    }
    if (gzip) {
        inflateEnd(&z);
    }
    if (st == PACK_OK && (!line.ended || (gzip && !end))) {
        st = PACK_DAMAGED;
    }
    /* Flushes the compressor, so that the size of its output is known. */
    return st == PACK_OK ? deflate_text(g, NULL, 0, Z_SYNC_FLUSH) : st;
}

/* Restores the compressor and the content file to their state before a file that does not belong
 * into the batch; `written` was the content file's size then. False: out of memory, or the file
 * cannot be set back; see errno. */
static bool roll_back(struct gather *g, z_stream *saved, uint64_t written) {
    deflateEnd(&g->z);
    if (deflateCopy(&g->z, saved) != Z_OK) {
        errno = ENOMEM;
        g->z = (z_stream){0};
        return false;
    }
    g->written = written;
    return ftruncate(g->fd, (off_t)written) == 0 &&
           lseek(g->fd, (off_t)written, SEEK_SET) == (off_t)written;
}

static enum pack pack_file(struct gather *g, const char *name) {
    z_stream saved;
    struct stat st;
    uint64_t written = g->written;
    int fd = openat(g->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0) {
            close(fd);
        }
        return PACK_DAMAGED; /* the file is not a regular file, or was removed in the meantime */
    }
    if (deflateCopy(&saved, &g->z) != Z_OK) {
        close(fd);
        return PACK_MEMORY;
    }
    enum pack packed = pack_open_file(g, fd, rec_file_name_read(name).gzip);
    close(fd);
    if ((packed == PACK_FULL || packed == PACK_DAMAGED) && !roll_back(g, &saved, written)) {
        packed = PACK_WRITE;
    }
    deflateEnd(&saved);
    return packed;
}

/* Bytes that the end of the gzip stream adds after a flush: an empty block, checksum and length. */
enum { TRAILER = 16 };

static enum stallrec_error pack_files(struct gather *g, uint64_t max_bytes) {
    g->limit = max_bytes - TRAILER;
    if (deflateInit2(&g->z, Z_BEST_COMPRESSION, Z_DEFLATED, WINDOW + GZIP, MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return STALLREC_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < g->count && g->taken_count < FILES_MAX; i++) {
        enum pack packed = pack_file(g, g->names[i]);
        if (packed == PACK_MEMORY || packed == PACK_WRITE) {
            return packed == PACK_MEMORY ? STALLREC_ERR_MEMORY : STALLREC_ERR_WRITE;
        }
        if (packed == PACK_FULL && g->taken_count > 0) {
            break; /* the next batch begins with this file, so that the order of files is kept */
        }
        if (packed != PACK_OK) {
            g->left_out++;
            continue;
        }
        bool dump = rec_file_name_read(g->names[i]).kind == REC_FILE_DUMP;
        g->dumps += dump;
        g->sessions += !dump;
        memcpy(g->taken[g->taken_count++], g->names[i], sizeof(file_name));
    }
    if (g->taken_count == 0) {
        return STALLREC_ERR_NOTHING;
    }
    g->limit = max_bytes;
    return deflate_text(g, NULL, 0, Z_FINISH) == PACK_OK && fsync(g->fd) == 0 ? STALLREC_OK
                                                                              : STALLREC_ERR_WRITE;
}

/* ---- the two files ---- */

/* Sets name to that of one of a batch's files: PREFIX, the id, and the end. */
static void batch_name(char name[NAME], const char *id, const char *end) {
    size_t len = sizeof PREFIX - 1, id_len = strlen(id);
    memcpy(name, PREFIX, len);
    memcpy(name + len, id, id_len);
    memcpy(name + len + id_len, end, strlen(end) + 1);
}

static bool is_id(const char *id, size_t len) {
    return len == STALLREC_BATCH_ID - 1 && strspn(id, "0123456789abcdef") >= len;
}

/* Sets id to the batch's id: 128 bits from the names of its files, as two hashes with different
 * starts. */
static void name_batch(const struct gather *g, char id[STALLREC_BATCH_ID]) {
    uint64_t hash[2] = {REC_HASH_START, ~REC_HASH_START};
    uint8_t bytes[16];
    for (uint32_t i = 0; i < g->taken_count; i++) {
        for (unsigned k = 0; k < 2; k++) {
            hash[k] = rec_hash(hash[k], g->taken[i], strlen(g->taken[i]) + 1);
        }
    }
    for (unsigned i = 0; i < 16; i++) {
        bytes[i] = (uint8_t)(hash[i / 8] >> (56 - 8 * (i % 8)));
    }
    rec_hex_text(bytes, sizeof bytes, id);
}

static bool batch_write_list(const struct gather *g, const char *id) {
    char part[NAME], name[NAME];
    batch_name(part, id, ".part");
    batch_name(name, id, LIST);
    int fd = openat(g->dir, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->taken_count; i++) {
        ok = rec_write_all(fd, g->taken[i], strlen(g->taken[i])) && rec_write_all(fd, "\n", 1);
    }
    ok = ok && fsync(fd) == 0;
    int why = errno;
    close(fd);
    if (ok && renameat(g->dir, part, g->dir, name) == 0) {
        return true;
    }
    why = ok ? errno : why;
    unlinkat(g->dir, part, 0);
    errno = why;
    return false;
}

/* Counts a file that a list names, and with `remove` removes it. False: see errno. */
static bool handle_listed(int dir, const char *name, bool remove, struct stallrec_batch *batch) {
    if (!may_be_sent(name)) { /* no other file is ever removed, whatever the list names */
        return true;
    }
    bool dump = rec_file_name_read(name).kind == REC_FILE_DUMP;
    batch->dumps += dump;
    batch->sessions += !dump;
    return !remove || unlinkat(dir, name, 0) == 0 || errno == ENOENT;
}

/* Counts the files that a batch's list names into *batch, and with `remove` removes them. False:
 * see errno; the list may name more files. */
static bool batch_read_list(int dir, const char *id, bool remove, struct stallrec_batch *batch) {
    char name[NAME], line[REC_FILE_NAME], bytes[1024];
    size_t len = 0;
    batch_name(name, id, LIST);
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    ssize_t n;
    bool ok = true;
    while (ok && (n = batch_read(fd, bytes, sizeof bytes)) != 0) {
        ok = n > 0;
        for (ssize_t i = 0; ok && i < n; i++) {
            if (bytes[i] != '\n') {
                line[len] = bytes[i];
                len += len < sizeof line - 1;
                continue;
            }
            line[len] = '\0';
            len = 0;
            ok = handle_listed(dir, line, remove, batch);
        }
    }
    int why = errno;
    close(fd);
    errno = why;
    return ok;
}

/* ---- finding batches ---- */

/* Reads the id in the name of a batch's file with this end; false: the name is that of another
 * file. */
static bool batch_read_id(const char *name, const char *end, char id[STALLREC_BATCH_ID]) {
    const size_t prefix = sizeof PREFIX - 1, id_len = STALLREC_BATCH_ID - 1;
    if (strlen(name) != prefix + id_len + strlen(end) || strncmp(name, PREFIX, prefix) != 0 ||
        !is_id(name + prefix, id_len) || strcmp(name + prefix + id_len, end) != 0) {
        return false;
    }
    memcpy(id, name + prefix, id_len);
    id[id_len] = '\0';
    return true;
}

/* Finds the first batch, by id, for which stallrec_batch_done is due; found is "" if there is none
 * or the folder cannot be listed, and then false is returned. Removes the lists, contents and
 * unfinished files that belong to no batch, as a killed call leaves them. */
static bool find_batch(int dir, char found[STALLREC_BATCH_ID]) {
    char id[STALLREC_BATCH_ID], other[NAME];
    DIR *folder = rec_folder_list(dir);
    found[0] = '\0';
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        if (batch_read_id(e->d_name, CONTENT, id)) {
            batch_name(other, id, LIST);
            if (faccessat(dir, other, F_OK, 0) != 0 && errno == ENOENT) {
                unlinkat(dir, e->d_name,
                         0); /* another process removed its list; its dumps are in the folder */
            } else if (found[0] == '\0' || strcmp(id, found) < 0) {
                memcpy(found, id, sizeof id);
            }
        } else if (batch_read_id(e->d_name, LIST, id)) {
            batch_name(other, id, CONTENT);
            if (faccessat(dir, other, F_OK, 0) != 0 && errno == ENOENT) {
                unlinkat(dir, e->d_name, 0);
            }
        } else if (strcmp(e->d_name, PART) == 0 || batch_read_id(e->d_name, ".part", id)) {
            unlinkat(dir, e->d_name, 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found[0] != '\0';
}

static enum stallrec_error batch_describe(int dir, const char *directory, const char *id,
                                          uint32_t left_out, struct stallrec_batch *out) {
    struct stallrec_batch batch = {.size = out->size, .left_out = left_out};
    struct stat st;
    char name[NAME];
    size_t len = strlen(directory);
    batch_name(name, id, CONTENT);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !batch_read_list(dir, id, false, &batch)) {
        return STALLREC_ERR_DIRECTORY;
    }
    memcpy(batch.id, id, STALLREC_BATCH_ID);
    memcpy(batch.path, directory, len);
    batch.path[len] = '/';
    memcpy(batch.path + len + 1, name, strlen(name) + 1);
    batch.bytes = (uint64_t)st.st_size;
    memcpy(out, &batch, out->size < sizeof batch ? out->size : sizeof batch);
    return STALLREC_OK;
}

static enum stallrec_error make_batch(struct gather *g, uint64_t max_bytes,
                                      char id[STALLREC_BATCH_ID]) {
    char name[NAME];
    enum stallrec_error st = gather_list_files(g);
    if (st != STALLREC_OK || g->count == 0) {
        return st != STALLREC_OK ? st : STALLREC_ERR_NOTHING;
    }
    g->taken = malloc((g->count < FILES_MAX ? g->count : FILES_MAX) * sizeof *g->taken);
    if (g->taken == NULL) {
        return STALLREC_ERR_MEMORY;
    }
    g->fd = openat(g->dir, PART, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (g->fd < 0) {
        return STALLREC_ERR_WRITE;
    }
    st = pack_files(g, max_bytes);
    int why = errno;
    if (close(g->fd) != 0 && st == STALLREC_OK) {
        st = STALLREC_ERR_WRITE;
        why = errno;
    }
    if (st == STALLREC_OK) {
        name_batch(g, id);
        batch_name(name, id, CONTENT);
        if (!batch_write_list(g, id) || renameat(g->dir, PART, g->dir, name) != 0) {
            st = STALLREC_ERR_WRITE;
            why = errno;
        }
    }
    if (st != STALLREC_OK) {
        unlinkat(g->dir, PART, 0);
        errno = why;
    }
    return st;
}

/* ---- the app's calls ---- */

static int open_directory(const char *directory) {
    if (strlen(directory) > STALLREC_BATCH_PATH - NAME - 2) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

enum stallrec_error stallrec_batch_next(const char *directory, uint64_t max_bytes,
                                        struct stallrec_batch *out) {
    char id[STALLREC_BATCH_ID];
    if (max_bytes < 1024 ||
        out->size < offsetof(struct stallrec_batch, left_out) + sizeof out->left_out) {
        return STALLREC_ERR_CONFIG;
    }
    int dir = open_directory(directory);
    if (dir < 0) {
        return STALLREC_ERR_DIRECTORY;
    }
    enum stallrec_error st;
    struct gather *g = NULL;
    if (find_batch(dir, id)) {
        st = batch_describe(dir, directory, id, 0, out);
    } else if ((g = calloc(1, sizeof *g)) == NULL) {
        st = STALLREC_ERR_MEMORY;
    } else {
        g->dir = dir;
        st = make_batch(g, max_bytes, id);
        if (st == STALLREC_OK) {
            st = batch_describe(dir, directory, id, g->left_out, out);
        }
    }
    int why = errno;
    if (g != NULL) {
        deflateEnd(&g->z);
        free(g->names);
        free(g->taken);
        free(g);
    }
    close(dir);
    errno = why;
    return st;
}

enum stallrec_error stallrec_batch_done(const char *directory, const char *id) {
    char content[NAME], list[NAME];
    struct stallrec_batch listed = {0};
    if (strlen(id) != STALLREC_BATCH_ID - 1 || !is_id(id, strlen(id))) {
        return STALLREC_ERR_NOTHING;
    }
    int dir = open_directory(directory);
    if (dir < 0) {
        return STALLREC_ERR_DIRECTORY;
    }
    enum stallrec_error st = STALLREC_OK;
    batch_name(content, id, CONTENT);
    batch_name(list, id, LIST);
    if (faccessat(dir, content, F_OK, 0) != 0) {
        st = errno == ENOENT ? STALLREC_ERR_NOTHING : STALLREC_ERR_WRITE;
    } else if (!batch_read_list(dir, id, true, &listed) || unlinkat(dir, content, 0) != 0 ||
               unlinkat(dir, list, 0) != 0) {
        st = STALLREC_ERR_WRITE;
    }
    int why = errno;
    close(dir);
    errno = why;
    return st;
}
