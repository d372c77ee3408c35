/* Keeps the build-ids of the modules in dumps, for formats that have a place for them. Not thread
 * safe. */
#ifndef STALLKIT_FLAME_IMAGE_IDS_H
#define STALLKIT_FLAME_IMAGE_IDS_H

#include "base/map.h"
#include "dump/dump.h"

/* Modules and their ids. Zero-initialised = empty. */
struct image_ids {
    struct map names; /* module -> index into ids */
    struct map ids;
};

/* Adds the ids of a dump's images, under the module names that fold_add gives to frames. ST_ERR:
 * ERR_NOMEM. */
enum st image_ids_add(struct image_ids *ids, const struct dump *d, struct err *e) BASE_MUST_USE;
/* Returns the id of a module as lower-case hex digits; "" if none is known, or several are, as in
 * dumps of several versions of an app. The id is borrowed until the next image_ids_add. The
 * function can be used as pprof_options.build_id. */
const char *image_ids_find(void *ids, const char *module, size_t len);
void image_ids_release(struct image_ids *ids);

#endif
