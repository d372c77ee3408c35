/* Colours frames of the picture: for stallflame --colors=cause by their causes; for --by=holder the
 * frames of the thread that holds a lock. */
#ifndef STALLKIT_CMD_FLAME_CAUSES_H
#define STALLKIT_CMD_FLAME_CAUSES_H

#include "base/strbuf.h"
#include "classify/rules/rules.h"
#include "flame/svg/svg.h"

struct flame_causes {
    struct svg_marks marks;    /* for svg_options; valid until flame_causes_release */
    const struct rules *rules; /* private, as the members below */
    struct svg_key keys[CAUSE_COUNT];
    uint32_t label_depth;
    struct strbuf path; /* causes of the frames from the outermost to the last, a byte each */
    struct strbuf function, image;
};

/* Starts to colour by causes. rules are borrowed until flame_causes_release. label_depth is the
 * depth of the labels of --by=cause, 1 = the outermost frame; 0 = there are none. */
void flame_causes_start(struct flame_causes *c, const struct rules *rules, uint32_t label_depth);
/* Frees the texts of *c. */
void flame_causes_release(struct flame_causes *c);

/* The marks of --by=holder: the frames of a holder, and the mark between them and the frames of
 * the waiting thread, have colours of their own. */
struct flame_holder_marks {
    struct svg_marks marks; /* for svg_options; valid as long as this struct */
    struct svg_key keys[2]; /* private, as depth */
    uint32_t depth;         /* depth of the outermost mark that is the last frame or a caller of it;
                               0 = there is none */
};
/* Fills *h, which must then stay where it is. */
void flame_holder_marks_start(struct flame_holder_marks *h);

#endif
