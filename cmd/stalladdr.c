/* stalladdr, atos for Linux: reads addresses and writes names and lines, or demangles names. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "address_sections.h"
#include "cli.h"
#include "cli_index.h"
#include "demangle_filter.h"
#include "index/open_files.h"
#include "index/stored.h"
#include "object/find/find.h"
#include "object/object.h"
#include "symbolize/address_answers.h"

enum { JOBS_MAX = 256 };
enum {
    OPT_OBJECT = 1,
    OPT_ARCH,
    OPT_LOAD,
    OPT_SLIDE,
    OPT_OFFSET,
    OPT_SECTION,
    OPT_INLINES,
    OPT_FULL_PATH,
    OPT_DELIMITER,
    OPT_FILE,
    OPT_FORMAT,
    OPT_LINKAGE,
    OPT_FULL,
    OPT_JOBS,
    OPT_STORE,
    OPT_NO_INDEX,
    OPT_DEMANGLE
};

struct addr_settings {
    const char *object, *arch, *section, *delimiter, *file, *store;
    enum address_meaning meaning;
    uint64_t load, slide, jobs;
    bool inlines, full_path, llvm_json, linkage_names, full_names, no_index, demangle;
};

static bool addr_take_address(const struct cli_parser *p, const char *option, uint64_t *out) {
    if (parse_hex(p->value, strlen(p->value), out)) {
        return true;
    }
    return cli_reject(p->tool, "%s takes a hexadecimal address, not '%s'", option, p->value);
}

static bool take_meaning(struct addr_settings *set, const struct cli_parser *p,
                         enum address_meaning meaning) {
    if (set->meaning != MEANS_FILE) {
        return cli_reject(p->tool, "-l, -s and -offset exclude each other");
    }
    set->meaning = meaning;
    return true;
}

static bool take_load(void *settings, struct cli_parser *p) {
    struct addr_settings *set = settings;
    return take_meaning(set, p, MEANS_LOADED) && addr_take_address(p, "-l", &set->load);
}

static bool take_slide(void *settings, struct cli_parser *p) {
    struct addr_settings *set = settings;
    return take_meaning(set, p, MEANS_SLID) && addr_take_address(p, "-s", &set->slide);
}

static bool take_offset(void *settings, struct cli_parser *p) {
    return take_meaning(settings, p, MEANS_OFFSET);
}

static const char *const formats[] = {"atos", "llvm-json", NULL};

static const struct cli_option options[] = {
    {OPT_OBJECT, 'o', NULL, "FILE", "the binary, dSYM or debug file that the addresses are in",
     CLI_TEXT(struct addr_settings, object)},
    {OPT_ARCH, 0, "arch", "ARCH", "the slice of a universal file (arm64, x86_64, armv7 …)",
     CLI_TEXT(struct addr_settings, arch)},
    {OPT_LOAD, 'l', NULL, "ADDRESS", "where the image was loaded: addresses are run-time addresses",
     CLI_CALL(take_load)},
    {OPT_SLIDE, 's', NULL, "SLIDE", "run-time address minus file address", CLI_CALL(take_slide)},
    {OPT_OFFSET, 0, "offset", NULL, "addresses are offsets from the start of the image",
     CLI_CALL(take_offset)},
    {OPT_SECTION, 0, "section", "NAME",
     "addresses count from the start of that section (.init.text, __text)",
     CLI_TEXT(struct addr_settings, section)},
    {OPT_INLINES, 'i', NULL, NULL, "show inlined functions, innermost first",
     CLI_FLAG(struct addr_settings, inlines)},
    {OPT_FULL_PATH, 0, "fullPath", NULL, "print whole paths of source files",
     CLI_FLAG(struct addr_settings, full_path)},
    {OPT_DELIMITER, 'd', NULL, "DELIM", "between the inlined functions of one address (a line end)",
     CLI_TEXT(struct addr_settings, delimiter)},
    {OPT_FILE, 'f', NULL, "FILE", "read addresses from FILE, separated by white space (-: stdin)",
     CLI_TEXT(struct addr_settings, file)},
    {OPT_FORMAT, 'F', "format", "atos|llvm-json",
     "llvm-json: llvm-symbolizer's JSON, an object a line",
     CLI_WORD(struct addr_settings, llvm_json, formats)},
    {OPT_LINKAGE, 0, "linkage-names", NULL, "leave mangled names as they are",
     CLI_FLAG(struct addr_settings, linkage_names)},
    {OPT_FULL, 0, "full-names", NULL, "Swift names with modules, types and generic arguments",
     CLI_FLAG(struct addr_settings, full_names)},
    {OPT_JOBS, 'j', "jobs", "N", "threads; the output does not depend on it",
     CLI_NUMBER(struct addr_settings, jobs, 1, JOBS_MAX)},
    CLI_STORE_OPTION(OPT_STORE, struct addr_settings, store),
    CLI_NO_INDEX_OPTION(OPT_NO_INDEX, struct addr_settings, no_index),
    {OPT_DEMANGLE, 0, "demangle", NULL,
     "look nothing up: make the mangled names NAME..., or those in stdin's text, readable",
     CLI_FLAG(struct addr_settings, demangle)},
};

static const struct cli_tool tool = {
    .name = "stalladdr",
    .synopsis = "-o FILE [-arch ARCH] [-l ADDRESS | -s SLIDE | -offset] [-i] [-fullPath]\n"
                " [-section NAME] [-d DELIM] [-F atos|llvm-json] [-f FILE] [ADDRESS|-]...\n"
                "--demangle [--full-names] [NAME|-]...",
    .summary = "Looks addresses up as atos does. Addresses are hexadecimal, with or without 0x;\n"
               "without any, they are read from stdin.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer = "Exit status: 0 done, resolved or not; 1 the file or an address could not be read; 2 "
              "usage.",
    .single_dash_words = true,
};

struct addr_run {
    const struct addr_settings *set;
    struct cli_failures failures;
    struct cli_output output;
    struct object *object;
    struct object *debug_object; /* separate debug file; NULL = none */
    struct open_files files;     /* keeps the supplementary file open */
    const struct object_slice *slice, *alt;
    const struct object_slice
        *binary; /* slice to which the separate debug file belongs; NULL = `slice` itself */
    struct split_files split;
    struct index_store *store;    /* NULL = indexes are not used */
    struct lookup_source *source; /* NULL: no address can be resolved */
    const char *path;             /* path of the object, for ModuleName */
    struct address_sections sections;
    struct strbuf image; /* name of the object, for "(in Shop)" */
    struct address_question question;
    struct answerer **answerers; /* one for each thread */
    unsigned threads;
    struct pool *pool;
    struct addr_job *free_jobs;
};

