/* Tells the app from the libraries that are linked into it where the program was built inside of a
 * folder for the code of others, such as a cache of modules or a checkout of a build system. */
#include "classify/keys/keyer_private.h"

/* Is the function a library's by its source file? */
static bool is_by_file(const struct frame_info *info) {
    return info->linked && !info->by[RULE_FRAMEWORK];
}

/* Returns the outermost frame that is a program's first function; NULL: there is none, or it is in
 * no library's folder. The code of an interpreted file is its program's first only if no other code
 * of the app called it. */
static const struct frame_info *find_program_start(const struct keyer *k,
                                                   const struct judged_stack *s) {
    bool called = false;
    for (size_t i = s->count; i-- > 0;) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (info->starts_program) {
            return is_by_file(info) && (info->in_image || !called) ? info : NULL;
        }
        called = called || (info->in_app && info->resolved);
    }
    return NULL;
}

/* Does the stack have a function of the app outside of libraries? One whose source file is unknown,
 * while files of others are known, may be any library's. */
static bool has_own(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->count; i++) {
        const struct judged_frame *f = judged_at(k, s, i);
        if (frame_is_app(f->info) && f->info->resolved && f->info->place == PLACE_KEEP &&
            !f->fileless) {
            return true;
        }
    }
    return false;
}

bool own_program(struct keyer *k, const struct judged_stack *s) {
    const struct frame_info *start = find_program_start(k, s);
    if (!start || has_own(k, s)) {
        return true;
    }
    for (size_t i = 0; i < s->count; i++) {
        struct judged_frame *f = &k->frames.data[s->first + i];
        if (is_by_file(f->info) && strcmp(f->info->framework, start->framework) == 0 &&
            !(f->info = frame_as_app(&k->table, f->info))) {
            return false;
        }
    }
    return true;
}
