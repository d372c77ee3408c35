/* Between the rule set, its parser and its index. */
#ifndef STALLKIT_CLASSIFY_RULES_PRIVATE_H
#define STALLKIT_CLASSIFY_RULES_PRIVATE_H

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/rules/rules.h"

/* Indexes of rules, ascending. */
struct rule_list {
    size_t *data;
    size_t len, cap;
};

/* The index of the rules of one kind: each rule is filed once (by image once per image), under its
 * most specific property. */
struct kind_index {
    struct map exact;                /* function -> its first rule, chained through `next` */
    struct rule_list by_first[256];  /* a glob that begins with this byte */
    struct rule_list by_image[256];  /* else: images that begin with this byte */
    struct rule_list others, places; /* else; rules by path or id */
};

struct rules {
    VEC(struct rule) rules;
    struct kind_index kinds[RULE_KINDS];
    struct rule_list loops; /* those that name loops that wait for work, by image */
    struct arena arena;
    struct strbuf canonical; /* input of the hash: the parser adds each rule */
};

/* Takes a finished rule (its pointers in the set's arena); false when memory runs out. */
bool rules_append(struct rules *r, const struct rule *rule);
/* As rules_add; with on_bad, a bad line is reported and left out. */
typedef void (*rules_on_bad)(void *ctx, uint32_t line, const struct err *why);
enum st rules_read(struct rules *r, const char *file, const char *text, size_t len,
                   rules_on_bad on_bad, void *ctx, struct err *e) BASE_MUST_USE;

#endif
