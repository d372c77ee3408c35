/* Rule sets: what triage makes of a frame, as text that people write. The language is
 * stall-rules(5).
 *
 * Who uses what: frame_info asks once per distinct function and keeps the answer (its name, side,
 * place and cause) in struct frame_info; keys and causes read those. What a cause needs beyond
 * frames, such as owners of locks, CPU time and the kind of stall, is not for rules: they only tell
 * what a frame says, how sure that is, and in which words. */
#ifndef STALLKIT_CLASSIFY_RULES_H
#define STALLKIT_CLASSIFY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "classify/rules/causes.h"
#include "classify/rules/pattern.h"

/* What a rule decides. For each kind the first rule that matches a frame wins, in the order of
 * loading. */
enum rule_kind {
    RULE_NORMALISE, /* another name for the function */
    RULE_SIDE,      /* in-app, not-in-app, vendor */
    RULE_PLACE,     /* keep, skip, prefix, cut */
    RULE_CAUSE,
    RULE_FRAMEWORK, /* framework, runtime */
    RULE_CALLOUT,   /* calls code that somebody handed over */
    RULE_HIDE,      /* in no stack: the recorder's own frame */
    RULE_EXCLUSIVE, /* waits for what one thread at a time holds */
    RULE_HOLDER,    /* runs while its thread holds the lock of a database */
    RULE_MEMORY,    /* touches memory, and makes no system call */
    RULE_WAIT,      /* waits for what its cause says, and does no work of its own */
    RULE_KINDS
};

/* A frame's place in the key. */
enum rule_place {
    PLACE_KEEP = 0, /* relevant; also what no rule matches */
    PLACE_SKIP,     /* never in a key */
    PLACE_PREFIX,   /* part of the key, but not counted as one of its two or four frames */
    PLACE_CUT       /* it and its callers say nothing about the stall */
};
/* "keep", "skip" … */
const char *rule_place_text(enum rule_place p);

/* The owner of a frame's code. */
enum rule_side {
    SIDE_SYSTEM = 0, /* of the system, or of unknown origin */
    SIDE_VENDOR,     /* of a known maker of libraries, inside the app or not */
    SIDE_APP
};

enum { CONFIDENCE_DEFAULT = 800 }; /* permille, of a cause whose rule does not say */

/* Which system a frame ran on; any: a rule for both, a frame of who knows which. */
enum rule_os { OS_ANY = 0, OS_DARWIN, OS_LINUX };

/* One condition of `in`. */
enum rule_image_by { IMAGE_BY_NAME, IMAGE_BY_PATH, IMAGE_BY_ID };
struct rule_image {
    enum rule_image_by by;
    struct pattern pattern;
};

struct rule {
    enum rule_kind kind;

    /* what it decides */
    enum rule_place place; /* RULE_PLACE */
    enum rule_side side;   /* RULE_SIDE */
    const char *vendor;    /* of SIDE_VENDOR: its name */
    enum rule_cause cause; /* RULE_CAUSE … */
    unsigned confidence;   /* … in permille … */
    const char *reason;    /* … and in words; never NULL */
    const char
        *replacement;      /* RULE_NORMALISE; its first * stands for what the pattern's * matched */
    const char *framework; /* RULE_FRAMEWORK: its public name; "" = the language's or the system's
                              runtime, which is no framework. RULE_HOLDER: the database's */
    bool modal; /* RULE_PLACE: a nested loop that waits for the user, as the outermost does */

    /* of which frames */
    struct pattern function;
    bool unresolved;           /* matches frames without a name, instead of `function` */
    struct rule_image *images; /* one of them must match; image_count 0 = any image */
    size_t image_count;
    bool by_place;           /* one of them is a path or an id: rules_match_image */
    unsigned sides;          /* bits 1 << enum rule_side; 0 = any */
    enum rule_os os;         /* OS_ANY = any */
    struct pattern *callers; /* the function that called must match one; caller_count 0 = any */
    size_t caller_count;

    const char *file; /* where it was written; line 1 … */
    uint32_t line;
    size_t next; /* private: the next rule with the same exact name, SIZE_MAX = none */
};

/* What a rule is asked about. */
struct rule_subject {
    const char *function; /* normalised; NULL = unresolved */
    size_t function_len;
    const char *qualified; /* the function with its module, where that is known; else NULL. A rule
                              on either matches */
    size_t qualified_len;
    const char *image; /* normalised image name, "?" = no image */
    size_t image_len;
    enum rule_side side;
    enum rule_os os;
    bool caller_known; /* else rules with `from` do not match */
    const char
        *caller; /* normalised function of the next frame outwards; NULL = none, or unresolved
                  */
    size_t caller_len;
};

/* The facts about an image as a whole. Texts are NULL where unknown. */
struct rule_image_subject {
    const char *name; /* normalised */
    const char *path; /* as in the dump */
    const char *id;   /* as image_id_text */
    enum rule_os os;
};

struct rules;

/* An empty set: every frame is kept. */
enum st rules_new(struct rules **out, struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void rules_free(struct rules *r);
/* Appends the rules of a text; `file` names it in errors ("FILE:LINE: …") and is copied. On ST_ERR
 * (a line that is no rule, memory) the set is only good for rules_free. */
enum st rules_add(struct rules *r, const char *file, const char *text, size_t len,
                  struct err *e) BASE_MUST_USE;
/* Appends the rule files that are compiled in. */
enum st rules_add_builtin(struct rules *r, struct err *e) BASE_MUST_USE;

/* The first rule of the kind that matches, or NULL. *by_caller (may be NULL) becomes true if that
 * depends on the caller, which the subject does not know; else it is left alone. Borrowed until
 * rules_free. Thread safe. Rules by path or id are never among the results. */
const struct rule *rules_match(const struct rules *r, enum rule_kind kind,
                               const struct rule_subject *s, bool *by_caller);
/* The first RULE_SIDE rule that names paths or ids and matches the image, or NULL. Where both this
 * and rules_match give a rule, the earlier one decides (rules_index). */
const struct rule *rules_match_image(const struct rules *r, const struct rule_image_subject *s);
/* Has this image a loop that waits for work, as rules name its functions? Thread safe. */
bool rules_is_loop_image(const struct rules *r, const char *image, size_t len, enum rule_os os);
/* The place of a rule of this set in the order of loading, SIZE_MAX for NULL. */
size_t rules_index(const struct rules *r, const struct rule *rule);

size_t rules_count(const struct rules *r);
/* Rule i < rules_count, in the order of loading. */
const struct rule *rules_at(const struct rules *r, size_t i);
/* Equal for two sets that decide alike rule by rule, whatever their comments, reasons and file
 * names; changes with the name normaliser too. */
uint64_t rules_hash(const struct rules *r);

#endif
