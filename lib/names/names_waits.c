/* Recognises by their names functions that wait for events and do nothing else, and functions about
 * files. */
#include <string.h>

#include "names/names.h"

enum { NAME_WORDS_MAX = 8 };

/* A word of a name: the part between underscores, digits and the capital that begins the next
 * word. */
struct name_word {
    const char *text;
    size_t len;
};

static bool wait_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool wait_capital(char c) {
    return c >= 'A' && c <= 'Z';
}

/* Returns the last part of a qualified name; *len is its length, in which template arguments are
 * not. */
static const char *part_of_wait_name(const char *name, size_t *len) {
    size_t end = *len, start = 0, depth = 0;
    for (size_t i = 0; i < *len; i++) {
        if (name[i] == '<') {
            end = depth == 0 ? i : end;
            depth++;
        } else if (name[i] == '>' && depth > 0) {
            depth--;
        } else if (name[i] == '(' && depth == 0) {
            end = end == *len ? i : end;
            break;
        } else if ((name[i] == ':' || name[i] == '.') && depth == 0) {
            start = i + 1;
            end = *len;
        }
    }
    *len = end > start ? end - start : 0;
    return name + start;
}

/* Splits a part of a name into words, of which at most NAME_WORDS_MAX are kept. Returns their
 * number. */
static size_t split_wait_name(const char *s, size_t len, struct name_word *words) {
    size_t count = 0;
    for (size_t i = 0; i < len && count < NAME_WORDS_MAX;) {
        if (!wait_letter(s[i])) {
            i++;
            continue;
        }
        size_t start = i++;
        while (i < len && wait_letter(s[i]) && (!wait_capital(s[i]) || wait_capital(s[i - 1]))) {
            i++;
        }
        words[count++] = (struct name_word){.text = s + start, .len = i - start};
    }
    return count;
}

static bool wait_word_is(const struct name_word *word, const char *text) {
    size_t i = 0;
    for (; i < word->len && text[i]; i++) {
        char c = word->text[i];
        if ((wait_capital(c) ? (char)(c - 'A' + 'a') : c) != text[i]) {
            return false;
        }
    }
    return i == word->len && !text[i];
}

static bool wait_word_in(const struct name_word *word, const char *const *texts) {
    for (; *texts; texts++) {
        if (wait_word_is(word, *texts)) {
            return true;
        }
    }
    return false;
}

/* Is the part of a name in front of its last one a class for epoll or kqueue, as EPollPoller is? */
static bool is_in_class_for_events(const char *name, const char *part) {
    static const char *const classes[] = {"epoll", "kqueue", NULL};
    struct name_word words[NAME_WORDS_MAX];
    size_t end = (size_t)(part - name), len;
    while (end > 0 && (name[end - 1] == ':' || name[end - 1] == '.')) {
        end--;
    }
    len = end;
    part = part_of_wait_name(name, &len);
    for (size_t i = split_wait_name(part, len, words); i-- > 0;) {
        if (wait_word_in(&words[i], classes)) {
            return true;
        }
    }
    return false;
}

/* Is it a word for files, with or without a prefix: file, files, fs, filesystem, NSFile? */
static bool is_word_of_files(const struct name_word *word) {
    static const char *const words[] = {"file", "files", "fs", "filesystem", NULL};
    static const char suffix[] = "File";
    size_t n = sizeof suffix - 1;
    return wait_word_in(word, words) ||
           (word->len > n && memcmp(word->text + word->len - n, suffix, n) == 0);
}

bool names_of_files(const char *name, size_t len) {
    static const char *const others[] = {"descriptor", "descriptors", "desc", "handle", "no", NULL};
    struct name_word words[NAME_WORDS_MAX];
    size_t end = 0, count = NAME_WORDS_MAX;
    while (end < len && name[end] != '<' && name[end] != '(') {
        end++;
    }
    for (size_t start = 0; count == NAME_WORDS_MAX;) {
        count = split_wait_name(name + start, end - start, words);
        /* The last of the most words is looked at again, together with those behind it. */
        size_t whole = count == NAME_WORDS_MAX ? count - 1 : count;
        for (size_t i = 0; i < whole; i++) {
            bool other = i + 1 < count && wait_word_in(&words[i + 1], others);
            if (!other && is_word_of_files(&words[i])) {
                return true;
            }
        }
        start = whole < count ? (size_t)(words[whole].text - name) : end;
    }
    return false;
}

enum wait_name names_wait(const char *name, size_t len) {
    static const char *const calls[] = {"ppoll", "pselect", "kevent", "newselect", NULL};
    static const char *const waits[] = {"wait", "pwait", NULL};
    static const char *const polls[] = {"poll", "epoll", "select", NULL};
    static const char *const stubs[] = {"syscall", NULL};
    struct name_word words[NAME_WORDS_MAX];
    const char *part = part_of_wait_name(name, &len);
    size_t count = split_wait_name(part, len, words);
    enum wait_name found = WAIT_NAME_NONE;
    for (size_t i = 0; i < count; i++) {
        bool waits_next = i + 1 < count && wait_word_in(&words[i + 1], waits);
        if (wait_word_in(&words[i], calls) || (wait_word_is(&words[i], "epoll") && waits_next)) {
            return WAIT_NAME_CALL;
        }
        if (wait_word_in(&words[i], stubs)) {
            found = WAIT_NAME_STUB;
        } else if (wait_word_in(&words[i], polls) && found == WAIT_NAME_NONE) {
            found = WAIT_NAME_POLL;
        }
    }
    bool calls_epoll = found == WAIT_NAME_POLL && is_in_class_for_events(name, part);
    return calls_epoll ? WAIT_NAME_CALL : found;
}
