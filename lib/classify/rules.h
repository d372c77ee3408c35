/* Rule sets: what triage makes of a frame, as text that people write. The language is
 * stall-rules(5). */
#ifndef STALLKIT_CLASSIFY_RULES_H
#define STALLKIT_CLASSIFY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "classify/pattern.h"

/* What a rule decides. For each kind the first rule that matches a frame wins, in the order of
 * loading. */
enum rule_kind {
    RULE_NORMALISE, /* another name for the function */
    RULE_PLACE,     /* keep, skip, prefix, cut */
    RULE_IN_APP,    /* in-app, not-in-app */
    RULE_CAUSE,
    RULE_KINDS
};

/* A frame's place in the key. */
enum rule_place {
    PLACE_KEEP = 0, /* relevant; also what no rule matches */
    PLACE_SKIP,     /* never in a key */
    PLACE_PREFIX, /* in the key, and the key goes on: it does not count as one of the two or four */
    PLACE_CUT     /* it and its callers say nothing about the stall */
};

/* What a frame near the top of the stack tells about why the thread does not get on. */
enum rule_cause {
    CAUSE_NONE = 0,
    CAUSE_LOCK,
    CAUSE_DISK,
    CAUSE_NETWORK,
    CAUSE_IO, /* a read or write whose target the frame does not tell */
    CAUSE_IPC,
    CAUSE_RENDER,
    CAUSE_SLEEP,
    CAUSE_LAUNCH,
    CAUSE_IDLE, /* the loop that waits for work: nothing inside it = no stall */
    CAUSE_COUNT
};
/* "lock", "disk" …; "" for none. */
const char *rule_cause_text(enum rule_cause c);

struct rule {
    enum rule_kind kind;
    enum rule_place place; /* RULE_PLACE */
    bool in_app;           /* RULE_IN_APP */
    enum rule_cause cause; /* RULE_CAUSE */
    const char
        *replacement; /* RULE_NORMALISE; its first * stands for what the pattern's * matched */
    struct pattern function;
    bool unresolved;        /* matches frames without a name, instead of `function` */
    struct pattern *images; /* one of them must match; image_count 0 = any image */
    size_t image_count;
    bool only_app, only_system; /* `in app`, `in system` */
    const char *file;           /* where it was written; line 1 … */
    uint32_t line;
    size_t next; /* private: the next rule with the same exact name, SIZE_MAX = none */
};

/* What a rule is asked about. */
struct rule_subject {
    const char *function; /* normalised; NULL = unresolved */
    size_t function_len;
    const char *image; /* normalised image name, "?" = no image */
    size_t image_len;
    bool in_app;
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

/* The first rule of the kind that matches, or NULL. Borrowed until rules_free. Thread safe. */
const struct rule *rules_match(const struct rules *r, enum rule_kind kind,
                               const struct rule_subject *s);

size_t rules_count(const struct rules *r);
/* Rule i < rules_count, in the order of loading. */
const struct rule *rules_at(const struct rules *r, size_t i);
/* Equal for two sets that decide alike rule by rule, whatever their comments and file names;
 * changes with the name normaliser too. */
uint64_t rules_hash(const struct rules *r);

#endif
