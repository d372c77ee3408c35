/* Splits and fills in a fetch command. */
#include "index/fetch/fetch_command.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"

/* ---- splitting ---- */

static bool separates_words(char c) {
    return c == ' ' || c == '\t' || c == '\n';
}

/* Reads the word that begins at *at, and moves *at past it. */
static enum st read_command_word(const char **at, struct strbuf *word, struct err *e) {
    char quote = 0;
    const char *s = *at;
    strbuf_addstr(word, "");
    for (; *s && (quote || !separates_words(*s)); s++) {
        if (quote ? *s == quote : *s == '\'' || *s == '"') {
            quote = quote ? 0 : *s;
        } else if (*s == '\\' && quote != '\'' && s[1]) {
            strbuf_addc(word, *++s);
        } else {
            strbuf_addc(word, *s);
        }
    }
    *at = s;
    return quote ? err_set(e, ERR_USAGE, "a quote (%c) is not closed", quote) : ST_OK;
}

static enum st add_command_word(struct fetch_command *c, struct strbuf *word, struct err *e) {
    char *text = strbuf_take(word);
    if (!text) {
        return err_nomem(e);
    }
    if (c->count == FETCH_WORDS_MAX) {
        free(text);
        return err_set(e, ERR_USAGE, "more than %d words", FETCH_WORDS_MAX);
    }
    c->words[c->count++] = text;
    return ST_OK;
}

/* Sets *id if a word has %u and *output if it has %o. ST_ERR: another % is in it. */
static enum st check_command_word(const char *word, bool *id, bool *output, struct err *e) {
    for (const char *s = strchr(word, '%'); s; s = strchr(s + 2, '%')) {
        if (s[1] != 'u' && s[1] != 'o' && s[1] != '%') {
            return err_set(e, ERR_USAGE, "'%%' stands before u, o or %% only, not as in '%s'",
                           word);
        }
        *id = *id || s[1] == 'u';
        *output = *output || s[1] == 'o';
    }
    return ST_OK;
}

static enum st check_command(const struct fetch_command *c, struct err *e) {
    bool id = false, output = false;
    for (size_t i = 0; i < c->count; i++) {
        if (check_command_word(c->words[i], &id, &output, e) != ST_OK) {
            return ST_ERR;
        }
    }
    if (!id || !output) {
        return err_set(e, ERR_USAGE, "%s is missing", id ? "%o, the file to write" : "%u, the id");
    }
    return ST_OK;
}

enum st fetch_command_parse(struct fetch_command *out, const char *text, struct err *e) {
    struct fetch_command c = {.words = calloc(FETCH_WORDS_MAX, sizeof *c.words),
                              .hash = hash_bytes(text, strlen(text))};
    enum st st = c.words ? ST_OK : err_nomem(e);
    while (st == ST_OK) {
        struct strbuf word = {0};
        text += strspn(text, " \t\n");
        if (!*text) {
            break;
        }
        st = read_command_word(&text, &word, e);
        if (st == ST_OK) {
            st = add_command_word(&c, &word, e);
        }
        strbuf_release(&word);
    }
    if (st == ST_OK) {
        st = check_command(&c, e);
    }
    if (st != ST_OK) {
        fetch_command_release(&c);
        return st;
    }
    *out = c;
    return ST_OK;
}

void fetch_command_release(struct fetch_command *c) {
    for (size_t i = 0; i < c->count; i++) {
        free(c->words[i]);
    }
    free(c->words);
    *c = (struct fetch_command){0};
}

/* ---- filling in ---- */

static void add_hex_id(const struct image_id *id, struct strbuf *out) {
    char text[IMAGE_ID_TEXT];
    for (const char *s = image_id_text(id, text); *s; s++) {
        if (*s != '-') {
            strbuf_addc(out, *s);
        }
    }
}

static char *fill_in(const char *word, const struct image_id *id, const char *output) {
    struct strbuf filled = {0};
    strbuf_addstr(&filled, "");
    for (const char *s = word; *s; s++) {
        if (*s != '%') {
            strbuf_addc(&filled, *s);
        } else if (*++s == 'u') {
            add_hex_id(id, &filled);
        } else if (*s == 'o') {
            strbuf_addstr(&filled, output);
        } else {
            strbuf_addc(&filled, '%');
        }
    }
    char *text = strbuf_take(&filled);
    strbuf_release(&filled);
    return text;
}

char **fetch_command_words(const struct fetch_command *c, const struct image_id *id,
                           const char *output) {
    char **words = calloc(c->count + 1, sizeof *words);
    for (size_t i = 0; words && i < c->count; i++) {
        words[i] = fill_in(c->words[i], id, output);
        if (!words[i]) {
            fetch_command_free_words(words);
            words = NULL;
        }
    }
    return words;
}

void fetch_command_free_words(char **words) {
    for (size_t i = 0; words && words[i]; i++) {
        free(words[i]);
    }
    free(words);
}
