/* Enforces the limits of the recorder's folder. */
#include "files/retention.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/dumpname.h"
#include "files/folder.h"

/* Maximum number of dumps and sessions that one call examines; others are left for the next
 * call. */
enum { ENTRIES_MAX = 1 << 16 };

struct retention_entry {
    char name[REC_FILE_NAME];
    struct rec_file_name parsed;
    uint64_t bytes;
};

/* The files of one bucket, which are consecutive in the sorted list. */
struct retention_bucket {
    uint32_t begin, end; /* the bucket's files are begin … end - 1; the first one, begin, is removed
                            last */
    uint32_t next; /* index of the oldest file after `begin` that was not removed; end = there is
                      none */
};

struct listing {
    struct retention_entry *entries;
    uint32_t count, cap;
    uint64_t bytes;
    uint32_t files, removed;
};

/* ---- the folder ---- */

static bool add_entry(struct listing *list, const struct retention_entry *entry) {
    if (list->count == list->cap) {
        uint32_t cap = list->cap != 0 ? 2 * list->cap : 64;
        struct retention_entry *more = realloc(list->entries, cap * sizeof *more);
        if (more == NULL) {
            return false;
        }
        list->entries = more;
        list->cap = cap;
    }
    list->entries[list->count++] = *entry;
    list->bytes += entry->bytes;
    return true;
}

static bool retention_read_entry(int dir, const char *name, struct retention_entry *entry) {
    struct stat st;
    size_t len = strlen(name);
    if (len >= sizeof entry->name) {
        return false;
    }
    entry->parsed = rec_file_name_read(name);
    if (entry->parsed.kind == REC_FILE_OTHER || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode)) {
        return false;
    }
    memcpy(entry->name, name, len + 1);
    entry->bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
    return true;
}

