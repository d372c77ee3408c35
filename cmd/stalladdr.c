/* stalladdr: atos for Linux; addresses in, names and lines out. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "cli.h"
#include "debug/debug.h"
#include "index/lookup.h"
#include "object/find.h"
#include "object/object.h"
#include "symbolize/symbolize.h"

enum {
    OPT_OBJECT = 1,
    OPT_ARCH,
    OPT_LOAD,
    OPT_SLIDE,
    OPT_OFFSET,
    OPT_INLINES,
    OPT_FULL_PATH,
    OPT_DELIMITER,
    OPT_FILE,
    OPT_FORMAT,
    OPT_LINKAGE
};

static const struct cli_option options[] = {
    {OPT_OBJECT, 'o', NULL, "FILE", "the binary, dSYM or debug file that the addresses are in"},
    {OPT_ARCH, 0, "arch", "ARCH", "the slice of a universal file (arm64, x86_64, armv7 …)"},
    {OPT_LOAD, 'l', NULL, "ADDRESS",
     "where the image was loaded: addresses are run-time addresses"},
    {OPT_SLIDE, 's', NULL, "SLIDE", "run-time address minus file address"},
    {OPT_OFFSET, 0, "offset", NULL, "addresses are offsets from the start of the image"},
    {OPT_INLINES, 'i', NULL, NULL, "show inlined functions, innermost first"},
    {OPT_FULL_PATH, 0, "fullPath", NULL, "print whole paths of source files"},
    {OPT_DELIMITER, 'd', NULL, "DELIM",
     "between the inlined functions of one address (a line end)"},
    {OPT_FILE, 'f', NULL, "FILE", "read addresses from FILE, separated by white space (-: stdin)"},
    {OPT_FORMAT, 'F', "format", "atos|llvm-json",
     "llvm-json: llvm-symbolizer's JSON, an object a line"},
    {OPT_LINKAGE, 0, "linkage-names", NULL, "leave mangled names as they are"},
};

static const struct cli_tool tool = {
    .name = "stalladdr",
    .synopsis = "-o FILE [-arch ARCH] [-l ADDRESS | -s SLIDE | -offset] [-i] [-fullPath]\n"
                " [-d DELIM] [-F atos|llvm-json] [-f FILE] [ADDRESS|-]...",
    .summary = "Looks addresses up as atos does. Addresses are hexadecimal, with or without 0x;\n"
               "without any, they are read from stdin.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .footer = "Exit status: 0 done, resolved or not; 1 the file or an address could not be read; 2 "
              "usage.",
    .single_dash_words = true,
};

/* How an address of the user becomes one of the file. */
enum meaning { MEANS_FILE, MEANS_LOADED, MEANS_SLID, MEANS_OFFSET };

struct settings {
    const char *object, *arch, *delimiter, *file;
    enum meaning meaning;
    uint64_t load, slide;
    bool inlines, full_path, llvm_json, linkage_names;
};

struct run {
    const struct settings *set;
    struct cli_failures failures;
    struct cli_output output;
    struct object *object;
    struct object *paired_object;
    const struct object_slice *slice;
    struct lookup_source *source; /* NULL: nothing can be resolved */
    char *path;                   /* of the file that answers, for ModuleName */
    struct strbuf image;          /* its name, for "(in Shop)" */
    struct lookup_hit hit;
    struct strbuf name;
};

/* ---- opening ---- */

static void say_damage(void *ctx, const char *path, const struct err *why) {
    struct run *run = ctx;
    cli_fail(&run->failures, path, why);
}

static void say_unit_damage(void *ctx, const char *file, uint64_t unit_offset,
                            const struct err *why) {
    struct run *run = ctx;
    struct err e = *why;
    if (unit_offset != LOOKUP_NO_UNIT) {
        err_context(&e, "unit at 0x%" PRIx64, unit_offset);
    }
    cli_fail(&run->failures, file, &e);
}

