/* Makes keys that outlive a system's version: the framework that the app called, and the app's
 * innermost frames. Private frames of the system change with each of its versions; which
 * framework an app calls, and from where, changes only when the app does. */
#include "classify/keys/keyer_private.h"

/* The kinds of frames that can make up a key: frames of the app; if there are none, frames of a
 * vendor that have names, because nameless ones change with each build, if two functions have; else
 * all of its frames; else frames of libraries that were linked into the app, by their source files;
 * else frames of the app that rules skip. */
enum stand_in { STAND_APP, STAND_VENDOR, STAND_NAMELESS, STAND_LINKED, STAND_SKIPPED, STAND_INS };

static bool stands_in(const struct frame_info *info, enum stand_in who) {
    switch (who) {
    case STAND_APP:
        return frame_is_app(info) && (info->place == PLACE_KEEP || info->place == PLACE_PREFIX);
    case STAND_VENDOR:
        return info->side == SIDE_VENDOR && info->place != PLACE_SKIP && info->resolved;
    case STAND_NAMELESS:
        return info->side == SIDE_VENDOR && info->place != PLACE_SKIP;
    case STAND_LINKED:
        return info->linked && !info->by[RULE_FRAMEWORK] && info->place != PLACE_SKIP;
    default:
        return frame_is_app(info) && info->place == PLACE_SKIP;
    }
}

/* Returns the index of the innermost frame, from `from` on, of this kind; s->cut = there is
 * none. */
static size_t find_stand_in(const struct keyer *k, const struct judged_stack *s, enum stand_in who,
                            size_t from) {
    while (from < s->cut && !stands_in(judged_at(k, s, from)->info, who)) {
        from++;
    }
    return from;
}

/* Do frames of this kind, if it leaves nameless frames out, tell less than all frames of the vendor
 * would: are they of one function, which may be the entry to all that the library does? */
static bool tells_too_little(const struct keyer *k, const struct judged_stack *s, enum stand_in who,
                             size_t first) {
    if (who != STAND_VENDOR) {
        return false;
    }
    const struct frame_info *info = judged_at(k, s, first)->info;
    for (size_t i = first; i < s->cut; i = find_stand_in(k, s, who, i + 1)) {
        if (judged_at(k, s, i)->info->canonical != info->canonical) {
            return false;
        }
    }
    return true;
}

/* Returns the index of the innermost frame of this kind; with STAND_LINKED, of the innermost one
 * outside of the innermost library, if there is one, because that frame's library called the
 * innermost library. s->cut = there is none. */
static size_t first_stand_in(const struct keyer *k, const struct judged_stack *s,
                             enum stand_in who) {
    size_t first = find_stand_in(k, s, who, s->inner);
    for (size_t i = first; who == STAND_LINKED && i < s->cut; i = find_stand_in(k, s, who, i + 1)) {
        if (strcmp(judged_at(k, s, i)->info->framework, judged_at(k, s, first)->info->framework) !=
            0) {
            return i;
        }
    }
    return first;
}

/* Returns the index of the outermost frame from `first` on that may make up the key: among frames
 * that rules skip, the outermost is the most specific one. */
static size_t last_stand_in(const struct keyer *k, const struct judged_stack *s, enum stand_in who,
                            size_t first) {
    size_t last = first;
    for (size_t i = first; i < s->cut; i = find_stand_in(k, s, who, i + 1)) {
        last = i;
    }
    return last;
}

/* Adds the framework that frame `app` called to the keys. Nothing is added if the called frame has
 * no framework, as runtime code has none, if only frames of the app are further inside, or if a
 * vendor's or a linked library called itself. False: out of memory. */
