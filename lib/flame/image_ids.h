/* The build-ids of the modules in dumps, for formats that name them. Not thread safe. */
#ifndef STALLKIT_FLAME_IMAGE_IDS_H
#define STALLKIT_FLAME_IMAGE_IDS_H

#include "base/map.h"
#include "dump/dump.h"

/* Zero-initialised = empty. */
struct image_ids {
    struct map names; /* module -> index in ids */
    struct map ids;
};

/* Notes the images of a dump by the module names that fold_add gives their frames. ERR_NOMEM. */
enum st image_ids_add(struct image_ids *ids, const struct dump *d, struct err *e) BASE_MUST_USE;
/* The id of a module as lower-case hex digits, "" if none is known, or more than one: dumps of
 * several versions of an app. Its type fits pprof_options. Borrowed until the next change. */
const char *image_ids_find(void *ids, const char *module, size_t len);
void image_ids_release(struct image_ids *ids);

#endif
