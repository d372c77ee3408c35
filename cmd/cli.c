/* Prints messages and progress for the commands, and computes their exit status. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/utf8.h"

enum { PRINTED_OF_INPUT = 10, PRINTED_OF_RUN = 30 };

/* ---- talk and status ---- */

void cli_say(const char *tool, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t len = strlen(text), n;
    for (size_t i = 0; i < len; i += n) {
        uint32_t c = 0;
        n = utf8_decode(text + i, len - i, &c);
        if (n == 0 || !utf8_is_printable(c)) { /* a file name must not control the terminal */
            n = n ? n : 1;
            memset(text + i, '?', n);
        }
    }
    fprintf(stderr, "%s: %s\n", tool, text);
}

/* Was the line printed before? If not, it is noted as printed. */
static bool was_told(struct cli_told *told, const char *where, const char *text) {
    const size_t kept = sizeof told->lines / sizeof *told->lines;
    const uint64_t line =
        hash_u64(hash_bytes(where, strlen(where))) ^ hash_bytes(text, strlen(text));
    for (size_t i = 0; i < kept && i < told->count; i++) {
        if (told->lines[i] == line) {
            return true;
        }
    }
    told->lines[told->count++ % kept] = line;
    return false;
}

/* Prints "TOOL: WHERE: TEXT", or, without `where`, "TOOL: TEXT", unless f->told has the line. */
static void say_unless_told(const struct cli_failures *f, const char *where, const char *text) {
    if (f->told && was_told(f->told, where ? where : "", text)) {
        return;
    }
    if (where) {
        cli_say(f->tool, "%s: %s", where, text);
    } else {
        cli_say(f->tool, "%s", text);
    }
}

static void say_unprinted(struct cli_failures *f) {
    if (f->unprinted > 0 && f->printed < PRINTED_OF_RUN) {
        char text[48];
        snprintf(text, sizeof text, "%zu more like these", f->unprinted);
        say_unless_told(f, f->input, text);
        f->printed++;
    } else {
        f->untold += f->unprinted;
    }
    f->of_input = f->unprinted = 0;
}

/* Returns the length of `where` without a ":LINE" at its end. */
static size_t input_length(const char *where) {
    const char *colon = strrchr(where, ':');
    bool line = colon && colon[1] && colon[1 + strspn(colon + 1, "0123456789")] == 0;
    return line ? (size_t)(colon - where) : strlen(where);
}

/* Does the text already contain `where` in single quotes, as messages do? */
static bool names(const char *text, const char *where) {
    size_t len = strlen(where);
    for (const char *at = text; len > 0 && (at = strstr(at, where)) != NULL; at++) {
        if (at > text && at[-1] == '\'' && at[len] == '\'') {
            return true;
        }
    }
    return false;
}

static void say_failure(const struct cli_failures *f, const char *where, const struct err *e) {
    const char *text = e && e->text[0] ? e->text : "failed";
    const char *named = where && !names(text, where) ? where : NULL;
    say_unless_told(f, named && !named[0] ? "''" : named, text);
}

bool cli_fail(struct cli_failures *f, const char *where, const struct err *e) {
    char input[sizeof f->input];
    snprintf(input, sizeof input, "%.*s", where ? (int)input_length(where) : 0, where ? where : "");
    if (strcmp(input, f->input) != 0) {
        say_unprinted(f);
        memcpy(f->input, input, sizeof input);
    }
    f->count++;
    f->no_room += e->no_room;
    f->damaged += e->code == ERR_TRUNCATED || e->code == ERR_FORMAT || e->code == ERR_LIMIT ||
                  e->code == ERR_UNSUPPORTED;
    snprintf(f->last, sizeof f->last, "%s", e->text);
    if (where && ++f->of_input > PRINTED_OF_INPUT) {
        f->unprinted++;
    } else if (where && f->printed >= PRINTED_OF_RUN) {
        f->untold++;
    } else {
        f->printed += where != NULL;
        say_failure(f, where, e);
    }
    return false;
}

void cli_notice(const struct cli_failures *f, const char *where, const struct err *e) {
    say_failure(f, where, e);
}

void cli_fail_output(struct cli_failures *f, const char *path, const struct err *e) {
    f->count++;
    say_failure(f, path, e);
}

int cli_exit_status(struct cli_failures *f) {
    say_unprinted(f);
    if (f->untold > 0) {
        cli_say(f->tool, "%zu more failures of other inputs", f->untold);
        f->untold = 0;
    }
    return f->count > 0 ? CLI_FAILED : CLI_OK;
}

/* ---- progress ---- */

static uint64_t monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void cli_progress_begin(struct cli_progress *p, const char *what) {
    *p = (struct cli_progress){.on = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) != 1,
                               .what = what};
    p->started_ns = p->on ? monotonic_ns() : 0;
}

/* Is it time to draw the line of progress? If so, *elapsed_ms is the time since the work began. */
static bool is_due(struct cli_progress *p, uint64_t *elapsed_ms) {
    uint64_t now = p->on ? monotonic_ns() : 0;
    if (!p->on || now - p->started_ns < 1000000000u || now - p->drawn_ns < 100000000u) {
        return false;
    }
    *elapsed_ms = (now - p->started_ns) / 1000000u;
    p->drawn = true;
    p->drawn_ns = now;
    return true;
}

void cli_progress_update(struct cli_progress *p, uint64_t done) {
    uint64_t ms;
    if (is_due(p, &ms)) {
        fprintf(stderr, "\r%" PRIu64 " %s, %" PRIu64 "/s\x1b[K", done, p->what, done * 1000u / ms);
        fflush(stderr);
    }
}

void cli_progress_text(struct cli_progress *p, const char *fmt, ...) {
    uint64_t ms;
    va_list ap;
    if (is_due(p, &ms)) {
        va_start(ap, fmt);
        fprintf(stderr, "\r");
        vfprintf(stderr, fmt, ap);
        fprintf(stderr, "\x1b[K");
        va_end(ap);
        fflush(stderr);
    }
}

void cli_progress_end(struct cli_progress *p) {
    if (p->drawn) {
        fprintf(stderr, "\r\x1b[K");
        p->drawn = false;
    }
}
