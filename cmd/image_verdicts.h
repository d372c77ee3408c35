/* What stallsym found for the images of a run: the table of its summary, --require-symbols and
 * --missing-out. */
#ifndef STALLKIT_CMD_IMAGE_VERDICTS_H
#define STALLKIT_CMD_IMAGE_VERDICTS_H

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "cli.h"
#include "dump/dump.h"

/* An image and its verdict. */
struct seen_image {
    const char *name; /* and id, and architecture; owned by image_verdicts.keys */
    enum dump_symbols symbols;
    const char *file; /* owned by the symbolizer */
    bool in_app;
};

/* Zero-initialised = none seen. */
struct image_verdicts {
    struct map keys;
    VEC(struct seen_image) images;
    bool lacks_any, lacks_app; /* an image, one of the app, without debug info */
    bool list_missing;         /* keep what image_verdicts_write needs */
    struct map missing;        /* lines, each behind '0' (app) or '1' */
    bool failed;               /* a line is lost: out of memory */
};

/* Notes the images of a symbolicated dump. */
void image_verdicts_note(struct image_verdicts *v, const struct dump *d);
/* How many images have each verdict: "1 ok, 5 missing"; nothing for none. */
void image_verdicts_count(const struct image_verdicts *v, struct strbuf *out);
/* Says which images somebody may want to know about, those of the app first. */
void image_verdicts_say(const struct image_verdicts *v, const char *tool);
/* Writes the images without debug info to a file (man page stallsym(1), --missing-out). */
void image_verdicts_write(const struct image_verdicts *v, const char *path,
                          struct cli_failures *failures);
void image_verdicts_release(struct image_verdicts *v);

#endif
