/* Declares the keyer's cache: the facts about each distinct (image, function), and their look-up
 * for a frame of a dump. */
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
    const struct rule *rule; /* rule that decided the image's side, by path or id; NULL = none */
    /* The image as a whole is the app's, by a rule, or, if none says whose it is, by the dump. */
    bool in_app;
    /* Beginning of the texts that identify the image's frames; equal heads are one pointer. */
    const char *head;
    size_t head_len;
    /* Number of (head, id), which identifies the image's frames without names. */
    size_t code;
};

/* A cache entry: a frame, or an image, that was looked up recently, at the index of its quick
 * hash. */
struct recent_frame {
    const char *head; /* as in struct raw_frame; NULL = the frame has no name */
    /* Part of a key of by_raw: the name, and one byte after it the linkage name. */
    const char *function;
    size_t function_len, linkage_len;
    size_t code;     /* for a frame without a name: its raw_frame_code */
    uint64_t offset; /* for a frame without a name: the frame's offset in the image, in bytes */
    struct frame_info *info; /* info of the frame; NULL = the entry is empty */
};
struct recent_image {
    const char *text; /* a key of by_image */
    size_t len;
    const struct image_facts *facts; /* facts about the image; NULL = the entry is empty */
};
/* A cache entry: a source file of the current dump, as a pointer, and the library it is of. */
struct recent_file {
    const char *file; /* NULL = the entry is empty */
    const struct image_facts *facts;
    const char *head; /* head of the file's frames in the image */
    size_t head_len;
    const char *package; /* NULL = the file is of no library that is known */
    size_t package_len;
};
enum {
    FRAMES_RECENT = 1 << 14,
    FILES_RECENT = 64,
    IMAGES_RECENT = 512,
    /* If at least this many images are known when a dump begins, all are forgotten. There may be
     * many, because each device has its own paths of apps. */
    IMAGES_KNOWN_MAX = 1 << 15
};

struct frame_table {
    const struct rules *rules;      /* rules; NULL = keys by the published rule */
    enum rule_os os;                /* operating system of the current dump */
    struct address_rules addresses; /* address format of the current dump */
    bool startless;                 /* the keys are made as if starts of functions without a name
                                       were unknown */
    VEC(const struct image_facts *)
    images; /* facts about the current dump's images,
               by image; NULL = not looked up yet */
    VEC(const struct image_facts *) known_images;
    struct arena image_arena; /* memory of known_images, except for their heads */
    struct map by_image;      /* key: text of a dump about an image; value: index in known_images */
    struct map heads, codes;  /* heads of image_facts and of recent_file; codes of image_facts */
    struct recent_frame recent[FRAMES_RECENT];
    struct recent_image recent_images[IMAGES_RECENT];
    struct recent_file recent_files[FILES_RECENT];
    struct map by_raw; /* key: text of a dump about a frame; value: index in infos */
    struct map by_key; /* key: image and function as in a key; value: index in infos of the
                          canonical info */
    /* Key: indexes in infos of a frame, of the canonical info of its frame_callers.next, and of its
     * frame_callers.under itself, SIZE_MAX = none; value: index in infos of the frame with these
     * callers. */
    struct map by_caller;
    VEC(struct frame_info *) infos;
    /* Info of one frame without a name of each image, by raw_frame_code; NULL = none is made. */
    VEC(struct frame_info *) nameless;
    struct arena arena;
    struct strbuf raw, image, function, full, qualified; /* scratch buffers */
};

/* Frees the members of the table, which must not be used afterwards. */
void frame_table_release(struct frame_table *t);
/* Prepares the table for a dump, before its first frame. False: out of memory. */
bool frame_table_begin(struct frame_table *t, const struct dump *d);
/* Returns the info of the last line of a location, which is the function into which those of the
 * other lines were inlined, or, if the location has no lines, of a nameless frame; NULL: out of
 * memory. */
struct frame_info *frame_of_location(struct frame_table *t, const struct dump *d,
                                     const struct dump_location *l);
/* Returns the info of one line of a location, a function that was inlined there or the function
 * itself. It is that of a nameless frame if the location has no such line, or if the name is a
 * report's and lies too far from its function. NULL: out of memory. */
struct frame_info *frame_of_line(struct frame_table *t, const struct dump *d,
                                 const struct dump_location *l, size_t line);
/* Returns the info of frame i of a stack that has no locations, by the name that came with the
 * dump; without a name, or if that lies too far from its function, of a nameless frame. NULL: out
 * of memory. */
struct frame_info *frame_of_address(struct frame_table *t, const struct dump *d,
                                    const struct dump_stack *s, size_t i);
/* Returns the info of a type, as if the type was a frame: the type for which a generic function in
 * the app was made (info->made_for, not NULL). NULL: out of memory. */
struct frame_info *frame_of_type(struct frame_table *t, const struct frame_info *info);
/* Returns the info of a function of the app as one of a linked library, of the owner of its Java
 * package; info->owner_len must not be 0. NULL: out of memory. */
struct frame_info *frame_as_linked(struct frame_table *t, struct frame_info *info);
/* Returns the info, as one of the app, of a function that info->linked makes one of a linked
 * library by its source file. NULL: out of memory. */
struct frame_info *frame_as_app(struct frame_table *t, struct frame_info *info);
/* Returns the info that stands for a whole library in keys; it has no function. info: a frame of
 * that library. name: the library's name in keys. NULL: out of memory. */
struct frame_info *frame_of_library(struct frame_table *t, const struct frame_info *info,
                                    const char *name);
/* Returns the info that stands in keys for a name that is not a function's, such as that of an
 * action, a thread, a lock or a kind of wait. kind: the word in place of the image: "action",
 * "thread", "wait" or another HOLDER_... word. Control characters of the name become spaces. NULL:
 * out of memory. */
struct frame_info *frame_of_name(struct frame_table *t, const char *kind, const char *name);
/* The frames further out on which a frame's rules may depend. */
struct frame_callers {
    const struct frame_info *next;  /* the calling function, or a named frame further out that
                                       stands for it; NULL = there is none */
    const struct frame_info *under; /* a frame of the framework that made the call; NULL = none */
};
/* Returns the info that a frame has with these callers; it is `info` itself, which may be NULL,
 * unless info->by_caller. NULL: out of memory. */
struct frame_info *frame_from(struct frame_table *t, struct frame_info *info,
                              const struct frame_callers *callers);

#endif
