/* Between the rule set and its parser. */
#ifndef STALLKIT_CLASSIFY_RULES_PRIVATE_H
#define STALLKIT_CLASSIFY_RULES_PRIVATE_H

#include "base/strbuf.h"
#include "classify/rules.h"

/* Takes a finished rule (its pointers in the set's arena); false when memory runs out. */
bool rules_append(struct rules *r, const struct rule *rule);
struct arena *rules_arena(struct rules *r);
/* The text that rules_hash is made of: the parser adds each rule's canonical form. */
struct strbuf *rules_canonical(struct rules *r);

#endif
