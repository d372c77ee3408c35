/* Rule sets: texts in which people write how triage classifies a frame. The language is
 * stall-rules(5).
 *
 * frame_info asks the rules once per distinct function and keeps the answer (its name, side, place
 * and cause) in struct frame_info, which keys and causes read. A rule gives the meaning of a frame,
 * its confidence and the words for it; facts other than frames, such as owners of locks, CPU time
 * and the kind of stall, are used by cause.c. */
#ifndef STALLKIT_CLASSIFY_RULES_H
#define STALLKIT_CLASSIFY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "classify/rules/causes.h"
#include "classify/rules/pattern.h"

/* The kinds of decision that a rule can make. For each kind, the first rule that matches a frame
 * decides, in the order of loading. */
enum rule_kind {
    RULE_NORMALISE, /* gives the function another name */
    RULE_SIDE,      /* decides whose code a function is: in-app, not-in-app, vendor */
    RULE_PLACE,     /* decides the frame's place in a key: keep, skip, prefix, cut */
    RULE_CAUSE,
    RULE_FRAMEWORK, /* names an image's framework, or marks the image as runtime code */
    RULE_CALLOUT,   /* marks a function that calls code that was passed to it as a callback */
    RULE_HIDE,      /* removes frames from all stacks, such as the recorder's own */
    RULE_EXCLUSIVE, /* marks a function that waits for something that only one thread at a time can
                       hold */
    RULE_HOLDER,    /* marks a function that runs while its thread holds the lock of a database */
    RULE_MEMORY,    /* marks a function that touches memory and makes no system call */
    /* Marks a function that waits, for the reason that its cause gives, and does no work itself. */
    RULE_WAIT,
    RULE_KERNEL, /* marks a function that is a system call, or makes one, in which a thread can wait
                  */
    RULE_USER,   /* marks a function that makes no system call, though a RULE_KERNEL rule matches */
    RULE_KINDS
};

/* The place of a frame in the key. */
enum rule_place {
    PLACE_KEEP = 0, /* relevant; the default if no rule matches */
    PLACE_SKIP,     /* in no key, unless a frame of the app has to stand in for others */
    PLACE_PREFIX,   /* part of the key, but not counted among key_options.wanted */
    PLACE_CUT       /* this frame and its callers are no evidence about the stall */
};
/* Returns the word for a place: "keep", "skip" … */
const char *rule_place_text(enum rule_place p);

/* The owner of the code of a frame. */
enum rule_side {
    SIDE_SYSTEM = 0, /* code of the system, or of unknown origin */
    SIDE_VENDOR,     /* code of a known maker of libraries, inside the app or not */
    SIDE_APP
};

enum { CONFIDENCE_DEFAULT = 800 }; /* confidence of a cause, in permille, whose rule gives none */

/* The system of a frame or of a rule. OS_ANY: the rule is for all systems, or the frame's system is
 * unknown. */
enum rule_os { OS_ANY = 0, OS_DARWIN, OS_LINUX };

/* The property of an image that a condition of the clause `in` is about: its name, path or id. */
enum rule_image_by { IMAGE_BY_NAME, IMAGE_BY_PATH, IMAGE_BY_ID };
struct rule_image {
    enum rule_image_by by;
    struct pattern pattern;
};

struct rule {
    enum rule_kind kind;

    /* The members up to `modal` are the decision. */
    enum rule_place place; /* place that a RULE_PLACE rule gives */
    enum rule_side side;   /* side that a RULE_SIDE rule gives */
    const char *vendor;    /* vendor's name, if side is SIDE_VENDOR */
    enum rule_cause cause; /* cause that a RULE_CAUSE rule gives */
    unsigned confidence;   /* confidence of the cause, in permille */
    const char *reason;    /* reason of the cause as text; never NULL */
    /* New name that a RULE_NORMALISE rule gives. Each * in it stands for the text that the
     * pattern's only * matched, or, if the pattern has none, for the whole name. */
    const char *replacement;
    /* With RULE_FRAMEWORK: public name of the framework; "" = runtime code, which is no framework.
     * With RULE_HOLDER: the database's framework. */
    const char *framework;
    /* With RULE_PLACE: the function runs a nested loop that waits for the user, as the outermost
     * loop does. */
    bool modal;

