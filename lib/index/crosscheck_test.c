/* Compares look-ups, live and in the symbol index, with llvm-symbolizer's recorded answers. Prints
 * TAP, one test per file of answers.
 *
 *  crosscheck_test
 *    our own fixtures (testdata/objects/MANIFEST): every answer must agree entirely, which is
 *    function, path, line, column, discriminator, start, line of declaration
 *
 *  crosscheck_test --real DIR
 *    third-party objects (DIR/x/expected.ARCH.jsonl): linkage name, base name of the file, line
 *    and number of inline frames of every answer
 *
 *  crosscheck_test OBJECT ARCH ANSWERS
 *    one file of answers; prints every difference
 *
 * A difference may belong to one of these classes, and is then no disagreement:
 *
 *  gap
 *    llvm names an address that no function owns after the nearest symbol below it (above all
 *    _mh_execute_header, which is no code), or gives the line of padding between functions. We
 *    leave it unresolved: a wrong name is worse than none
 *    (stallkit-design(7), ADDRESS RULES, 4).
 *
 *  variant
 *    C1/C2 or D1/D2 of one constructor or destructor: two symbols of one address. DWARF says as
 *    which one the body was compiled, and we take its word; llvm takes one of the symbol table.
 *    Both demangle to the same text.
 *
 *  part
 *    ".cold", ".part.N", ".constprop.N", ".isra.N", ".N" or a number behind the name: the symbol
 *    names a part or a clone, DWARF the function in the source. Ours is what the developer
 *    wrote, and what makes equal stacks equal. (GCC's DWARF 2, which has no DW_AT_ranges, makes
 *    "X.cold" a function of its own, "__second_sect_of_X".)
 *
 *  callsite
 *    GCC's DWARF 2 does not say where an inlined call is. llvm then takes file 0 of the line
 *    table, whatever it is; we name no file (stallkit-design(7), ADDRESS RULES, 5).
 *
 *  start
 *    llvm prints the lowest address of a function whose parts lie apart, we its entry.
 */
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "debug/debug.h"
#include "index/build.h"
#include "index/mapped.h"
#include "index/open_files.h"
#include "object/find/find.h"

enum difference { SAME, GAP, VARIANT, PART, CALL_SITE, START, WRONG, DIFFERENCES };
static const char *const names[] = {"same", "gap", "variant", "part", "callsite", "start", "WRONG"};

struct tally {
    size_t total, of[DIFFERENCES];
    bool strict, loud;
    unsigned complaints;
};

/* ---- comparing ---- */

static const char *text(const json_t *object, const char *key) {
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

static uint32_t number(const json_t *object, const char *key) {
    return (uint32_t)json_integer_value(json_object_get(object, key));
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *or_empty(const char *s) {
    return s ? s : "";
}

/* Do the names differ only as "…C1E…" and "…C2E…" do? "…D0Ev" is another function. */
static bool same_but_variant(const char *a, const char *b) {
    size_t i = 0;
    while (a[i] && a[i] == b[i]) {
        i++;
    }
    return i > 0 && (a[i - 1] == 'C' || a[i - 1] == 'D') && strchr("124", a[i]) &&
           strchr("124", b[i]) && a[i] && b[i] && strcmp(a + i + 1, b + i + 1) == 0;
}

static bool is_part(const char *symbol, const char *function) {
    static const char *const parts[] = {".cold", ".part.", ".constprop.", ".isra.", ".lto_priv."};
    static const char second[] = "__second_sect_of_";
    if (strncmp(function, second, strlen(second)) == 0) {
        function += strlen(second);
    }
    size_t len = strlen(function);
    if (len == 0 || strncmp(symbol, function, len) != 0) {
        return false;
    }
    const char *suffix = symbol + len;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strncmp(suffix, parts[i], strlen(parts[i])) == 0) {
            return true;
        }
    }
    suffix += *suffix == '.';
    return suffix[strspn(suffix, "0123456789")] == '\0';
}

static enum difference worse(enum difference a, enum difference b) {
    return a > b ? a : b;
}

static enum difference compare_name(const char *theirs, const char *ours) {
    if (strcmp(theirs, ours) == 0) {
        return SAME;
    }
    return same_but_variant(theirs, ours) ? VARIANT : is_part(theirs, ours) ? PART : WRONG;
}

