/* Parses the frames of Apple's texts of sampled stacks, and what they say of blockers. */
#include <string.h>

#include "dump/dump.h"
#include "dump/reports/report_private.h"
#include "dump/reports/report_sampled_private.h"
#include "dump/reports/report_span_private.h"

struct sampled_place sampled_place_of(const char *s, size_t len) {
    static const char in[] = "in ", plus[] = " + ";
    struct sampled_place p = {.open = len};
    while (p.open > 1 && !(s[p.open - 1] == '(' && s[p.open - 2] == ' ')) {
        p.open--;
    }
    if (p.open < 2) {
        return (struct sampled_place){0};
    }
    const char *image = s + p.open, *end = s + len;
    for (const char *at = image; end - at > 4; at++) {
        if (memcmp(at, in, 3) == 0 && (at == image || at[-1] == ' ')) {
            p.source = (struct span){s + p.open, at > image ? at - 1 : at};
            image = at + 3;
            break;
        }
    }
    for (const char *at = image; end - at > 3; at++) {
        const char *digits = at + 3;
        if (memcmp(at, plus, 3) == 0 && report_take_decimal(&digits, &p.offset) && *digits == ')') {
            p.image = (struct span){image, at};
            p.placed = true;
        }
    }
    p.open--;
    return p;
}

uint64_t sampled_frame_name(struct report *r, uint64_t address, const char *s, size_t len) {
    const char *whole = report_text(r, s, len);
    if (whole && report_atos_tail(whole)) {
        return report_symbol(r, address, whole);
    }
    const struct sampled_place p = sampled_place_of(s, len);
    if (p.open < 2 || strncmp(s, "???", 3) == 0) {
        return 0;
    }
    const char *symbol = report_text(r, s, p.open - 1);
    const char *comma = p.source.p ? memchr(p.source.p, ',', line_len(p.source)) : NULL;
    const size_t size = (size_t)((comma ? comma : p.source.end) - p.source.p);
    if (size > 0 && memchr(p.source.p, ':', size)) {
        const char *source = report_join(r, report_text(r, p.source.p, size), ")", "");
        symbol = report_join(r, symbol, " (", source);
    }
    return symbol ? report_symbol(r, address, symbol) : 0;
}

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