    /* The members from here on are the conditions for a match. */
    struct pattern function;
    bool unresolved; /* the rule matches frames without a name, and `function` is not used */
    struct rule_image *images; /* one of these must match the image; image_count 0 = any image */
    size_t image_count;
    bool by_place;   /* one of `images` is a path or an id, see rules_match_image */
    unsigned sides;  /* bits 1 << enum rule_side of the sides that match; 0 = any */
    enum rule_os os; /* the frame's system; OS_ANY = any */
    /* One of these patterns must match the calling function; caller_count 0 = any function. */
    struct pattern *callers;
    size_t caller_count;
    /* One of these patterns must match the framework that made the call, or its image;
     * framework_count 0 = any framework. */
    struct pattern *frameworks;
    size_t framework_count;

    const char *file; /* file, and line from 1 up, in which the rule was written */
    uint32_t line;
    size_t next; /* private: index of the next rule with the same exact name; SIZE_MAX = none */
};

/* The facts about a frame that rules are matched with. */
struct rule_subject {
    const char *function; /* normalised name; NULL = unresolved */
    size_t function_len;
    /* Function with its module, if that is known; else NULL. A rule may match either of the two
     * names. */
    const char *qualified;
    size_t qualified_len;
    const char *image; /* normalised image name, "?" = no image */
    size_t image_len;
    enum rule_side side;
    enum rule_os os;
    bool caller_known;  /* false: rules with the clauses `from` and `under` do not match */
    const char *caller; /* normalised function of the next frame outwards; NULL = there is none, or
                           it has no name */
    size_t caller_len;
    /* Framework and image of the nearest frame outwards that is not runtime code; NULL = there is
     * none, or a callout lies between. */
    const char *under, *under_image;
};

/* The facts about an image as a whole. Texts are NULL if unknown. */
struct rule_image_subject {
    const char *name; /* normalised name */
    const char *path; /* path as in the dump */
    const char *id;   /* id as image_id_text writes it */
    enum rule_os os;
};

struct rules;

/* Makes an empty set, in which every frame is kept. */
enum st rules_new(struct rules **out, struct err *e) BASE_MUST_USE;
/* Frees a set, which may be NULL. */
void rules_free(struct rules *r);
/* Appends the rules of a text; `file` is its name in errors ("FILE:LINE: …") and is copied. On
 * ST_ERR (a malformed line, a text of more than 4 MiB, out of memory) the set can only be freed. */
enum st rules_add(struct rules *r, const char *file, const char *text, size_t len,
                  struct err *e) BASE_MUST_USE;
/* Appends the rules of the built-in rule files. ST_ERR: out of memory. */
enum st rules_add_builtin(struct rules *r, struct err *e) BASE_MUST_USE;

/* Returns the first rule of the kind that matches, or NULL. *by_caller (may be NULL) is set to true
 * if the result depends on callers and the subject does not have them; else it is unchanged. The
 * rule is borrowed until rules_free. Rules by path or id are never returned. Thread safe. */
const struct rule *rules_match(const struct rules *r, enum rule_kind kind,
                               const struct rule_subject *s, bool *by_caller);
/* Returns the first RULE_SIDE rule by path or id that matches the image, or NULL. If rules_match
 * returns a rule, too, the earlier of the two decides (rules_index). */
const struct rule *rules_match_image(const struct rules *r, const struct rule_image_subject *s);
/* Do rules name functions of this image as loops that wait for work? Thread safe. */
bool rules_is_loop_image(const struct rules *r, const char *image, size_t len, enum rule_os os);
/* Returns the position of a rule of this set in the order of loading; SIZE_MAX for NULL. */
size_t rules_index(const struct rules *r, const struct rule *rule);

size_t rules_count(const struct rules *r);
/* Returns rule i < rules_count in the order of loading. */
const struct rule *rules_at(const struct rules *r, size_t i);
/* Returns a hash that is equal for two sets of the same rules in the same order, whatever their
 * comments, reasons and file names. It changes with the name normaliser, with the meaning of rules
 * and with the making of keys, too. */
uint64_t rules_hash(const struct rules *r);

#endif
