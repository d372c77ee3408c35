/* Tests the stacks of testdata/stacks: how the built-in rules classify each frame, and the stack.
 * Every rule must decide on a frame of one of them. STACKS_REFRESH=1 writes the results into the
 * files (scripts/refresh-stacks). */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/filemap.h"
#include "base/parse.h"
#include "classify/keys/fixture_dump_test.h"
#include "classify/keys/keyer_private.h"

static const char *const files[] = {
    "testdata/stacks/darwin.stacks",        "testdata/stacks/linux.stacks",
    "testdata/stacks/rules-android.stacks", "testdata/stacks/rules-common.stacks",
    "testdata/stacks/rules-darwin.stacks",  "testdata/stacks/rules-linux.stacks",
    "testdata/stacks/rules-vendors.stacks", "testdata/stacks/rules-windows.stacks",
};

/* A frame's line, cut in place: "* image function = verdict of the rules". */
struct frame_line {
    bool app;
    const char *image, *function,
        *verdict; /* expected verdict of the rules; NULL = the line has none */
};

struct corpus {
    struct rules *rules;
    struct keyer *keyer;
    bool *decided; /* for each rule: has it decided on a frame? */
    struct fixture fixture;
    struct frame_line lines[FIXTURE_FRAMES];
    const char *name, *os; /* name and system of the current stack; NULL = none */
    struct strbuf got, want, file;
    size_t stacks, wrong;
};

/* ---- printing the results ---- */

static void add_word(struct strbuf *b, const char *format, const char *word) {
    strbuf_addstr(b, b->len ? ", " : "");
    strbuf_addf(b, format[0] == '%' ? "%s%s" : "%s %s", format[0] == '%' ? "" : format, word);
}

/* Appends the verdict on a frame: "skip, lock 90%", "Sentry", "now poll"; "" where no rule applies.
 */
static void add_verdict(struct strbuf *b, const struct frame_info *info) {
    const struct rule *side = info->by[RULE_SIDE];
    if (info->by[RULE_NORMALISE]) {
        add_word(b, "now", info->function);
    }
    if (side) {
        add_word(b, side->vendor ? "of" : "%",
                 side->vendor             ? side->vendor
                 : info->side == SIDE_APP ? "in-app"
                                          : "not-in-app");
    }
    if (info->by[RULE_PLACE]) {
        add_word(b, "%", rule_place_text(info->place));
    }
    if (info->by[RULE_CAUSE]) {
        add_word(b, "%", rule_cause_text(info->cause));
        strbuf_addf(b, " %u%%", info->confidence / 10);
    }
    if (info->by[RULE_FRAMEWORK]) {
        add_word(b, info->framework[0] ? "part of" : "%",
                 info->framework[0] ? info->framework : "runtime");
    }
    if (info->callout) {
        add_word(b, "%", "callout");
    }
    if (info->modal) {
        add_word(b, "%", "modal");
    }
    if (info->hidden) {
        add_word(b, "%", "hidden");
    }
    if (info->exclusive) {
        add_word(b, "%", "exclusive");
    }
    if (info->by[RULE_HOLDER]) {
        add_word(b, "holder of", info->by[RULE_HOLDER]->framework);
    }
    if (info->memory) {
        add_word(b, "%", "memory");
    }
    if (info->waits) {
        add_word(b, "%", "wait");
    }
    if (info->kernel) {
        add_word(b, "%", "kernel");
    }
}

static void add_key(struct strbuf *b, const char *word, const struct key *key) {
    for (size_t i = 0; i < key->count; i++) {
        strbuf_addf(b, "%s %s!%s", i ? " <-" : word, key->frames[i].info->image,
                    key->frames[i].info->function);
    }
    strbuf_addstr(b, key->count ? "\n" : "");
}

static void add_outcome(struct strbuf *b, const struct stall_key *key) {
    if (key->status != KEY_OK) {
        strbuf_addstr(b, "idle\n");
        return;
    }
    add_key(b, "level1", &key->level[0]);
    add_key(b, "level2", &key->level[1]);
    add_key(b, "action", &key->action);
    if (key->cause != CAUSE_UNKNOWN) {
        strbuf_addf(b, "cause %s %u%% %s\n", rule_cause_text(key->cause), key->confidence / 10,
                    key->reason);
    }
}

