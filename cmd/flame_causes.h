/* Marks for the picture: stallflame --colors=cause, frames in the colour of the cause that they
 * show; --by=holder, the frames of who holds a lock. */
#ifndef STALLKIT_CMD_FLAME_CAUSES_H
#define STALLKIT_CMD_FLAME_CAUSES_H

#include "base/strbuf.h"
#include "classify/rules/rules.h"
#include "flame/svg/svg.h"

struct flame_causes {
    struct svg_marks marks;    /* for svg_options; valid until flame_causes_release */
    const struct rules *rules; /* private from here */
    struct svg_key keys[CAUSE_COUNT];
    uint32_t label_depth;
    struct strbuf path; /* one byte per frame, from the outermost to the last: its cause */
    struct strbuf function, image;
};

/* rules: borrowed until flame_causes_release. label_depth: where --by put the causes themselves, 1
 * = the outermost frame; 0 = nowhere. */
void flame_causes_start(struct flame_causes *c, const struct rules *rules, uint32_t label_depth);
void flame_causes_release(struct flame_causes *c);

/* The frames of a holder, and what stands between them and those of who waits, have colours of
 * their own. */
struct flame_holder_marks {
    struct svg_marks marks; /* for svg_options; valid as long as this */
    struct svg_key keys[2]; /* private from here */
    uint32_t depth;         /* of the mark that the last frame stands on; 0 = on none */
};
void flame_holder_marks_start(struct flame_holder_marks *h);

#endif
