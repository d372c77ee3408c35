/* Sorted orders by which a dump finds its images and threads. */
#ifndef STALLKIT_DUMP_PRIVATE_H
#define STALLKIT_DUMP_PRIVATE_H

#include "dump/dump.h"

/* An element of the images sorted by (load, index), for dump_image_at. */
struct dump_image_order {
    uint64_t load;
    uint32_t index;
};

/* An element of the threads sorted by (id, index), for dump_thread_by_id. */
struct dump_thread_order {
    int64_t id;
    uint32_t index;
};

/* Fills order[count] with the images sorted by (load, index). */
void dump_order_images(const struct dump_image *images, size_t count,
                       struct dump_image_order *order);
/* Fills order[count] with the threads sorted by (id, index). */
void dump_order_threads(const struct dump_thread *threads, size_t count,
                        struct dump_thread_order *order);

#endif
