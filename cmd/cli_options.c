/* Parses the options of the commands, and prints --help, from one option table. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/strbuf.h"

/* Opens /dev/null in place of a closed stdin, stdout or stderr, since the next file opened would
 * otherwise get that descriptor. stdin and stderr are opened for writing only and stdout for
 * reading only, so that reading stdin and writing stdout fail. Programs that are run do not inherit
 * them. */
static void occupy_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) { /* the lower ones are open */
            int mode = fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY;
            int taken = open("/dev/null", mode | O_CLOEXEC);
            (void)taken; /* if /dev/null exists, taken equals fd */
        }
    }
}

void cli_begin(struct cli_parser *p, const struct cli_tool *tool, int argc, char **argv) {
    occupy_standard_files();
    *p = (struct cli_parser){.tool = tool, .argc = argc, .argv = argv, .next = 1, .operands = argv};
}

static void print_option(const struct cli_tool *tool, const struct cli_option *o) {
    char left[64];
    int n = 0;
    const char *dashes = tool->single_dash_words ? "-" : "--";
    if (o->letter) {
        n = snprintf(left, sizeof left, "  -%c%s", o->letter, o->name ? ", " : "");
    } else {
        n = snprintf(left, sizeof left, "%s", tool->single_dash_words ? "  " : "      ");
    }
    if (o->name && n > 0) {
        n += snprintf(left + n, sizeof left - (size_t)n, "%s%s", dashes, o->name);
    }
    if (o->arg && n > 0) {
        const char *between = tool->single_dash_words || !o->name ? " " : "=";
        bool optional = o->arg[0] == '[';
        snprintf(left + n, sizeof left - (size_t)n, "%s%s", optional ? "" : between, o->arg);
    }
    const char *help = o->help;
    printf("%-28s", left);
    if (strlen(left) >= 28) {
        printf("\n%28s", "");
    }
    for (const char *nl; (nl = strchr(help, '\n')) != NULL; help = nl + 1) {
        printf("%.*s\n%28s", (int)(nl - help), help, "");
    }
    printf("%s\n", help);
}

/* Prints all forms of the synopsis, or, unless `all`, only the first, which is the most common
 * use. */
static void print_synopsis(FILE *f, const struct cli_tool *tool, bool all) {
    const char *form = tool->synopsis;
    const char *prefix = "usage:";
    for (;;) {
        const char *nl = strchr(form, '\n');
        int len = nl ? (int)(nl - form) : (int)strlen(form);
        if (*form == ' ') { /* this line of the synopsis continues the previous one */
            fprintf(f, "%s %*s %.*s\n", prefix, (int)strlen(tool->name), "", len - 1, form + 1);
        } else {
            fprintf(f, "%s %s %.*s\n", prefix, tool->name, len, form);
        }
        if (!nl || (!all && nl[1] != ' ')) {
            return;
        }
        form = nl + 1;
        prefix = "      ";
    }
}

static void print_help(const struct cli_tool *tool) {
    print_synopsis(stdout, tool, true);
    printf("%s\n\n", tool->summary);
    for (size_t i = 0; i < tool->option_count; i++) {
        if (tool->options[i].help) {
            print_option(tool, &tool->options[i]);
        }
    }
    const char *dashes = tool->single_dash_words ? "  --help" : "      --help";
    printf("%-28sshow this text\n", dashes);
    printf("%-28sshow the version\n", tool->single_dash_words ? "  --version" : "      --version");
    if (tool->footer) {
        printf("\n%s\n", tool->footer);
    }
    printf("\nMore: man %s\n", tool->name);
}

BASE_PRINTF(2, 0)
static void print_misuse(const struct cli_tool *tool, const char *fmt, va_list ap) {
    char text[512];
    vsnprintf(text, sizeof text, fmt, ap);
    cli_say(tool->name, "%s", text);
    print_synopsis(stderr, tool, false);
    fprintf(stderr, "Try '%s --help', or man %s.\n", tool->name, tool->name);
}

int cli_usage_error(const struct cli_tool *tool, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    print_misuse(tool, fmt, ap);
    va_end(ap);
    return CLI_USAGE;
}

bool cli_reject(const struct cli_tool *tool, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    print_misuse(tool, fmt, ap);
    va_end(ap);
    return false;
}

/* Returns the Levenshtein distance of two words, for "did you mean"; 99 if one is longer than 32
 * bytes. */
static size_t option_distance(const char *a, size_t alen, const char *b) {
    size_t blen = strlen(b);
    size_t row[33];
    if (alen > 32 || blen > 32) {
        return 99;
    }
    for (size_t j = 0; j <= blen; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= alen; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= blen; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best) {
                best = row[j] + 1;
            }
            if (row[j - 1] + 1 < best) {
                best = row[j - 1] + 1;
            }
            row[j] = best;
        }
    }
    return row[blen];
}