/* ---- opening ---- */

static void say_damage(void *ctx, const char *path, const struct err *why) {
    struct addr_run *run = ctx;
    if (why->code == ERR_UNREAD) {
        cli_notice(&run->failures, path, why);
    } else {
        cli_fail(&run->failures, path, why);
    }
}

static void say_unit_damage(void *ctx, const char *file, uint64_t unit_offset,
                            const struct err *why) {
    struct addr_run *run = ctx;
    struct err e = *why;
    if (unit_offset != LOOKUP_NO_UNIT) {
        err_context(&e, "unit at 0x%" PRIx64, unit_offset);
    }
    cli_fail(&run->failures, file, &e);
}

static bool open_object(struct addr_run *run) {
    struct err e = {0};
    enum st st =
        find_single(run->set->object, cli_temporary_folder(), say_damage, run, &run->object, &e);
    if (st != ST_OK) {
        if (st == ST_NONE) {
            err_set(&e, ERR_IO, "no such file or folder");
        }
        return cli_fail(&run->failures, run->set->object, &e);
    }
    run->path = object_path(run->object);
    strbuf_addstr(&run->image, path_base(run->path));
    return strbuf_check(&run->image, &e) == ST_OK || cli_fail(&run->failures, NULL, &e);
}

static int list_slices(const struct addr_run *run) {
    struct strbuf list = {0};
    for (size_t i = 0; i < object_slice_count(run->object); i++) {
        strbuf_addf(&list, "%s%s", i ? ", " : "", object_slice_arch(object_slice(run->object, i)));
    }
    cli_say(tool.name, "%s: %s: choose with -arch: %s", run->set->object,
            run->set->arch ? "has no such architecture" : "has several architectures",
            strbuf_cstr(&list));
    strbuf_release(&list);
    return run->set->arch ? CLI_FAILED : CLI_USAGE;
}

/* Returns the slice of the debug file o that belongs to `of`: the slice with the same id, or the
 * only slice of o; NULL if there is none. */
static const struct object_slice *debug_slice(const struct object *o,
                                              const struct object_slice *of) {
    const struct object_slice *s = object_slice_by_id(o, object_slice_id(of));
    return s || object_slice_count(o) != 1 ? s : object_slice(o, 0);
}