static bool resolve_path(struct run *run) {
    struct err e = {0};
    enum st st = find_single(run->set->object, say_damage, run, &run->path, &e);
    if (st != ST_OK) {
        if (st == ST_NONE) {
            err_set(&e, ERR_IO, "no such file or folder");
        }
        cli_fail(&run->failures, run->set->object, &e);
        return false;
    }
    const char *slash = strrchr(run->path, '/');
    strbuf_addstr(&run->image, slash ? slash + 1 : run->path);
    return true;
}

static int list_slices(const struct run *run) {
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

/* A stripped ELF file's separate debug file takes its place. */
static void use_separate_debug(struct run *run) {
    static const char *const roots[] = {"/usr/lib/debug"};
    char *path = NULL;
    struct object *o = NULL;
    if (object_slice_format(run->slice) != OBJECT_ELF || object_has_dwarf(run->slice) ||
        find_separate_debug(run->slice, run->path, roots, 1, &path, NULL) != ST_OK) {
        return;
    }
    if (object_open(&o, path, NULL) == ST_OK && object_slice_count(o) == 1) {
        run->paired_object = o;
        run->slice = object_slice(o, 0);
    } else {
        object_close(o);
    }
    free(path);
}

static int open_source(struct run *run) {
    struct err e = {0};
    if (!resolve_path(run)) {
        return CLI_FAILED;
    }
    if (object_open(&run->object, run->path, &e) != ST_OK) {
        cli_fail(&run->failures, run->path, &e);
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
    use_separate_debug(run);
    enum st st = lookup_open_live(&run->source, run->slice, NULL, NULL, say_unit_damage, run, &e);
    if (st == ST_ERR) {
        cli_fail(&run->failures, run->path, &e);
        return CLI_FAILED;
    }
    if (st == ST_NONE) {
        cli_say(tool.name, "%s: has neither debug info nor symbols", run->path);
    }
    return CLI_OK;
}

/* ---- printing ---- */

static const char *shown_path(const struct run *run, const char *path) {
    const char *slash = strrchr(path, '/');
    return run->set->full_path || !slash || !slash[1] ? path : slash + 1;
}

/* The name of a frame in run->name; "" when it has none. */
static const char *frame_name(struct run *run, const struct lookup_frame *f) {
    struct err e = {0};
    strbuf_clear(&run->name);
    if (symbolize_name(f, run->set->linkage_names, &run->name, NULL, &e) != ST_OK) {
        cli_fail(&run->failures, NULL, &e);
    }
    return strbuf_cstr(&run->name);
}

static void put_atos_frame(struct run *run, const struct lookup_frame *f, uint64_t address,
                           bool real) {
    struct sink *out = &run->output.sink;
    const char *name = frame_name(run, f);
    sink_printf(out, "%s (in %s)", *name ? name : "???", strbuf_cstr(&run->image));
    if (f->file && f->line) {
        sink_printf(out, " (%s:%" PRIu32 ")", shown_path(run, f->file), f->line);
    } else if (real) {
        sink_printf(out, " + %" PRIu64, address - f->start);
    }
}

static void put_atos(struct run *run, bool found, uint64_t asked, uint64_t address) {
    struct sink *out = &run->output.sink;
    if (!found) {
        uint64_t base = object_slice_base(run->slice);
        bool inside = address >= base && address < object_slice_text_end(run->slice);
        sink_printf(out, inside ? "0x%016" PRIx64 " (in %s)" : "0x%016" PRIx64, asked,
                    strbuf_cstr(&run->image));
    } else {
        size_t last = run->hit.frame_count - 1;
        for (size_t i = run->set->inlines ? 0 : last; i <= last; i++) {
            put_atos_frame(run, &run->hit.frames[i], address, i == last);
            sink_str(out, i < last ? run->set->delimiter : "");
        }
    }
    sink_char(out, '\n');
}

static void put_hex(struct jsonw *w, uint64_t v) {
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, v);
    jsonw_cstr(w, text);
}

/* llvm knows the start of an inlined call by its DW_AT_low_pc only, that of the function always. */
static void put_llvm_symbol(struct run *run, struct jsonw *w, const struct lookup_frame *f,
                            bool real) {
    static const struct lookup_frame nothing;
    const char *name = f ? frame_name(run, f) : "";
    f = f ? f : &nothing;
    uint64_t start = real ? f->start : f->low_pc;
    jsonw_begin_object(w);
    jsonw_key(w, "Column");
    jsonw_u64(w, f->column);
    jsonw_key(w, "Discriminator");
    jsonw_u64(w, f->discriminator);
    jsonw_key(w, "FileName");
    jsonw_cstr(w, f->file ? f->file : "");
    jsonw_key(w, "FunctionName");
    jsonw_cstr(w, name);
    jsonw_key(w, "Line");
    jsonw_u64(w, f->line);
    jsonw_key(w, "StartAddress");
    if (start) {
        put_hex(w, start);
    } else {
        jsonw_cstr(w, "");
    }
    jsonw_key(w, "StartFileName");
    jsonw_cstr(w, f->start_file ? f->start_file : "");
    jsonw_key(w, "StartLine");
    jsonw_u64(w, f->start_line);
    jsonw_end_object(w);
}

/* llvm-symbolizer --output-style=JSON, as it prints for addresses from stdin. */
static void put_llvm_json(struct run *run, bool found, uint64_t asked) {
    struct jsonw w = jsonw_init(&run->output.sink);
    jsonw_begin_object(&w);
    jsonw_key(&w, "Address");
    put_hex(&w, asked);
    jsonw_key(&w, "ModuleName");
    jsonw_cstr(&w, run->path);
    jsonw_key(&w, "Symbol");
    jsonw_begin_array(&w);
    if (!found) {
        put_llvm_symbol(run, &w, NULL, true);
    }
    for (size_t i = 0; found && i < run->hit.frame_count; i++) {
        put_llvm_symbol(run, &w, &run->hit.frames[i], i + 1 == run->hit.frame_count);
    }
    jsonw_end_array(&w);
    jsonw_end_object(&w);
    sink_char(&run->output.sink, '\n');
}

static uint64_t file_address(const struct run *run, uint64_t asked) {
    uint64_t base = object_slice_base(run->slice);
    switch (run->set->meaning) {
    case MEANS_LOADED:
        return asked - run->set->load + base;
    case MEANS_SLID:
        return asked - run->set->slide;
    case MEANS_OFFSET:
        return asked + base;
    case MEANS_FILE:
        break;
    }
    return asked;
}

/* One address of the user's. What is no address is printed back, so that line N of the output stays
 * the answer to word N. */
static void answer(struct run *run, const char *word, size_t len) {
    uint64_t asked = 0;
    struct err e = {0};
    if (!parse_hex(word, len, &asked)) {
        err_set(&e, ERR_USAGE, "'%.*s' is no hexadecimal address", len > 80 ? 80 : (int)len, word);
        cli_fail(&run->failures, NULL, &e);
        if (!run->set->llvm_json) {
            sink_write(&run->output.sink, word, len);
            sink_char(&run->output.sink, '\n');
        }
        return;
    }
    uint64_t address = file_address(run, asked);
    uint64_t looked_up = object_slice_is_arm32(run->slice) ? address & ~UINT64_C(1) : address;
    enum st st = run->source ? lookup_address(run->source, looked_up, &run->hit, &e) : ST_NONE;
    if (st == ST_ERR) {
        cli_fail(&run->failures, run->path, &e);
    }
    bool found = st == ST_OK && run->hit.frame_count > 0;
    if (run->set->llvm_json) {
        put_llvm_json(run, found, asked);
    } else {
        put_atos(run, found, asked, looked_up);
    }
}

/* ---- input ---- */

enum { WORD_MAX = 4096 };

struct words {
    struct run *run;
    char word[WORD_MAX];
    size_t len;
};

static void end_word(struct words *w) {
    if (w->len > 0) {
        answer(w->run, w->word, w->len);
        w->len = 0;
    }
}

/* Reads words as they come and answers each at once: a person, or a program at the other end of a
 * pair of pipes, may wait. */
static void on_input(void *ctx, int fd, const char *name) {
    struct words *w = ctx;
    char buf[4096];
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 0) == 0) {
            sink_flush(&w->run->output.sink);
        }
        ssize_t n = cli_output_failed(&w->run->output) ? 0 : read(fd, buf, sizeof buf);
        if (n <= 0) {
            struct err e = {0};
            if (n < 0) {
                err_sys(&e, errno, "cannot read");
                cli_fail(&w->run->failures, name, &e);
            }
            break;
        }
        for (ssize_t i = 0; i < n; i++) {
            bool space = buf[i] == ' ' || buf[i] == '\n' || buf[i] == '\t' || buf[i] == '\r';
            if (space) {
                end_word(w);
            } else if (w->len < WORD_MAX) {
                w->word[w->len++] = buf[i];
            }
        }
    }
    end_word(w);
    close(fd);
}