static bool add_framework(struct keyer *k, const struct judged_stack *s, size_t app,
                          struct key levels[KEY_LEVELS]) {
    const struct frame_info *caller = judged_at(k, s, app)->info;
    size_t called = caller->linked && app > s->inner ? app - 1 : app;
    while (called > s->inner && frame_is_app(judged_at(k, s, called)->info)) {
        called--; /* steps over functions of the app that a rule skips: thunks, wrappers */
    }
    const struct frame_info *call = judged_at(k, s, called)->info;
    if (frame_is_app(call) || !call->framework[0]) {
        return true;
    }
    if (call->side == SIDE_VENDOR && caller->side == SIDE_VENDOR) {
        return true; /* a vendor's library called itself */
    }
    if (caller->linked && strcmp(call->framework, caller->framework) == 0) {
        return true; /* a linked library called itself */
    }
    struct key_frame f = key_frame_of(judged_at(k, s, called));
    f.call = call;
    f.info = frame_of_library(&k->table, call, call->framework);
    for (size_t n = 0; f.info && n < KEY_LEVELS; n++) {
        key_add(&levels[n], &f);
    }
    return f.info != NULL;
}

/* Does the key have this function, a closure written in it, or, if this function is a closure, the
 * function in which it was written or another closure written there? */
static bool has_function(const struct key *key, const struct frame_info *info) {
    for (size_t i = 0; i < key->count; i++) {
        const struct frame_info *other = key->frames[i].info;
        if (!key->frames[i].call && other->enclosing == info->enclosing &&
            strcmp(other->image, info->image) == 0) {
            return true;
        }
    }
    return false;
}

/* Is frame i a witness of a Swift protocol that only calls the method, the next frame inwards? One
 * that calls something else has the method inlined, and stands for it. */
static bool is_witness_thunk(const struct keyer *k, const struct judged_stack *s, size_t i) {
    const char *member = judged_at(k, s, i)->info->witness;
    if (!member || i == 0) {
        return false;
    }
    const struct frame_info *called = judged_at(k, s, i - 1)->info;
    size_t len = strlen(called->function), end = strlen(member);
    return called->in_app && len > end && called->function[len - end - 1] == '.' &&
           strcmp(called->function + len - end, member) == 0;
}

static void add_functions(const struct keyer *k, const struct judged_stack *s, enum stand_in who,
                          size_t from, struct key levels[KEY_LEVELS], struct key *action) {
    unsigned counted[KEY_LEVELS] = {0};
    for (size_t i = from; i < s->cut; i = find_stand_in(k, s, who, i + 1)) {
        struct key_frame f = key_frame_of(judged_at(k, s, i));
        if (is_witness_thunk(k, s, i)) {
            continue;
        }
        for (size_t n = 0; n < KEY_LEVELS; n++) {
            if (counted[n] < k->options.wanted[n] && !has_function(&levels[n], f.info)) {
                key_add(&levels[n], &f);
                counted[n] += f.info->place != PLACE_PREFIX;
            }
        }
        if (who == STAND_APP || who == STAND_SKIPPED) {
            action->frames[0] = f; /* the last frame is the outermost */
            action->count = 1;
        }
    }
}

/* For a stack without a frame of the app that counts: adds to the keys the app's type for which a
 * generic function of a library was made. Of the frames that rules skip and that have such a type,
 * the innermost is used whose type rules leave in the app and do not skip. *added is set to true if
 * there is one. False: out of memory. */
static bool add_generic(struct keyer *k, const struct judged_stack *s,
                        struct key levels[KEY_LEVELS], bool *added) {
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (!info->made_for || info->place != PLACE_SKIP) {
            continue;
        }
        struct key_frame f = {.info = frame_of_type(&k->table, info)};
        if (!f.info) {
            return false;
        }
        *added = f.info->in_app && f.info->place != PLACE_SKIP;
        for (size_t n = 0; *added && n < KEY_LEVELS; n++) {
            key_add(&levels[n], &f);
        }
        if (*added) {
            return true;
        }
    }
    return true;
}

/* ---- stacks without the app ---- */

/* Does the frame have a name, and does no rule skip it? */
static bool is_relevant(const struct frame_info *info) {
    return info->resolved && (info->place == PLACE_KEEP || info->place == PLACE_PREFIX);
}

/* Returns the index of the innermost relevant frame from `from` on; s->cut = there is none. */
static size_t find_relevant(const struct keyer *k, const struct judged_stack *s, size_t from) {
    while (from < s->cut && !is_relevant(judged_at(k, s, from)->info)) {
        from++;
    }
    return from;
}

