/* Keeps results that are the same for each input, so that a fuzzer computes them once: the built-in
 * rules and the built-in maps of reports are compiled by the first run that needs them and shared
 * by later runs, and the hash of the rules is computed once. The linker (--wrap) redirects calls of
 * the commands to these functions; the code of the commands and the library has no part in it.
 * Files of rules, globs and maps on a command line are read in every run. The kept results are only
 * read, so a run cannot change them for the next run. */
#include <stddef.h>

#include "classify_rules.h"
#include "cli_dumps.h"

bool __real_classify_rules_load(struct classify_rules *r);
void __real_classify_rules_release(struct classify_rules *r);
int __real_cli_maps_load(struct cli_dumps *d, const struct cli_list *files,
                         const struct cli_list *path_rules);
void __real_cli_maps_release(struct cli_dumps *d);
uint64_t __real_rules_hash(const struct rules *r);
bool __wrap_classify_rules_load(struct classify_rules *r);
void __wrap_classify_rules_release(struct classify_rules *r);
int __wrap_cli_maps_load(struct cli_dumps *d, const struct cli_list *files,
                         const struct cli_list *path_rules);
void __wrap_cli_maps_release(struct cli_dumps *d);
uint64_t __wrap_rules_hash(const struct rules *r);

static struct rules *kept_rules[2]; /* the built-in rules, and the set without rules */
static struct report_maps *kept_maps;

bool __wrap_classify_rules_load(struct classify_rules *r) {
    struct rules **kept = &kept_rules[r->raw];
    bool plain = r->files.len == 0 && r->globs.len == 0;
    if (!plain || !*kept) {
        bool ok = __real_classify_rules_load(r);
        *kept = plain && ok ? r->set : *kept;
        return ok;
    }
    strbuf_addstr(&r->name, r->raw ? "none" : "built-in");
    r->set = *kept;
    return !r->name.failed;
}

void __wrap_classify_rules_release(struct classify_rules *r) {
    if (r->set == kept_rules[r->raw]) {
        r->set = NULL;
    }
    __real_classify_rules_release(r);
}

int __wrap_cli_maps_load(struct cli_dumps *d, const struct cli_list *files,
                         const struct cli_list *path_rules) {
    bool plain = files->len == 0 && (!path_rules || path_rules->len == 0);
    if (!plain || !kept_maps) {
        int status = __real_cli_maps_load(d, files, path_rules);
        kept_maps = plain && status == CLI_OK ? d->maps : kept_maps;
        return status;
    }
    d->maps = kept_maps;
    d->pipeline.maps = kept_maps;
    return CLI_OK;
}

void __wrap_cli_maps_release(struct cli_dumps *d) {
    if (d->maps == kept_maps) {
        d->maps = NULL;
    }
    __real_cli_maps_release(d);
}

uint64_t __wrap_rules_hash(const struct rules *r) {
    static uint64_t kept;
    if (r != kept_rules[0]) {
        return __real_rules_hash(r);
    }
    kept = kept ? kept : __real_rules_hash(r);
    return kept;
}