/* Replaces a file without DWARF by its separate debug file, or for Mach-O by the dSYM beside it,
 * if there is one. False: out of memory. */
static bool use_separate_debug(struct addr_run *run) {
    static const char *const roots[] = {"/usr/lib/debug"};
    char *path = NULL;
    struct object *o = NULL;
    /* why: only ERR_NOMEM counts, because a damaged file counts as absent. */
    struct err e = {0}, why = {0};
    if (object_has_dwarf(run->slice)) {
        return true;
    }
    enum st st = object_slice_format(run->slice) == OBJECT_ELF
                     ? find_separate_debug(run->slice, run->path, roots, 1, &path, &why)
                     : find_dsym(run->slice, run->path, &path, &why);
    if (st == ST_OK && object_open(&o, path, &why) == ST_OK && debug_slice(o, run->slice)) {
        (void)!finder_give_names(NULL, o, say_damage, run, &e);
        run->debug_object = o;
        run->binary = run->slice;
        run->slice = debug_slice(o, run->slice);
    } else {
        object_close(o);
        if (why.code == ERR_NOMEM) {
            err_nomem(&e);
        }
    }
    free(path);
    return !err_is(&e) || cli_fail(&run->failures, run->set->object, &e);
}

/* Opens the supplementary file, to which dwz moved debug information, if the object names one.
 * False: out of memory. */
static bool addr_find_alt(struct addr_run *run) {
    const char *name;
    struct err e = {0};
    enum st st = open_files_supplementary(&run->files, NULL, run->slice, &run->alt, &name, &e);
    if (st == ST_ERR && (!name || object_has_dwarf(run->slice))) {
        cli_fail(&run->failures, object_slice_path(run->slice), &e);
    }
    return st != ST_ERR || name;
}

static bool find_sections(struct addr_run *run) {
    struct err e = {0};
    enum st st = address_sections_find(&run->sections, run->slice, run->set->section, &e);
    if (st == ST_NONE) {
        st = err_set(&e, ERR_USAGE, "has no section %s", run->set->section);
    }
    return st == ST_OK || cli_fail(&run->failures, run->path, &e);
}

static int addr_open_source(struct addr_run *run) {
    struct err e = {0};
    if (!open_object(run)) {
        return CLI_FAILED;
    }
    if (run->set->arch) {
        run->slice = object_slice_by_arch(run->object, run->set->arch);
    } else if (object_slice_count(run->object) == 1) {
        run->slice = object_slice(run->object, 0);
    }
    if (!run->slice) {
        return list_slices(run);
    }
    if (!use_separate_debug(run) || !find_sections(run)) {
        return CLI_FAILED;
    }
    if (!run->set->no_index && !cli_store_open(&run->store, run->set->store, false,
                                               pool_processors(), NULL, &run->failures)) {
        return CLI_FAILED;
    }
    if (!addr_find_alt(run)) {
        return CLI_FAILED;
    }
    struct index_source from = {.slice = run->slice,
                                .paired = run->binary,
                                .alt = run->alt,
                                .split = &run->split.finder,
                                .name = strbuf_cstr(&run->image)};
    enum st st = stored_open(&run->source, run->store, &from, NULL, say_unit_damage, run, &e);
    if (st == ST_ERR) {
        cli_fail(&run->failures, run->path, &e);
        return CLI_FAILED;
    }
    if (st == ST_NONE || run->source->content == LOOKUP_HAS_RANGES) {
        cli_say(tool.name, "%s: has neither debug info nor symbols", run->path);
        return CLI_OK;
    }
    struct err notices[LOOKUP_NOTICES] = {0};
    for (size_t i = 0, count = lookup_notices(run->source, notices); i < count; i++) {
        cli_notice(&run->failures, object_slice_path(run->slice), &notices[i]);
    }
    return CLI_OK;
}

/* ---- answers ---- */

enum { WORDS_AT_ONCE = 8 * 1024, WINDOW_PER_JOB = 2 };

/* A batch of words on its way through the pool, and the text that is printed for it. */
struct addr_job {
    struct addr_job *next; /* next free job */
    struct strbuf words, out;
    VEC(struct err) failures; /* failures in the order of the words */
    bool failed;              /* memory ran out while `words` or `failures` grew */
};