/* ---- main ---- */

static bool take_address(const char *option, const char *value, uint64_t *out) {
    if (parse_hex(value, strlen(value), out)) {
        return true;
    }
    cli_usage_error(&tool, "%s takes a hexadecimal address, not '%s'", option, value);
    return false;
}

static bool take_meaning(struct settings *set, enum meaning meaning) {
    if (set->meaning != MEANS_FILE) {
        cli_usage_error(&tool, "-l, -s and -offset exclude each other");
        return false;
    }
    set->meaning = meaning;
    return true;
}

static bool take_option(struct settings *set, int id, const char *value) {
    static const char *const formats[] = {"atos", "llvm-json", NULL};
    int word = 0;
    switch (id) {
    case OPT_OBJECT:
        set->object = value;
        return true;
    case OPT_ARCH:
        set->arch = value;
        return true;
    case OPT_LOAD:
        return take_meaning(set, MEANS_LOADED) && take_address("-l", value, &set->load);
    case OPT_SLIDE:
        return take_meaning(set, MEANS_SLID) && take_address("-s", value, &set->slide);
    case OPT_OFFSET:
        return take_meaning(set, MEANS_OFFSET);
    case OPT_INLINES:
        set->inlines = true;
        return true;
    case OPT_FULL_PATH:
        set->full_path = true;
        return true;
    case OPT_DELIMITER:
        set->delimiter = value;
        return true;
    case OPT_FILE:
        set->file = value;
        return true;
    case OPT_FORMAT:
        word = cli_choice(&tool, "--format", value, formats);
        set->llvm_json = word == 1;
        return word >= 0;
    default:
        set->linkage_names = true;
        return true;
    }
}

