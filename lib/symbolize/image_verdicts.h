/* Counts the verdicts on the images of many dumps, and lists the images that need attention and
 * those without debug info. */
#ifndef STALLKIT_SYMBOLIZE_IMAGE_VERDICTS_H
#define STALLKIT_SYMBOLIZE_IMAGE_VERDICTS_H

#include <stdbool.h>

#include "base/map.h"
#include "base/sink.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "dump/dump.h"

/* An image and its verdict. */
struct seen_image {
    const char *name; /* text "NAME ID ARCH", without ARCH if that is unknown, with "?" for an
                         unknown NAME; owned by image_verdicts.keys */
    enum dump_symbols symbols;
    const char *file; /* owned by the symbolizer */
    bool in_app;
};

/* The verdicts of a run. Zero-initialised = empty. */
struct image_verdicts {
    struct map keys;
    VEC(struct seen_image) images;
    bool lacks_any, lacks_app; /* an image, or one of the app, is not `ok` */
    bool list_missing;         /* keep the lines that image_verdicts_write needs */
    struct map missing; /* lines of image_verdicts_write, each with a '0' (image of the app) or '1'
                           in front, so that the app's sort first */
    bool failed;        /* an image or line was lost: out of memory */
};

/* Notes the images of a symbolicated dump; a lack of memory sets v->failed. */
void image_verdicts_note(struct image_verdicts *v, const struct dump *d);
/* Appends how many images have each verdict: "1 ok, 5 missing"; nothing if there are no images. */
void image_verdicts_count(const struct image_verdicts *v, struct strbuf *out);
/* Calls `say` with a line for each image that needs attention (its verdict is not `ok`, nor
 * `missing` for a system image), those of the app first; after 20 images one more line has the
 * number of the rest. `say` borrows the line. */
void image_verdicts_list(const struct image_verdicts *v, void (*say)(void *ctx, const char *line),
                         void *ctx);
/* Collects the paths, those that begin with '/', of the files of images that have only symbols or
 * no debug info, at most `max`, in the order in which the images were noted; returns how many. A
 * path may be one of an earlier run's host, or mapped (symbolizer_use_paths). The paths are
 * borrowed; the symbolizer that gave v its verdicts owns them. */
size_t image_verdicts_bare_files(const struct image_verdicts *v, const char **files, size_t max);
/* Writes the images without debug info (man page stallsym(1), --missing-out); list_missing must
 * have been set before the images were noted. ST_ERR: out of memory, now or while they were noted.
 * Errors of writing stick to the sink. */
enum st image_verdicts_write(const struct image_verdicts *v, struct sink *out,
                             struct err *e) BASE_MUST_USE;
/* Frees what v holds; *v is not to be used after it. */
void image_verdicts_release(struct image_verdicts *v);

#endif