/* Returns an empty batch, which reuses the memory of a finished one. NULL: out of memory. */
static struct addr_job *addr_take_job(struct addr_run *run) {
    struct addr_job *job = run->free_jobs;
    if (!job) {
        return calloc(1, sizeof *job);
    }
    run->free_jobs = job->next;
    return job;
}

static void give_job_back(struct addr_run *run, struct addr_job *job) {
    strbuf_reset(&job->words);
    strbuf_reset(&job->out);
    job->failures.len = 0;
    job->failed = false;
    job->next = run->free_jobs;
    run->free_jobs = job;
}

static void addr_free_jobs(struct addr_run *run) {
    while (run->free_jobs) {
        struct addr_job *job = addr_take_job(run);
        strbuf_release(&job->words);
        strbuf_release(&job->out);
        VEC_RELEASE(&job->failures);
        free(job);
    }
}

static bool addr_is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void answer_words(void *ctx, void *item, unsigned worker) {
    struct addr_run *run = ctx;
    struct addr_job *job = item;
    struct err e = {0};
    const char *words = job->words.data;
    for (size_t at = 0; at < job->words.len;) {
        size_t start = at;
        while (at < job->words.len && !addr_is_space(words[at])) {
            at++;
        }
        if (at > start && answerer_answer(run->answerers[worker], words + start, at - start,
                                          &job->out, &e) != ST_OK) {
            job->failed = !VEC_PUSH(&job->failures, e) || job->failed;
            err_clear(&e);
        }
        at++;
    }
}

static void print_answers(void *ctx, void *item) {
    struct addr_run *run = ctx;
    struct addr_job *job = item;
    struct err e = {0};
    for (size_t i = 0; i < job->failures.len; i++) {
        cli_fail(&run->failures, NULL, &job->failures.data[i]);
    }
    if (job->failed || job->out.failed) {
        err_nomem(&e);
        cli_fail(&run->failures, NULL, &e);
    }
    sink_write(&run->output.sink, job->out.data, job->out.len);
    give_job_back(run, job);
}

static void put_words(struct addr_run *run, const char *words, size_t len) {
    struct err e = {0};
    struct addr_job *job = addr_take_job(run);
    if (!job) {
        err_nomem(&e);
        cli_fail(&run->failures, NULL, &e);
        return;
    }
    strbuf_add(&job->words, words, len);
    job->failed = job->words.failed;
    pool_put(run->pool, job);
}

/* ---- input ---- */

/* Returns the length of the whole words at the front of the text. */
static size_t whole_words(const char *text, size_t len) {
    while (len > 0 && !addr_is_space(text[len - 1])) {
        len--;
    }
    return len;
}

/* Reads words as they come, and prints all answers whenever no input can be read without waiting: a
 * person, or a program at the other end of two pipes, may be waiting for the answers. */
static void on_input(void *ctx, int fd, const char *name, bool found) {
    (void)found;
    struct addr_run *run = ctx;
    char buf[WORDS_AT_ONCE];
    size_t have = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 0) == 0) {
            pool_finish(run->pool);
            sink_flush(&run->output.sink);
        }
        ssize_t n = cli_output_failed(&run->output) ? 0 : read(fd, buf + have, sizeof buf - have);
        if (n <= 0) {
            struct err e = {0};
            if (n < 0) {
                err_sys(&e, errno, "cannot read");
                cli_fail(&run->failures, name, &e);
            }
            break;
        }
        have += (size_t)n;
        size_t whole = whole_words(buf, have);
        if (whole == 0 && have == sizeof buf) {
            /* A word that fills the buffer is passed on in parts, as it is too long to be an
             * address. */
            whole = have;
        }
        if (whole > 0) {
            put_words(run, buf, whole);
            memmove(buf, buf + whole, have - whole);
            have -= whole;
        }
    }
    if (have > 0) {
        put_words(run, buf, have);
    }
    close(fd);
}

/* ---- main ---- */

static void fail_input(void *ctx, const char *where, const struct err *why) {
    struct addr_run *run = ctx;
    cli_fail(&run->failures, where, why);
}

static void read_addresses(struct addr_run *run, const char *path) {
    char *input[] = {(char *)(uintptr_t)path}; /* the path is only read */
    (void)cli_for_each_input(&tool, input, 1, on_input, fail_input, run);
}