static enum difference compare_place(const struct tally *t, const json_t *theirs,
                                     const struct lookup_frame *ours, bool innermost) {
    uint32_t line = number(theirs, "line");
    const char *path = text(theirs, "file"), *mine = or_empty(ours->file);
    if (line == 0 && path[0] && !innermost && !ours->file) {
        return CALL_SITE;
    }
    bool same_file =
        t->strict ? strcmp(path, mine) == 0 : strcmp(base_name(path), base_name(mine)) == 0;
    bool same_column = !t->strict || (number(theirs, "col") == ours->column &&
                                      number(theirs, "disc") == ours->discriminator);
    return same_file && same_column && line == ours->line ? SAME : WRONG;
}

static enum difference compare_start(const struct tally *t, const json_t *theirs,
                                     const struct lookup_frame *ours, bool real) {
    uint64_t start;
    const char *said = text(theirs, "start");
    uint32_t line = number(theirs, "startline");
    if (!t->strict) {
        return SAME;
    }
    if (line != 0 && line != ours->start_line) {
        return WRONG;
    }
    if (!real || !parse_hex(said, strlen(said), &start) || start == ours->start) {
        return SAME;
    }
    return start < ours->start ? START : WRONG;
}

static enum difference compare_frame(const struct tally *t, const json_t *theirs,
                                     const struct lookup_frame *ours, bool innermost, bool real) {
    enum difference d = compare_name(text(theirs, "fn"), or_empty(ours->linkage));
    d = worse(d, compare_place(t, theirs, ours, innermost));
    return worse(d, compare_start(t, theirs, ours, real));
}

static enum difference compare_none(const json_t *frames) {
    const json_t *only = json_array_get(frames, 0);
    const char *name = text(only, "fn");
    if (json_array_size(frames) > 1) {
        return WRONG;
    }
    if (!name[0] && !text(only, "file")[0]) {
        return SAME;
    }
    /* Only one side has a name: this is a gap if the one name is that of a symbol without a line or
     * a line without a function. */
    return !name[0] || number(only, "line") == 0 ? GAP : WRONG;
}

static enum difference compare(const struct tally *t, const json_t *frames, enum st st,
                               const struct lookup_hit *hit) {
    size_t n = json_array_size(frames);
    if (st != ST_OK || hit->quality == LOOKUP_NAMELESS) {
        return compare_none(frames);
    }
    if (n != hit->frame_count) {
        return WRONG;
    }
    enum difference d = SAME;
    for (size_t i = 0; i < n; i++) {
        d = worse(d,
                  compare_frame(t, json_array_get(frames, i), &hit->frames[i], i == 0, i == n - 1));
    }
    return d;
}

/* ---- one file of answers ---- */

static void show(const char *address, const json_t *frames, enum st st,
                 const struct lookup_hit *hit, enum difference d) {
    printf("# %s: %s\n", address, names[d]);
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *f = json_array_get(frames, i);
        printf("#   llvm %s %s:%u:%u disc %u start %s:%u\n", text(f, "fn"), text(f, "file"),
               number(f, "line"), number(f, "col"), number(f, "disc"), text(f, "start"),
               number(f, "startline"));
    }
    for (size_t i = 0; st == ST_OK && i < hit->frame_count; i++) {
        const struct lookup_frame *f = &hit->frames[i];
        printf("#   ours %s %s:%u:%u disc %u start 0x%llx:%u\n", or_empty(f->linkage),
               or_empty(f->file), f->line, f->column, f->discriminator,
               (unsigned long long)f->start, f->start_line);
    }
}

static bool check_line(struct lookup_source *source, const char *line, struct tally *t) {
    static struct lookup_hit hit;
    json_t *answer = json_loads(line, 0, NULL);
    const json_t *frames = json_object_get(answer, "frames");
    const char *address_text = text(answer, "addr");
    uint64_t address;
    struct err e = {0};
    if (!json_is_array(frames) || !parse_hex(address_text, strlen(address_text), &address)) {
        printf("# not an answer: %s", line);
        json_decref(answer);
        return false;
    }
    enum st st = lookup_address(source, address, &hit, &e);
    enum difference d = st == ST_ERR ? WRONG : compare(t, frames, st, &hit);
    t->total++;
    t->of[d]++;
    if (d == WRONG || (t->loud && d != SAME)) {
        show(address_text, frames, st, &hit, d);
    }
    json_decref(answer);
    return true;
}