/* Returns the index of the frame by which the innermost framework was entered: of the relevant
 * frames from the innermost one outwards that are part of its framework, the outermost. A frame
 * that says what is done (PLACE_PREFIX) counts as the entry. So does the innermost frame of an
 * image that no rule calls a framework: it may be the app's, in a dump that does not say which
 * images are. s->cut = all relevant frames are part of one framework, or there is none. */
static size_t find_entry(const struct keyer *k, const struct judged_stack *s) {
    size_t entry = find_relevant(k, s, 0);
    while (entry < s->cut) {
        const struct frame_info *info = judged_at(k, s, entry)->info;
        size_t next = find_relevant(k, s, entry + 1);
        if (info->place == PLACE_PREFIX || !info->by[RULE_FRAMEWORK]) {
            return entry;
        }
        if (next < s->cut && strcmp(judged_at(k, s, next)->info->framework, info->framework) != 0) {
            return entry;
        }
        entry = next;
    }
    return entry;
}

static void add_from_entry(const struct keyer *k, const struct judged_stack *s, size_t entry,
                           size_t wanted, struct key *level) {
    size_t counted = 0;
    for (size_t i = entry; i < s->cut && counted < wanted; i = find_relevant(k, s, i + 1)) {
        struct key_frame f = key_frame_of(judged_at(k, s, i));
        if (!key_has(level, f.info)) {
            key_add(level, &f);
            counted += f.info->place == PLACE_KEEP;
        }
    }
}

static void add_outermost(const struct keyer *k, const struct judged_stack *s, size_t wanted,
                          struct key *level) {
    struct key outermost = {.count = 0};
    size_t counted = 0;
    for (size_t i = s->cut; i-- > 0 && counted < wanted;) {
        struct key_frame f = key_frame_of(judged_at(k, s, i));
        if (is_relevant(f.info) && !key_has(&outermost, f.info)) {
            key_add(&outermost, &f);
            counted += f.info->place == PLACE_KEEP;
        }
    }
    while (outermost.count > 0) {
        key_add(level, &outermost.frames[--outermost.count]);
    }
}

/* Adds the frame by which the innermost framework was entered, and the relevant frames that called
 * it; if all relevant frames are of one framework, the outermost of these frames. Frames further
 * inside are private to the framework: they change with its version, and each sample of its work is
 * in another one. */
static void add_relevant(const struct keyer *k, const struct judged_stack *s,
                         struct key levels[KEY_LEVELS]) {
    size_t entry = find_entry(k, s);
    for (size_t n = 0; n < KEY_LEVELS; n++) {
        if (entry < s->cut) {
            add_from_entry(k, s, entry, k->options.wanted[n], &levels[n]);
        } else {
            add_outermost(k, s, k->options.wanted[n], &levels[n]);
        }
    }
}

/* Adds the library that frame `from` is in to the keys, under this name, unless level 1 has it.
 * False: out of memory. */
static bool add_library(struct keyer *k, const struct judged_frame *from, const char *name,
                        struct key levels[KEY_LEVELS]) {
    struct key_frame f = key_frame_of(from);
    f.call = f.info;
    f.info = frame_of_library(&k->table, f.call, name);
    bool known = f.info && key_has(&levels[0], f.info);
    for (size_t n = 0; f.info && !known && n < KEY_LEVELS; n++) {
        key_add(&levels[n], &f);
    }
    return f.info != NULL;
}

/* Adds the innermost frameworks to the keys, until level 1 has `wanted` frames. False: out of
 * memory. */
static bool add_frameworks(struct keyer *k, const struct judged_stack *s, size_t wanted,
                           struct key levels[KEY_LEVELS]) {
    for (size_t i = 0; i < s->cut && levels[0].count < wanted; i++) {
        const struct judged_frame *f = judged_at(k, s, i);
        if (!f->info->callout && f->info->framework[0] &&
            !add_library(k, f, f->info->framework, levels)) {
            return false;
        }
    }
    return true;
}