/* ---- one stack ---- */

/* Only a rule of the kind RULE_WAIT lets processor time contradict a cause "waits for what draws".
 */
static void check_wait(struct corpus *c, const struct frame_info *info) {
    const struct rule *cause = info->by[RULE_CAUSE];
    if (cause && cause->cause == CAUSE_RENDER && strncmp(cause->reason, "waits for ", 10) == 0 &&
        !info->waits) {
        print_error("stack %s: %s is told to wait, and no rule says that it does no work\n",
                    c->name, info->function);
        c->wrong++;
    }
}

static void check_frames(struct corpus *c) {
    struct strbuf verdict = {0};
    struct keyer *k = c->keyer;
    for (size_t i = 0, seen = 0; i < c->fixture.used; i++) {
        const struct frame_line *line = &c->lines[i];
        const struct frame_info *info =
            frame_of_location(&k->table, &c->fixture.d, &c->fixture.locations[i]);
        assert_non_null(info);
        if (!info->hidden) {
            info = k->frames.data[seen++].info; /* the info that the frame has with its caller */
        }
        strbuf_clear(&verdict);
        check_wait(c, info);
        add_verdict(&verdict, info);
        strbuf_addf(&c->file, "%c %-23s %s%s%s\n", line->app ? '*' : ' ', line->image,
                    line->function, verdict.len ? "  = " : "", strbuf_cstr(&verdict));
        if (strcmp(strbuf_cstr(&verdict), line->verdict ? line->verdict : "") != 0) {
            print_error("stack %s: %s: wanted '%s', got '%s'\n", c->name, line->function,
                        line->verdict ? line->verdict : "", strbuf_cstr(&verdict));
            c->wrong++;
        }
        for (int kind = 0; kind < RULE_KINDS; kind++) {
            if (info->by[kind]) {
                c->decided[rules_index(c->rules, info->by[kind])] = true;
            }
        }
    }
    strbuf_release(&verdict);
}

static void end_stack(struct corpus *c) {
    struct stall_key key;
    if (!c->name) {
        return;
    }
    fixture_stack(&c->fixture, 1);
    c->fixture.d.device.os = c->os && strcmp(c->os, "darwin") == 0  ? "iOS 18.7"
                             : c->os && strcmp(c->os, "linux") == 0 ? "Linux"
                                                                    : NULL;
    c->fixture.d.stall.cpu_permille = -1;
    assert_int_equal(keyer_key(c->keyer, &c->fixture.d, &key, NULL), ST_OK);
    strbuf_addf(&c->file, "stack %s\n", c->name);
    if (c->os) {
        strbuf_addf(&c->file, "os %s\n", c->os);
    }
    check_frames(c);
    strbuf_clear(&c->got);
    add_outcome(&c->got, &key);
    strbuf_addstr(&c->file, strbuf_cstr(&c->got));
    if (strcmp(strbuf_cstr(&c->got), strbuf_cstr(&c->want)) != 0) {
        print_error("stack %s\nwanted:\n%sgot:\n%s", c->name, strbuf_cstr(&c->want),
                    strbuf_cstr(&c->got));
        c->wrong++;
    }
    c->stacks++;
    c->name = c->os = NULL;
    memset(&c->fixture, 0, sizeof c->fixture);
    strbuf_clear(&c->want);
}

static void read_frame(struct corpus *c, char *line) {
    struct frame_line *l = &c->lines[c->fixture.used];
    char *image = line + 2, *end = strstr(image, " "), *verdict = strstr(line, "  = ");
    uint64_t offset = 0;
    assert_non_null(end);
    *end = 0;
    if (verdict) {
        *verdict = 0;
        verdict += 4;
    }
    *l = (struct frame_line){.app = line[0] == '*', .image = image, .verdict = verdict};
    l->function = end + 1 + strspn(end + 1, " ");
    bool unresolved = strncmp(l->function, "?+", 2) == 0;
    if (unresolved) {
        assert_true(parse_hex(l->function + 2, strlen(l->function + 2), &offset));
    }
    fixture_frame(&c->fixture, image, l->app, unresolved ? NULL : l->function, offset);
    if (strchr(image, '/')) { /* the image is a path, whose last part is its name, as in dumps */
        size_t index = c->fixture.d.image_count - 1;
        assert_string_equal(c->fixture.images[index].name, image);
        c->fixture.images[index].path = image;
    }
}

