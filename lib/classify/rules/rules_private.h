/* Declares the interface between the rule set, its parser and its index. */
#ifndef STALLKIT_CLASSIFY_RULES_PRIVATE_H
#define STALLKIT_CLASSIFY_RULES_PRIVATE_H

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/rules/rules.h"

/* Indexes of rules in ascending order. */
struct rule_list {
    size_t *data;
    size_t len, cap;
};

/* The index of the rules of one kind. Each rule is filed in one of the members, by its most
 * specific property; in by_image it is filed under the first byte of each of its images. */
struct kind_index {
    struct map exact; /* key: function without wildcards; value: its first rule; rule.next chains
                         the others */
    struct rule_list by_first[256];  /* rules whose glob begins with this byte */
    struct rule_list by_image[256];  /* rules by image that are not in the members above, by the
                                        first byte of the image */
    struct rule_list others, places; /* others: all remaining rules; places: rules by path or id */
};

struct rules {
    VEC(struct rule) rules;
    struct kind_index kinds[RULE_KINDS];
    struct rule_list loops; /* rules by image that name loops that wait for work */
    struct arena arena;
    struct strbuf canonical; /* input of rules_hash, to which the parser appends each rule */
};

/* Appends a finished rule, whose pointers are in the set's arena. False: out of memory. */
bool rules_append(struct rules *r, const struct rule *rule);
/* A callback that receives each malformed line. With on_bad NULL, rules_read appends rules as
 * rules_add does; otherwise it passes malformed lines to on_bad and leaves them out. */
typedef void (*rules_on_bad)(void *ctx, uint32_t line, const struct err *why);
enum st rules_read(struct rules *r, const char *file, const char *text, size_t len,
                   rules_on_bad on_bad, void *ctx, struct err *e) BASE_MUST_USE;

#endif