static bool read_folder(int dir, struct listing *list) {
    DIR *folder = rec_folder_list(dir);
    bool ok = folder != NULL;
    for (struct dirent *e; ok && list->count < ENTRIES_MAX && (e = readdir(folder)) != NULL;) {
        struct retention_entry entry;
        ok = !retention_read_entry(dir, e->d_name, &entry) || add_entry(list, &entry);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    list->files = list->count;
    return ok;
}

static void retention_drop(int dir, struct listing *list, const struct retention_entry *entry) {
    /* A file that another process or the uploader has removed no longer counts in list->bytes and
     * list->files. Nor does a file that cannot be removed, or all others would be removed in its
     * place. */
    if (unlinkat(dir, entry->name, 0) == 0) {
        list->removed++;
    }
    list->bytes -= entry->bytes;
    list->files--;
}

/* ---- age ---- */

static bool is_batch(const char *name) {
    static const char begin[] = ".stall-batch-";
    return strncmp(name, begin, sizeof begin - 1) == 0;
}

static void drop_old_batches(int dir, int64_t before_ms) {
    DIR *folder = rec_folder_list(dir);
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        struct stat st;
        if (is_batch(e->d_name) && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            (int64_t)st.st_mtime < before_ms / 1000) {
            unlinkat(dir, e->d_name, 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static void drop_old(int dir, struct listing *list, uint32_t days, int64_t wall_ms) {
    char before[REC_STAMP_TEXT];
    int64_t before_ms = wall_ms - (int64_t)days * 86400000;
    uint32_t kept = 0;
    rec_stamp_text(before_ms, before);
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->entries[i].parsed.stamp, before) < 0) {
            retention_drop(dir, list, &list->entries[i]);
        } else {
            list->entries[kept++] = list->entries[i];
        }
    }
    list->count = kept;
    drop_old_batches(dir, before_ms);
}

/* ---- size ---- */

static bool same_bucket(const struct retention_entry *a, const struct retention_entry *b) {
    return a->parsed.kind == b->parsed.kind && a->parsed.bucket == b->parsed.bucket;
}

/* Compares by kind, then by bucket, time and name; the name makes the order total. */
static int compare(const void *left, const void *right) {
    const struct retention_entry *a = left, *b = right;
    if (a->parsed.kind != b->parsed.kind) {
        return a->parsed.kind < b->parsed.kind ? -1 : 1;
    }
    if (a->parsed.bucket != b->parsed.bucket) {
        return a->parsed.bucket < b->parsed.bucket ? -1 : 1;
    }
    int order = strcmp(a->parsed.stamp, b->parsed.stamp);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static bool retention_exceeded(const struct listing *list, const struct rec_retention *limits) {
    return (limits->files != 0 && list->files > limits->files) ||
           (limits->bytes != 0 && list->bytes > limits->bytes);
}

static struct retention_bucket *find_buckets(const struct listing *list, uint32_t *count) {
    struct retention_bucket *buckets = malloc(list->count * sizeof *buckets);
    *count = 0;
    for (uint32_t i = 0; buckets != NULL && i < list->count; i++) {
        if (i == 0 || !same_bucket(&list->entries[i - 1], &list->entries[i])) {
            buckets[(*count)++] = (struct retention_bucket){.begin = i, .end = i, .next = i + 1};
        }
        buckets[*count - 1].end = i + 1;
    }
    return buckets;
}

/* Returns the number of files left in the bucket; 0 if its first file is removed, too. */
static uint32_t left_in(const struct retention_bucket *bucket) {
    return bucket->begin == bucket->end ? 0 : 1 + bucket->end - bucket->next;
}

static const struct retention_entry *oldest(const struct listing *list,
                                            const struct retention_bucket *bucket) {
    return &list->entries[left_in(bucket) > 1 ? bucket->next : bucket->begin];
}

/* Does bucket a lose a file before bucket b? The bucket with more files does; of equals, that with
 * the older candidate, then that which is first in the list. */
static bool loses_before(const struct listing *list, const struct retention_bucket *a,
                         const struct retention_bucket *b) {
    uint32_t left_a = left_in(a), left_b = left_in(b);
    if (left_a != left_b || left_a == 0) {
        return left_a > left_b;
    }
    int order = strcmp(oldest(list, a)->parsed.stamp, oldest(list, b)->parsed.stamp);
    return order != 0 ? order < 0 : a->begin < b->begin;
}

/* Moves the bucket at index `at` of the heap down to its place: each bucket loses a file before
 * its two children, so that the first bucket is the next to lose one. */
static void sift_down(const struct listing *list, struct retention_bucket *heap, uint32_t count,
                      uint32_t at) {
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && loses_before(list, &heap[child + 1], &heap[child])) {
            child++;
        }
        if (!loses_before(list, &heap[child], &heap[at])) {
            return;
        }
        struct retention_bucket moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

static bool drop_overflow(int dir, struct listing *list, const struct rec_retention *limits) {
    uint32_t count;
    if (!retention_exceeded(list, limits)) {
        return true;
    }
    qsort(list->entries, list->count, sizeof *list->entries, compare);
    struct retention_bucket *buckets = find_buckets(list, &count);
    if (buckets == NULL) {
        return false;
    }
    for (uint32_t i = count / 2; i-- > 0;) {
        sift_down(list, buckets, count, i);
    }
    while (retention_exceeded(list, limits) && left_in(buckets) > 0) {
        struct retention_bucket *bucket = buckets;
        retention_drop(dir, list, oldest(list, bucket));
        if (left_in(bucket) > 1) {
            bucket->next++;
        } else {
            bucket->begin = bucket->end;
        }
        sift_down(list, buckets, count, 0);
    }
    free(buckets);
    return true;
}

bool rec_retention_apply(int dir, const struct rec_retention *limits, int64_t wall_ms,
                         struct rec_retained *out) {
    struct listing list = {0};
    bool ok = read_folder(dir, &list);
    if (ok && limits->days != 0) {
        drop_old(dir, &list, limits->days, wall_ms);
    }
    ok = ok && drop_overflow(dir, &list, limits);
    if (ok && out != NULL) {
        *out = (struct rec_retained){list.files, list.bytes, list.removed};
    }
    free(list.entries);
    return ok;
}

/* ---- junk ---- */

bool rec_file_is_held(int dir, const char *name) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    bool held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return held;
}

static bool is_part(const char *name) {
    static const char begin[] = ".stall-", end[] = ".part";
    size_t len = strlen(name), least = sizeof begin - 1 + sizeof end - 1;
    return len >= least && strncmp(name, begin, sizeof begin - 1) == 0 &&
           strcmp(name + len - (sizeof end - 1), end) == 0;
}

void rec_retention_remove_junk(int dir) {
    DIR *folder = rec_folder_list(dir);
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        if (is_part(e->d_name) && !is_batch(e->d_name) && !rec_file_is_held(dir, e->d_name)) {
            unlinkat(dir, e->d_name, 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}
