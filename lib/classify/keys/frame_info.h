/* The keyer's cache: the facts about each distinct (image, function), and their look-up for a
 * dump's frame. */
#ifndef STALLKIT_CLASSIFY_FRAME_INFO_H
#define STALLKIT_CLASSIFY_FRAME_INFO_H

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/keys/key.h"
#include "dump/frame_address.h"

/* The facts about an image. */
struct image_facts {
    enum rule_os os;
    const struct rule
        *rule;        /* the rule that decided the image's side, by path or id; NULL = none */
    const char *head; /* how what tells its frames from others begins; equal ones are one */
    size_t head_len;
    size_t code; /* number of its head and its id: they tell its frames without names from others */
};

/* A frame, and an image, that was looked for lately, in the place that a quick hash gives it. */
struct recent_frame {
    const char *head;     /* of its image; NULL = it has no name */
    const char *function; /* of by_raw: its name, and behind one more byte its linkage name */
    size_t function_len, linkage_len;
    size_t code;             /* of one without a name: of its image; … */
    uint64_t offset;         /* … and where it is in that */
    struct frame_info *info; /* NULL = none */
};
struct recent_image {
    const char *text; /* of by_image */
    size_t len;
    const struct image_facts *facts; /* NULL = none */
};
enum {
    FRAMES_RECENT = 1 << 14,
    IMAGES_RECENT = 512,
    IMAGES_KNOWN_MAX = 1 << 15 /* each device has its own paths of apps; all are forgotten then */
};

struct frame_table {
    const struct rules *rules;      /* NULL = raw */
    enum rule_os os;                /* of the dump at hand */
    struct address_rules addresses; /* of the dump at hand */
    bool startless;                 /* starts of functions without a name are not to be known */
    VEC(const struct image_facts *) images; /* of the dump at hand, NULL = not looked for yet */
    VEC(const struct image_facts *) known_images;
    struct arena image_arena; /* of these, but for their heads */
    struct map by_image;      /* what a dump says of an image -> index into known_images */
    struct map heads, codes;  /* of image_facts */
    struct recent_frame recent[FRAMES_RECENT];
    struct recent_image recent_images[IMAGES_RECENT];
    struct map by_raw;    /* what the dump says -> index into infos */
    struct map by_key;    /* image and function of a key -> index of the canonical info */
    struct map by_caller; /* two indexes: a frame and its caller -> index of what it is then */
    VEC(struct frame_info *) infos;
    struct arena arena;
    struct strbuf raw, image, function, full, qualified; /* scratch */
};

void frame_table_release(struct frame_table *t);
/* Before a dump's first frame. False = out of memory. */
bool frame_table_begin(struct frame_table *t, const struct dump *d);
/* The info of a symbolicated location; NULL = out of memory. */
struct frame_info *frame_of_location(struct frame_table *t, const struct dump *d,
                                     const struct dump_location *l);
/* The info of one of its lines: a function that was inlined there, or the real one. */
struct frame_info *frame_of_line(struct frame_table *t, const struct dump *d,
                                 const struct dump_location *l, size_t line);
/* The info of frame i of a stack that has no locations. */
struct frame_info *frame_of_address(struct frame_table *t, const struct dump *d,
                                    const struct dump_stack *s, size_t i);
/* The info of what the generic of an app's frame was made for (info->made_for, not NULL), as if it
 * was a frame. */
struct frame_info *frame_of_type(struct frame_table *t, const struct frame_info *info);
/* The frame that stands in keys for a whole library, which info is of: without a function. NULL =
 * out of memory. */
struct frame_info *frame_of_library(struct frame_table *t, const struct frame_info *info,
                                    const char *name);
/* The frame that stands in keys for what has a name and is no function: the action, or the thread,
 * of this name. kind: "action", "thread". NULL = out of memory. */
struct frame_info *frame_of_name(struct frame_table *t, const char *kind, const char *name);
/* The info of a frame that `caller` (NULL = nobody) called: info itself unless info->by_caller.
 * NULL = out of memory. */
struct frame_info *frame_from(struct frame_table *t, struct frame_info *info,
                              const struct frame_info *caller);

#endif