static void complain(void *ctx, const char *file, uint64_t unit, const struct err *why) {
    struct tally *t = ctx;
    t->complaints++;
    printf("# %s: unit 0x%llx: %s\n", file, (unsigned long long)unit, why->text);
}

static bool check_answers(struct lookup_source *source, const char *answers, struct tally *t) {
    FILE *f = fopen(answers, "r");
    char *line = NULL;
    size_t cap = 0;
    bool fine = f != NULL;
    while (f && fine && getline(&line, &cap, f) > 0) {
        fine = check_line(source, line, t);
    }
    free(line);
    if (f) {
        fclose(f);
    }
    return fine;
}

/* Checks all answers twice: live, and from an index. */
static bool check_slice(const struct object_slice *s, const char *answers, struct tally *t) {
    struct lookup_source *live = NULL, *mapped = NULL;
    struct split_files split;
    split_files_init(&split);
    const struct debug_others others = {.split = &split.finder};
    struct index_source source = {.slice = s, .split = &split.finder};
    struct strbuf bytes = {0};
    struct sink sink = sink_to_strbuf(&bytes);
    struct err e = {0};
    bool fine = lookup_open_live(&live, s, NULL, &others, complain, t, &e) == ST_OK &&
                check_answers(live, answers, t);
    bool built = index_build(&source, 1, &sink, &e) == ST_OK;
    built = sink_close(&sink, &e) == ST_OK && built;
    fine =
        fine && built &&
        mapped_open_bytes(&mapped, "index", (const uint8_t *)bytes.data, bytes.len, &e) == ST_OK &&
        check_answers(mapped, answers, t);
    if (err_is(&e)) {
        printf("# %s\n", e.text);
    }
    lookup_close(live);
    lookup_close(mapped);
    split_files_release(&split);
    strbuf_release(&bytes);
    return fine;
}

/* Checks an object; a stripped ELF file answers through its debuglink. */
static bool check_object(const char *path, const char *arch, const char *answers, struct tally *t) {
    struct object *o = NULL, *separate = NULL;
    struct err e = {0};
    char *debug_path = NULL;
    bool fine = false;
    if (object_open(&o, path, &e) != ST_OK) {
        printf("# cannot open '%s': %s\n", path, e.text);
        return false;
    }
    const struct object_slice *s = object_slice_by_arch(o, arch);
    if (s && !object_has_dwarf(s) &&
        find_separate_debug(s, path, NULL, 0, &debug_path, &e) == ST_OK &&
        object_open(&separate, debug_path, &e) == ST_OK) {
        s = object_slice_by_arch(separate, arch);
    }
    if (s) {
        fine = check_slice(s, answers, t);
    } else {
        printf("# no %s in '%s'\n", arch, path);
    }
    free(debug_path);
    object_close(separate);
    object_close(o);
    return fine;
}

/* Checks the slice of this architecture in a file or bundle. */
static bool check_path(const char *path, const char *arch, const char *answers, struct tally *t) {
    struct finder *finder;
    struct err e = {0};
    bool found = false, fine = false;
    if (finder_new(&finder, &e) != ST_OK) {
        return false;
    }
    if (finder_add(finder, path, NULL, NULL, &e) != ST_OK) {
        printf("# %s\n", e.text);
    }
    for (size_t i = 0; i < finder_count(finder) && !found; i++) {
        const struct find_candidate *c = finder_candidate(finder, i);
        found = strcmp(c->arch, arch) == 0;
        fine = found && check_object(c->path, arch, answers, t);
    }
    if (!found) {
        fine = check_object(path, arch, answers,
                            t); /* the finder does not list a file without an id */
    }
    finder_free(finder);
    return fine;
}

/* ---- TAP ---- */

