/* Finds the function in which a closure, a block, a lambda or Swift's `defer` was written, or for
 * which Swift's compiler made a thunk: compilers put words before or after that function's name,
 * and normalised names keep these words. */
#include <string.h>

#include "names/names.h"

static const char *const enclosing_before[] = {
    "closure in ", "implicit closure in ", "partial apply for ", "partial apply forwarder for ",
    "defer in ",   "$defer in ",           "thunk for ",         "@objc "};
static const char *const enclosing_behind[] = {"_block_invoke", "::{lambda}::operator()",
                                               "::{lambda}",    "::{closure}",
                                               "::{{closure}}", ".<anonymous closure>"};

/* In a name of Python, what follows is local to the function in front. */
static const char enclosing_locals[] = ".<locals>.";

static bool drop_before(const char **name, size_t *len, const char *word) {
    size_t n = strlen(word);
    if (*len <= n || memcmp(*name, word, n) != 0) {
        return false;
    }
    *name += n;
    *len -= n;
    return true;
}

static bool drop_behind(const char *name, size_t *len, const char *word) {
    size_t n = strlen(word);
    if (*len <= n || memcmp(name + *len - n, word, n) != 0) {
        return false;
    }
    *len -= n;
    return true;
}

void names_enclosing(const char *name, size_t len, const char **function, size_t *function_len) {
    bool dropped = true;
    while (dropped) {
        dropped = false;
        for (size_t i = 0; i < sizeof enclosing_before / sizeof *enclosing_before; i++) {
            dropped = drop_before(&name, &len, enclosing_before[i]) || dropped;
        }
        for (size_t i = 0; i < sizeof enclosing_behind / sizeof *enclosing_behind; i++) {
            dropped = drop_behind(name, &len, enclosing_behind[i]) || dropped;
        }
    }
    for (size_t i = 1; i + sizeof enclosing_locals - 1 <= len; i++) {
        if (name[i] == '.' &&
            memcmp(name + i, enclosing_locals, sizeof enclosing_locals - 1) == 0) {
            len = i;
        }
    }
    *function = name;
    *function_len = len;
}
