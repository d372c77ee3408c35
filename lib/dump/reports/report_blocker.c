/* Reads from the kernel's frames of sampled stacks for which thread others waited:
 *
 *     *3   psynch_mtxcontinue + 0 (pthread + 11285) [0x…] (blocked by turnstile waiting for
 *          Shop [301] [unique pid 301] thread 0x2caa0)
 */
#include "dump/reports/report_blocker_private.h"

#include <string.h>

#include "dump/dump.h"

static const char *lock_kind(const char *symbol) {
    symbol += strspn(symbol, "_");
    if (strncmp(symbol, "psynch_mtx", 10) == 0 || strncmp(symbol, "psynch_mutex", 12) == 0) {
        return "mutex";
    }
    return strncmp(symbol, "psynch_rw", 9) == 0 ? "rwlock" : "lock";
}

size_t report_process_name_len(const char *name) {
    const char *id = strstr(name, " ["), *shown = strstr(name, " (");
    size_t len = id ? (size_t)(id - name) : strlen(name);
    return shown && (size_t)(shown - name) < len ? (size_t)(shown - name) : len;
}

/* Do both texts, such as "Shop [301] …", have the same process id? */
static bool same_id(const char *a, const char *b) {
    a = strstr(a, " [");
    b = strstr(b, " [");
    const char *end = a ? strchr(a, ']') : NULL;
    return a && b && end && strncmp(a, b, (size_t)(end - a) + 1) == 0;
}

/* Reads the owner, a thread of this process, from "Shop [301] [unique pid 301] thread 0x2caa0)" or
 * "this thread". False: the owner is in another process, or the text names a chain of several
 * owners. */
static bool take_blocker(const struct report_outline_thread *now, const char *process,
                         const char *s, int64_t *owner) {
    size_t len = process ? report_process_name_len(process) : 0;
    const char *end = strchr(s, ')'), *thread;
    uint64_t id;
    if (strncmp(s, "this thread", 11) == 0) {
        *owner = now->thread.id;
        return now->thread.id >= 0;
    }
    if (!end || len == 0 || strncmp(s, process, len) != 0 || !same_id(s, process)) {
        return false;
    }
    thread = strstr(s + len, " thread 0x");
    if (!thread || thread > end) {
        return false;
    }
    thread += sizeof " thread " - 1;
    if (!report_take_hex(&thread, &id) || id > INT64_MAX || *thread != ')') {
        return false;
    }
    *owner = (int64_t)id;
    return true;
}

void report_note_blocker(struct report_outline_thread *now, const char *process, const char *line) {
    static const char words[] = "blocked by turnstile waiting for ";
    const char *s = report_skip_blanks(line), *why = strstr(line, words);
    int64_t owner;
    uint64_t count;
    s += *s == '*';
    if (!now || !why || !report_take_decimal(&s, &count) || count > DUMP_COUNT_MAX ||
        !take_blocker(now, process, why + sizeof words - 1, &owner)) {
        return;
    }
    bool same = now->thread.waits_for && now->thread.owner == owner;
    if (!same && count <= now->blocked) {
        return;
    }
    now->blocked = count + (same ? now->blocked : 0);
    now->thread.waits_for = lock_kind(report_skip_blanks(s));
    now->thread.owner = owner;
}