static enum st start_threads(struct addr_run *run, struct err *e) {
    const struct addr_settings *set = run->set;
    run->question =
        (struct address_question){.source = run->source,
                                  .path = run->path,
                                  .image = strbuf_cstr(&run->image),
                                  .delimiter = set->delimiter,
                                  .meaning = set->meaning,
                                  .load = set->load,
                                  .slide = set->slide,
                                  .base = object_slice_base(run->slice),
                                  .text_end = object_slice_text_end(run->slice),
                                  .sections = run->sections.counted.data,
                                  .section_count = run->sections.counted.len,
                                  .unlinked = run->sections.unlinked.data,
                                  .unlinked_count = run->sections.unlinked.len,
                                  .arm32 = object_slice_is_arm32(run->slice),
                                  .inlines = set->inlines,
                                  .full_path = set->full_path,
                                  .llvm_json = set->llvm_json,
                                  .names = symbolize_names_of(set->linkage_names, set->full_names)};
    run->threads = run->source && run->source->concurrent ? (unsigned)set->jobs : 1;
    run->answerers = calloc(run->threads, sizeof(struct answerer *));
    if (!run->answerers) {
        return err_nomem(e);
    }
    for (unsigned i = 0; i < run->threads; i++) {
        if (answerer_new(&run->answerers[i], &run->question, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return pool_open(&run->pool, run->threads, (size_t)run->threads * WINDOW_PER_JOB, answer_words,
                     print_answers, run, e);
}

static void answer_all(struct addr_run *run, char **operands, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(operands[i], "-") == 0) {
            read_addresses(run, operands[i]);
        } else {
            put_words(run, operands[i], strlen(operands[i]));
        }
    }
    if (run->set->file || count == 0) {
        read_addresses(run, run->set->file ? run->set->file : "-");
    }
    pool_finish(run->pool);
}

static int addr_process(struct addr_run *run, char **operands, size_t count) {
    struct err e = {0};
    int status = addr_open_source(run);
    if (status != CLI_OK) {
        return status;
    }
    if (start_threads(run, &e) != ST_OK) {
        cli_fail(&run->failures, NULL, &e);
        return CLI_FAILED;
    }
    if (!cli_output_open(&run->output, NULL, &run->failures)) {
        return CLI_FAILED;
    }
    answer_all(run, operands, count);
    cli_output_close(&run->output, true, &run->failures);
    return cli_exit_status(&run->failures);
}

/* Demangles names in place of looking up addresses; no file is opened. Returns the exit status. */
static int demangle_words(const struct cli_parser *p, bool full_names) {
    struct cli_failures failures = {.tool = tool.name};
    struct cli_output output;
    char typed[CLI_TYPED];
    const struct cli_option *useless = cli_useless(p, CLI_BIT(OPT_DEMANGLE) | CLI_BIT(OPT_FULL));
    if (useless) {
        return cli_usage_error(&tool, "%s does not fit: with --demangle nothing is looked up",
                               cli_typed(p, useless->id, typed));
    }
    if (!cli_output_open(&output, NULL, &failures)) {
        return CLI_FAILED;
    }
    int status =
        demangle_filter(&tool, p->operands, p->operand_count,
                        full_names ? DEMANGLE_FULL : DEMANGLE_SIMPLIFIED, &output, &failures);
    cli_output_close(&output, true, &failures);
    return status == CLI_OK ? cli_exit_status(&failures) : status;
}

int main(int argc, char **argv) {
    struct addr_settings set = {.delimiter = "\n", .jobs = pool_processors()};
    struct cli_parser p;
    cli_begin(&p, &tool, argc, argv);
    if (cli_read_options(&p, &set) != CLI_END) {
        return p.status;
    }
    if (set.demangle) {
        return demangle_words(&p, set.full_names);
    }
    if (!set.object) {
        return cli_usage_error(&tool, "-o FILE is missing");
    }
    if (set.section && (set.meaning == MEANS_LOADED || set.meaning == MEANS_OFFSET)) {
        return cli_usage_error(&tool, "-section excludes -l and -offset");
    }
    struct addr_run run = {.set = &set, .failures = {.tool = tool.name}};
    split_files_init(&run.split);
    int status = addr_process(&run, p.operands, p.operand_count);
    pool_close(run.pool);
    addr_free_jobs(&run);
    for (unsigned i = 0; run.answerers && i < run.threads; i++) {
        answerer_free(run.answerers[i]);
    }
    free(run.answerers);
    lookup_close(run.source);
    cli_store_close(run.store, tool.name);
    open_files_release(&run.files);
    split_files_release(&run.split);
    object_close(run.object);
    object_close(run.debug_object);
    address_sections_release(&run.sections);
    strbuf_release(&run.image);
    return status;
}