static int unknown_option(struct cli_parser *p, const char *shown, const char *word, size_t len) {
    const char *dashes = p->tool->single_dash_words ? "-" : "--";
    const char *near = NULL;
    size_t best = 3;
    for (size_t i = 0; i < p->tool->option_count; i++) {
        const char *name = p->tool->options[i].name;
        size_t d = name ? option_distance(word, len, name) : 99;
        if (d < best && d < strlen(name)) {
            best = d;
            near = name;
        }
    }
    if (near) {
        p->status = cli_usage_error(p->tool, "unknown option '%s' (did you mean '%s%s'?)", shown,
                                    dashes, near);
    } else {
        p->status = cli_usage_error(p->tool, "unknown option '%s'", shown);
    }
    return CLI_EXIT;
}

static const struct cli_option *option_by_name(const struct cli_tool *tool, const char *word,
                                               size_t len) {
    for (size_t i = 0; i < tool->option_count; i++) {
        const char *name = tool->options[i].name;
        if (name && parse_is(word, len, name)) {
            return &tool->options[i];
        }
    }
    return NULL;
}

static const struct cli_option *option_by_letter(const struct cli_tool *tool, char letter) {
    for (size_t i = 0; i < tool->option_count; i++) {
        if (tool->options[i].letter == letter) {
            return &tool->options[i];
        }
    }
    return NULL;
}

/* Takes an option with its value: the attached text, or, if there is none and the option needs a
 * value, the next argument. Returns the option's id, or CLI_EXIT after a printed usage error. */
static int take_value(struct cli_parser *p, const struct cli_option *o, struct cli_typed typed,
                      const char *attached) {
    char shown[CLI_TYPED];
    p->value = attached;
    p->typed[o->id] = typed;
    if (o->arg && !attached && o->arg[0] != '[') {
        if (p->next >= p->argc) {
            p->status = cli_usage_error(p->tool, "option '%s' needs a value (%s)",
                                        cli_typed(p, o->id, shown), o->arg);
            return CLI_EXIT;
        }
        p->value = p->argv[p->next++];
    } else if (!o->arg && attached) {
        p->status =
            cli_usage_error(p->tool, "option '%s' takes no value", cli_typed(p, o->id, shown));
        return CLI_EXIT;
    }
    p->given |= CLI_BIT(o->id);
    p->option = o;
    return o->id;
}

static int next_letter(struct cli_parser *p) {
    struct cli_typed typed = {p->letters, 1, true};
    char letter = *p->letters++;
    const struct cli_option *o = option_by_letter(p->tool, letter);
    if (!o) {
        char shown[3] = {'-', letter, 0};
        p->letters = NULL;
        return unknown_option(p, shown, shown + 1, 1);
    }
    const char *rest = *p->letters ? p->letters : NULL;
    if (o->arg || !rest) {
        p->letters = NULL;
    }
    return take_value(p, o, typed, o->arg ? rest : NULL);
}

/* Ends the command after --help or --version: sets p->status to CLI_OK, or to CLI_FAILED if stdout
 * could not be written, which is printed unless a pipe was closed. Returns CLI_EXIT. */
static int end_of_text(struct cli_parser *p) {
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (!written && errno != EPIPE) {
        cli_say(p->tool->name, "<stdout>: cannot write: %s", strerror(errno));
    }
    p->status = written ? CLI_OK : CLI_FAILED;
    return CLI_EXIT;
}

static int next_word(struct cli_parser *p, const char *arg) {
    const char *word = arg + (arg[1] == '-' ? 2 : 1);
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    if (len == 4 && memcmp(word, "help", 4) == 0) {
        print_help(p->tool);
        return end_of_text(p);
    }
    if (len == 7 && memcmp(word, "version", 7) == 0) {
        printf("%s (stallkit) %s\n", p->tool->name, STALLKIT_VERSION);
        return end_of_text(p);
    }
    const struct cli_option *o = option_by_name(p->tool, word, len);
    if (!o) {
        return unknown_option(p, arg, word, len);
    }
    struct cli_typed typed = {arg, (int)(word - arg) + (int)len, false};
    return take_value(p, o, typed, equals ? equals + 1 : NULL);
}

/* Returns the id of the next option; CLI_END when all were read; CLI_EXIT after --help,
 * --version or a mistake, which was printed. */
static int next_option(struct cli_parser *p) {
    p->value = NULL;
    if (p->letters) {
        return next_letter(p);
    }
    while (p->next < p->argc) {
        char *arg = p->argv[p->next];
        bool is_option = arg[0] == '-' && arg[1] != 0;
        if (is_option && strcmp(arg, "--") != 0) {
            p->next++;
            bool word = arg[1] == '-';
            if (p->tool->single_dash_words && !word) {
                size_t len = strcspn(arg + 1, "=");
                word = option_by_name(p->tool, arg + 1, len) != NULL ||
                       (arg[2] != 0 && !option_by_letter(p->tool, arg[1]));
            }
            if (word) {
                return next_word(p, arg);
            }
            p->letters = arg + 1;
            return next_letter(p);
        }
        if (is_option || p->tool->stop_at_operand) {
            /* The argument is "--", which is skipped, or the first operand in a command whose
             * operands end the options. */
            p->next += is_option;
            while (p->next < p->argc) {
                p->operands[p->operand_count++] = p->argv[p->next++];
            }
            break;
        }
        p->operands[p->operand_count++] = arg;
        p->next++;
    }
    /* operand_count is at most argc, and argv[argc] is NULL already. */
    p->operands[p->operand_count] = NULL;
    return CLI_END;
}