/* For a stack of runtime code only: adds the outermost two images that the loop or the thread's
 * first function called, because the innermost images change with each sample. If the loop called
 * none, the innermost two images are added. False: out of memory. */
static bool add_images(struct keyer *k, const struct judged_stack *s,
                       struct key levels[KEY_LEVELS]) {
    size_t count = s->cut > 0 ? s->cut : s->count;
    for (size_t i = 0; i < count && levels[0].count < 2; i++) {
        const struct judged_frame *f = judged_at(k, s, s->cut > 0 ? count - 1 - i : i);
        if (!f->info->callout && !add_library(k, f, f->info->image_name, levels)) {
            return false;
        }
    }
    return true;
}

/* Returns the cause of the wait (lock, message, network, sleep or drawing) that the innermost
 * runtime code shows; CAUSE_NONE = it shows none. Reads and writes are left out, because work on
 * files is a mix of them, of system calls without a name and of computing. */
static enum rule_cause innermost_wait(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (info->callout || info->framework[0]) {
            break;
        }
        switch (info->cause) {
        case CAUSE_LOCK:
        case CAUSE_IPC:
        case CAUSE_NETWORK:
        case CAUSE_SLEEP:
        case CAUSE_RENDER:
            return info->cause;
        default:
            break;
        }
    }
    return CAUSE_NONE;
}

/* For a stack whose key would be frameworks only: adds the kind of wait that its runtime code
 * shows. A framework that waits for a lock and the same one that waits for a message stall for two
 * causes. False: out of memory. */
static bool add_wait(struct keyer *k, const struct judged_stack *s, struct key levels[KEY_LEVELS]) {
    enum rule_cause wait = innermost_wait(k, s);
    struct key_frame f = {.info = NULL};
    if (wait == CAUSE_NONE) {
        return true;
    }
    f.info = frame_of_name(&k->table, "wait", rule_cause_text(wait));
    for (size_t n = 0; f.info && n < KEY_LEVELS; n++) {
        key_add(&levels[n], &f);
    }
    return f.info != NULL;
}

/* Does the stack have a relevant frame that counts as a place? PLACE_PREFIX frames do not. */
static bool has_counted(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (is_relevant(info) && info->place == PLACE_KEEP) {
            return true;
        }
    }
    return false;
}

/* Makes the keys of a stack without frames of the app, of vendors or of linked libraries: of its
 * frameworks and relevant frames, or, if it has neither, of its images. False: out of memory. */
static bool system_keys(struct keyer *k, const struct judged_stack *s,
                        struct key levels[KEY_LEVELS]) {
    enum { FRAMEWORKS = 2 };
    bool counted = has_counted(k, s);
    if (!counted && !add_frameworks(k, s, 1, levels)) {
        return false;
    }
    size_t frameworks = levels[0].count;
    add_relevant(k, s, levels);
    bool named = levels[0].count > frameworks;
    if (counted || levels[0].count > 1) {
        return true;
    }
    return add_frameworks(k, s, FRAMEWORKS, levels) &&
           (levels[0].count || add_images(k, s, levels)) && (named || add_wait(k, s, levels));
}

bool callout_keys(struct keyer *k, const struct judged_stack *s, struct key levels[KEY_LEVELS]) {
    const struct judged_frame *f = s->count ? judged_at(k, s, 0) : NULL;
    return !f || add_library(k, f, f->info->image_name, levels);
}

bool app_keys(struct keyer *k, const struct judged_stack *s, struct key levels[KEY_LEVELS],
              struct key *action) {
    bool generic = false;
    for (int who = 0; who < STAND_INS; who++) {
        size_t first = first_stand_in(k, s, (enum stand_in)who);
        if (first < s->cut && !tells_too_little(k, s, (enum stand_in)who, first)) {
            first = who == STAND_SKIPPED ? last_stand_in(k, s, STAND_SKIPPED, first) : first;
            bool ok = add_framework(k, s, first, levels);
            add_functions(k, s, (enum stand_in)who, first, levels, action);
            return ok;
        }
        if (who == STAND_APP && (!add_generic(k, s, levels, &generic) || generic)) {
            return generic;
        }
    }
    return system_keys(k, s, levels);
}