static void fail_words(void *ctx, const char *where, const struct err *why) {
    struct words *w = ctx;
    cli_fail(&w->run->failures, where, why);
}

static void read_addresses(struct run *run, const char *path) {
    struct words words = {.run = run};
    char *input[] = {(char *)(uintptr_t)path}; /* only read */
    (void)cli_for_each_input(&tool, input, 1, on_input, fail_words, &words);
}

static int process(struct run *run, char **operands, size_t count) {
    int status = open_source(run);
    if (status != CLI_OK) {
        return status;
    }
    if (!cli_output_open(&run->output, NULL, &run->failures)) {
        return CLI_FAILED;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(operands[i], "-") == 0) {
            read_addresses(run, operands[i]);
        } else {
            answer(run, operands[i], strlen(operands[i]));
        }
    }
    if (run->set->file || count == 0) {
        read_addresses(run, run->set->file ? run->set->file : "-");
    }
    cli_output_close(&run->output, true, &run->failures);
    return cli_exit_status(&run->failures);
}

int main(int argc, char **argv) {
    struct settings set = {.delimiter = "\n"};
    struct cli_parser p;
    cli_begin(&p, &tool, argc, argv);
    for (int id; (id = cli_next(&p)) != CLI_END;) {
        if (id == CLI_EXIT) {
            return p.status;
        }
        if (!take_option(&set, id, p.value)) {
            return CLI_USAGE;
        }
    }
    if (!set.object) {
        return cli_usage_error(&tool, "-o FILE is missing");
    }
    debug_library_init();
    struct run run = {.set = &set, .failures = {.tool = tool.name}};
    int status = process(&run, p.operands, p.operand_count);
    lookup_close(run.source);
    object_close(run.object);
    object_close(run.paired_object);
    strbuf_release(&run.image);
    strbuf_release(&run.name);
    free(run.path);
    return status;
}