static bool report(unsigned test, const char *what, const struct tally *t, bool read) {
    size_t agree = t->total - t->of[WRONG];
    bool ok = read && t->total > 0 && t->complaints == 0 && agree == t->total;
    printf("%s %u - %s: %zu of %zu answers agree", ok ? "ok" : "not ok", test, what, agree,
           t->total);
    const char *before = " (";
    for (int d = GAP; d < WRONG; d++) {
        if (t->of[d] > 0) {
            printf("%s%s %zu", before, names[d], t->of[d]);
            before = ", ";
        }
    }
    printf("%s\n", strcmp(before, ", ") == 0 ? ")" : "");
    return ok;
}

static bool check_fixtures(void) {
    char line[1024];
    unsigned test = 0;
    bool ok = true;
    FILE *f = fopen("testdata/objects/MANIFEST", "r");
    if (!f) {
        printf("1..1\nnot ok 1 - testdata/objects/MANIFEST is there\n");
        return false;
    }
    while (fgets(line, sizeof line, f)) {
        char *fields[4], *at = line;
        if (line[0] == '#') {
            continue;
        }
        for (int i = 0; i < 4; i++) {
            fields[i] = at;
            at += strcspn(at, "\t\n");
            *at = '\0';
            at++;
        }
        char path[PATH_MAX], answers[PATH_MAX], what[PATH_MAX];
        snprintf(path, sizeof path, "testdata/objects/%s", fields[0]);
        snprintf(answers, sizeof answers, "testdata/objects/%s", fields[3]);
        snprintf(what, sizeof what, "%s %s", fields[0], fields[1]);
        struct tally t = {.strict = true};
        bool read = check_path(path, fields[1], answers, &t);
        ok = report(++test, what, &t, read) && ok;
    }
    fclose(f);
    printf("1..%u\n", test);
    return ok && test > 0;
}

static int answers_only(const struct dirent *d) {
    return strncmp(d->d_name, "expected.", 9) == 0;
}

static int objects_only(const struct dirent *d) {
    return d->d_name[0] != '.' && !answers_only(d);
}

static int visible(const struct dirent *d) {
    return d->d_name[0] != '.';
}

static void free_list(struct dirent **list, int count) {
    for (int i = 0; i < count; i++) {
        free(list[i]);
    }
    free(list);
}

/* Checks all expected.ARCH.jsonl of one folder with the one object beside them. */
static bool check_folder(const char *folder, const char *name, unsigned *test) {
    struct dirent **answers = NULL, **objects = NULL;
    int answer_count = scandir(folder, &answers, answers_only, alphasort);
    int object_count = scandir(folder, &objects, objects_only, alphasort);
    bool ok = true;
    for (int i = 0; i < answer_count && object_count > 0; i++) {
        char path[2 * PATH_MAX], object[2 * PATH_MAX], arch[64], what[PATH_MAX];
        const char *file = answers[i]->d_name;
        snprintf(path, sizeof path, "%s/%s", folder, file);
        snprintf(object, sizeof object, "%s/%s", folder, objects[0]->d_name);
        snprintf(arch, sizeof arch, "%.*s", (int)strcspn(file + 9, "."), file + 9);
        snprintf(what, sizeof what, "%s %s", name, arch);
        struct tally t = {0};
        bool read = check_path(object, arch, path, &t);
        ok = report(++*test, what, &t, read) && ok;
    }
    free_list(answers, answer_count);
    free_list(objects, object_count);
    return ok;
}

static bool check_real(const char *folder) {
    struct dirent **list = NULL;
    int count = scandir(folder, &list, visible, alphasort);
    unsigned test = 0;
    bool ok = true;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        ok = check_folder(path, list[i]->d_name, &test) && ok;
    }
    free_list(list, count);
    printf("1..%u\n", test);
    return ok && test > 0;
}

int main(int argc, char **argv) {
    if (argc == 1) {
        return check_fixtures() ? 0 : 1;
    }
    if (argc == 3 && strcmp(argv[1], "--real") == 0) {
        return check_real(argv[2]) ? 0 : 1;
    }
    if (argc == 4) {
        struct tally t = {.strict = true, .loud = true};
        bool read = check_path(argv[1], argv[2], argv[3], &t);
        return report(1, argv[1], &t, read) ? 0 : 1;
    }
    fprintf(stderr, "usage: crosscheck_test [--real DIR | OBJECT ARCH ANSWERS]\n");
    return 2;
}
