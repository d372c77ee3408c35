/* Knows functions that belong to a loop although no rule names them: wrappers of the system call in
 * which the loop waits, helpers of the loop's own library, and overrides of its functions. */
#include "classify/keys/keyer_private.h"

/* The loop is looked for so many frames further out at most. */
enum { HELPERS_MAX = 8 };

static const struct frame_info *helper_at(const struct keyer *k, const struct judged_stack *s,
                                          size_t i) {
    return judged_at(k, s, i)->info;
}

static bool is_part_of_loop(const struct frame_info *info) {
    return info->cause == CAUSE_IDLE && (info->place == PLACE_CUT || info->place == PLACE_SKIP);
}

/* May the function be a part of the loop: does it call nothing that was handed over, and does no
 * rule say that it waits for something else than events? A stub of all system calls waits for what
 * its caller waits. */
static bool may_help(const struct frame_info *info) {
    return info->resolved && !info->callout && !info->memory &&
           (info->wait_name == WAIT_NAME_STUB || info->cause == CAUSE_NONE ||
            info->cause == CAUSE_IO || info->cause == CAUSE_IDLE);
}

/* Returns the method's name behind the last "::" or ".", or the first word behind "[Class ". */
static const char *method_of(const char *name) {
    const char *method = name;
    for (const char *c = name; *c && *c != '<' && *c != '('; c++) {
        if (*c == ':' || *c == '.' || *c == ' ') {
            method = c + 1;
        }
    }
    return method;
}

static bool is_loop_at(const struct keyer *k, const struct judged_stack *s, size_t i) {
    const struct frame_info *info = i < s->count ? helper_at(k, s, i) : NULL;
    return info && info->resolved && info->place == PLACE_CUT && info->cause == CAUSE_IDLE;
}

bool helper_is_override(const struct keyer *k, const struct judged_stack *s, size_t i) {
    const struct frame_info *info = helper_at(k, s, i);
    if (i == 0 || info->side != SIDE_SYSTEM || info->callout || !is_loop_at(k, s, i - 1)) {
        return false;
    }
    return info->resolved
               ? strcmp(method_of(info->function), method_of(helper_at(k, s, i - 1)->function)) == 0
               : is_loop_at(k, s, i + 1);
}

enum wait_name helper_wait_name(const struct frame_info *info) {
    enum wait_name name = may_help(info) ? info->wait_name : WAIT_NAME_NONE;
    /* In Rust the function of a task that works is called poll, too. */
    return name == WAIT_NAME_POLL && info->side != SIDE_SYSTEM ? WAIT_NAME_NONE : name;
}

/* Returns the length of the part of a name that a library's functions for one thing share: the
 * class of a method, or the first two words of a function; 0 = none. */
static size_t family_len(const char *name) {
    const char *end = method_of(name);
    while (end > name && (end[-1] == ':' || end[-1] == '.')) {
        end--;
    }
    if (end == name) {
        end = strchr(name, '_');
        end = end && end > name ? strchr(end + 1, '_') : NULL;
    }
    return end ? (size_t)(end - name) : 0;
}

/* Is the function of the family of another one? In Qt the class Private belongs to a class. */
static bool is_of_family(const char *name, const char *other) {
    size_t len = family_len(other);
    const char *rest = name + len;
    return len > 0 && strncmp(name, other, len) == 0 &&
           (*rest == ':' || *rest == '.' || *rest == '_' || strncmp(rest, "Private:", 8) == 0);
}

bool helper_is_of_loop(const struct keyer *k, const struct judged_stack *s, size_t i) {
    const struct frame_info *info = helper_at(k, s, i), *outer = NULL;
    if (info->side != SIDE_SYSTEM || !may_help(info) || i == 0) {
        return false;
    }
    for (size_t n = i + 1; n <= s->cut && n < s->count && n <= i + HELPERS_MAX && !outer; n++) {
        const struct frame_info *next = helper_at(k, s, n);
        outer = is_part_of_loop(next) ? next : NULL;
        if (!outer && !may_help(next)) {
            return false;
        }
    }
    return outer && outer->resolved && strcmp(info->image_name, outer->image_name) == 0 &&
           is_of_family(info->function, outer->function);
}