const struct cli_option *cli_useless(const struct cli_parser *p, uint64_t useful) {
    for (size_t i = 0; i < p->tool->option_count; i++) {
        const struct cli_option *o = &p->tool->options[i];
        if (p->given & ~useful & CLI_BIT(o->id)) {
            return o;
        }
    }
    return NULL;
}

const char *cli_typed(const struct cli_parser *p, int id, char out[CLI_TYPED]) {
    const struct cli_typed *t = &p->typed[id];
    snprintf(out, CLI_TYPED, "%s%.*s", t->letter ? "-" : "", t->len, t->text);
    return out;
}

/* Reads the value of the last option as a whole decimal number from min to max. False after a
 * printed usage error. */
static bool read_number(const struct cli_parser *p, uint64_t min, uint64_t max, uint64_t *out) {
    uint64_t v;
    char option[CLI_TYPED];
    if (!parse_u64(p->value, strlen(p->value), max, &v) || v < min) {
        return cli_reject(p->tool,
                          "%s takes a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'",
                          cli_typed(p, p->option->id, option), min, max, p->value);
    }
    *out = v;
    return true;
}

/* Reads the value of the last option as a duration from min to max ms. False after a printed usage
 * error. */
static bool read_duration(const struct cli_parser *p, uint64_t min, uint64_t max, uint64_t *out) {
    uint64_t ms;
    char option[CLI_TYPED];
    if (!parse_duration_ms(p->value, strlen(p->value), max, &ms) || ms < min) {
        return cli_reject(p->tool,
                          "%s takes a time from %" PRIu64 " to %" PRIu64
                          " ms, such as 250, 100ms or 0.5s, not '%s'",
                          cli_typed(p, p->option->id, option), min, max, p->value);
    }
    *out = ms;
    return true;
}

static const char *option_word_at(const struct cli_words *words, size_t i) {
    const char *word;
    memcpy(&word, (const char *)words->rows + i * words->row_size, sizeof word);
    return word;
}

int cli_choice(const struct cli_parser *p, const struct cli_words *words) {
    struct strbuf list = {0};
    char option[CLI_TYPED];
    const char *word = option_word_at(words, 0);
    for (int i = 0; word; i++) {
        const char *next = option_word_at(words, (size_t)i + 1);
        if (strcmp(word, p->value) == 0) {
            strbuf_release(&list);
            return i;
        }
        if (i > 0) {
            strbuf_addstr(&list, next ? ", " : " or ");
        }
        strbuf_addstr(&list, word);
        word = next;
    }
    cli_usage_error(p->tool, "%s is %s, not '%s'", cli_typed(p, p->option->id, option),
                    strbuf_cstr(&list), p->value);
    strbuf_release(&list);
    return -1;
}

/* ---- settings ---- */

bool cli_nomem(struct cli_parser *p) {
    struct err e = {0};
    err_nomem(&e);
    cli_say(p->tool->name, "%s", e.text);
    p->status = CLI_FAILED;
    return false;
}

/* Stores a number, flag or word in a member of one, four or eight bytes. */
static void store_number(void *member, size_t size, uint64_t v) {
    if (size == sizeof(uint64_t)) {
        memcpy(member, &v, sizeof v);
    } else if (size == sizeof(uint32_t)) {
        uint32_t narrow = (uint32_t)v;
        memcpy(member, &narrow, sizeof narrow);
    } else {
        *(bool *)member = v != 0;
    }
}

static bool apply_option(struct cli_parser *p, void *settings) {
    const struct cli_setting *s = &p->option->setting;
    void *member = (char *)settings + s->offset;
    uint64_t number = s->kind == CLI_KIND_FLAG;
    switch (s->kind) {
    case CLI_KIND_TEXT:
        *(const char **)member = p->value;
        return true;
    case CLI_KIND_LIST:
        return VEC_PUSH((struct cli_list *)member, p->value) || cli_nomem(p);
    case CLI_KIND_NUMBER:
        if (!read_number(p, s->min, s->max, &number)) {
            return false;
        }
        break;
    case CLI_KIND_DURATION:
        if (!read_duration(p, s->min, s->max, &number)) {
            return false;
        }
        break;
    case CLI_KIND_WORD: {
        int word = cli_choice(p, &s->words);
        if (word < 0) {
            return false;
        }
        number = (uint64_t)word;
        break;
    }
    case CLI_KIND_CALL:
        return s->take(settings, p);
    default:
        break;
    }
    store_number(member, s->size, number);
    return true;
}

int cli_read_options(struct cli_parser *p, void *settings) {
    for (int id; (id = next_option(p)) != CLI_END;) {
        if (id == CLI_EXIT || p->option->setting.kind == CLI_KIND_STOP) {
            return id;
        }
        if (!apply_option(p, settings)) {
            p->status = p->status ? p->status : CLI_USAGE;
            return CLI_EXIT;
        }
    }
    return CLI_END;
}