/* ---- files ---- */

static void read_lines(struct corpus *c, char *text) {
    for (char *line = text, *next; *line; line = next) {
        next = strchr(line, '\n');
        assert_non_null(next);
        *next++ = 0;
        if (strncmp(line, "stack ", 6) == 0) {
            c->name = line + 6;
        } else if (strncmp(line, "os ", 3) == 0) {
            c->os = line + 3;
        } else if (line[0] == '*' || line[0] == ' ') {
            read_frame(c, line);
        } else if (*line && *line != '#') {
            strbuf_addf(&c->want, "%s\n", line);
        } else {
            end_stack(c); /* an empty line or a comment ends the stack */
            strbuf_addf(&c->file, "%s\n", line);
        }
    }
    end_stack(c);
}

static void write_file(const char *path, const struct strbuf *b) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
    assert_int_equal(fclose(f), 0);
}

static void check_file(struct corpus *c, const char *path) {
    struct filemap m = {0};
    assert_int_equal(filemap_open(&m, path, 0, NULL), ST_OK);
    char *text = calloc(1, m.size + 1);
    assert_non_null(text);
    memcpy(text, m.data, m.size);
    filemap_release(&m);
    strbuf_clear(&c->file);
    read_lines(c, text);
    free(text);
    if (getenv("STACKS_REFRESH")) {
        write_file(path, &c->file);
        c->wrong = 0;
    }
}

/* ---- tests ---- */

static int set_up(void **state) {
    struct corpus *c = calloc(1, sizeof *c);
    assert_non_null(c);
    assert_int_equal(rules_new(&c->rules, NULL), ST_OK);
    assert_int_equal(rules_add_builtin(c->rules, NULL), ST_OK);
    assert_int_equal(
        keyer_new(&c->keyer, &(struct key_options){.rules = c->rules, .kind = KEY_OF_APP}, NULL),
        ST_OK);
    c->decided = calloc(rules_count(c->rules), sizeof *c->decided);
    assert_non_null(c->decided);
    *state = c;
    return 0;
}

static int tear_down(void **state) {
    struct corpus *c = *state;
    strbuf_release(&c->got);
    strbuf_release(&c->want);
    strbuf_release(&c->file);
    keyer_free(c->keyer);
    rules_free(c->rules);
    free(c->decided);
    free(c);
    return 0;
}

static void the_built_in_rules_make_of_the_golden_stacks_what_is_written(void **state) {
    struct corpus *c = *state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        check_file(c, files[i]);
    }
    assert_true(c->stacks > 200);
    assert_int_equal(c->wrong, 0);
}

/* This test must run after the test above, which records the rules that decided. */
static void every_rule_decides_on_a_frame_of_a_golden_stack(void **state) {
    struct corpus *c = *state;
    static const char *const kinds[] = {"name",    "side",   "place",     "cause",  "framework",
                                        "callout", "hiding", "exclusion", "holder", "memory",
                                        "wait",    "kernel", "user"};
    size_t idle = 0;
    for (size_t i = 0; i < rules_count(c->rules); i++) {
        const struct rule *rule = rules_at(c->rules, i);
        if (!c->decided[i]) {
            print_error("%s:%u: the %s of '%.*s' decides on no frame\n", rule->file,
                        (unsigned)rule->line, kinds[rule->kind], (int)rule->function.len,
                        rule->function.text);
            idle++;
        }
    }
    assert_int_equal(idle, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_built_in_rules_make_of_the_golden_stacks_what_is_written),
        cmocka_unit_test(every_rule_decides_on_a_frame_of_a_golden_stack),
    };
    return cmocka_run_group_tests_name("stacks", tests, set_up, tear_down);
}
