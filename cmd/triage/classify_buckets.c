/* Implements stallclassify --buckets. */
#include "triage/classify_buckets.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value that stands for the operands: they are read twice. */
static const char buckets_self[] = "self";

bool classify_check_buckets(const struct cli_tool *tool, const struct classify_settings *s,
                            const struct cli_parser *p) {
    if (!s->buckets) {
        return true;
    }
    if (!s->annotate && !s->answer_each) {
        return cli_reject(tool, "--buckets goes with --annotate or --answer-each");
    }
    return strcmp(s->buckets, buckets_self) != 0 ||
           (!s->answer_each && cli_dumps_can_reread(p->operands, p->operand_count)) ||
           cli_reject(tool, "--buckets self reads the dumps twice: give files or folders");
}

/* ---- a partial, a history ---- */

/* Is the file a data base of SQLite, as a history is? */
static bool is_history(const char *path) {
    static const char magic[] = "SQLite format 3"; /* the NUL at its end is part of it */
    char bytes[sizeof magic];
    struct stat st;
    int fd = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool is = fd >= 0 && pread(fd, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes &&
              memcmp(bytes, magic, sizeof magic) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return is;
}

static bool finish_buckets(struct classify_run *run, const char *where) {
    struct err e = {0};
    if (triage_finish(run->buckets, &e) != ST_OK ||
        bucket_places_new(&run->places, run->buckets, &e) != ST_OK) {
        classify_fail(run, where, &e);
        return false;
    }
    return true;
}

/* Reads all days of a history. A bucket with a mark stays one of its own, as in its table. */
static bool read_history_buckets(struct classify_run *run, const char *path,
                                 const struct triage_options *counted) {
    struct classify_history h = {.path = path};
    struct cli_failures *failures = &run->dumps.failures;
    struct triage_options o = *counted;
    uint64_t cap_s = o.cap_ms / 1000;
    o.stays = classify_history_is_marked;
    o.stays_ctx = &h;
    bool ok = classify_set_today(run->dumps.tool, &h) &&
              classify_open_history(&h, run->dumps.tool, false, true, &cap_s, failures) == CLI_OK &&
              classify_read_history(&h, DAYS_ASKED, run->keyers[0], &o, &run->buckets, failures);
    if (ok) {
        triage_set_output(run->buckets, &o);
        ok = finish_buckets(run, path) && classify_notes_were_read(&h, failures);
    }
    classify_close_history(&h);
    return ok;
}

static bool read_partial_buckets(struct classify_run *run, const char *path) {
    size_t before = run->dumps.failures.count;
    struct err e = {0};
    char *copy = strdup(path); /* operands are not const */
    if (!copy) {
        err_nomem(&e);
        classify_fail(run, NULL, &e);
        return false;
    }
    char *operands[] = {copy, NULL};
    (void)classify_merge(&run->buckets, run->dumps.tool, operands, 1, &run->dumps.failures);
    free(copy);
    if (run->dumps.failures.count != before) {
        return false;
    }
    if (!run->buckets) {
        err_set(&e, ERR_FORMAT, "no partial in it");
    } else if (triage_options_of(run->buckets)->rules_hash != run->rules_hash) {
        err_set(&e, ERR_USAGE,
                "made with other rules or keys (%s), by which ids are others: make it anew",
                triage_options_of(run->buckets)->rules);
    }
    if (err_is(&e)) {
        classify_fail(run, path, &e);
        return false;
    }
    return finish_buckets(run, path);
}

/* ---- the dumps themselves ---- */

/* Counts the operands, which are read once more to be annotated. */
static bool count_own_buckets(struct classify_run *run, const struct classify_settings *s,
                              const struct cli_parser *p, const struct triage_options *o) {
    struct err e = {0};
    if (!cli_symbols_learn(&run->symbols, &run->dumps, (unsigned)s->jobs, p->operands,
                           p->operand_count)) {
        return false;
    }
    run->annotate = false;
    if (triage_new(&run->buckets, o, &e) != ST_OK ||
        cli_dumps_read_first(&run->dumps, &classify_buckets_ops, run, "dumps read for buckets",
                             (unsigned)s->jobs, p->operands, p->operand_count, &e) != ST_OK) {
        classify_fail(run, NULL, &e);
        return false;
    }
    run->annotate = s->annotate;
    run->symbols.short_named = 0; /* counted again */
    return finish_buckets(run, NULL);
}

bool classify_read_buckets(struct classify_run *run, const struct classify_settings *s,
                           const struct cli_parser *p, const struct triage_options *o) {
    if (!s->buckets) {
        return true;
    }
    if (strcmp(s->buckets, buckets_self) == 0) {
        return count_own_buckets(run, s, p, o);
    }
    return is_history(s->buckets) ? read_history_buckets(run, s->buckets, o)
                                  : read_partial_buckets(run, s->buckets);
}
