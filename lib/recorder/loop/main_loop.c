/* The loop of the thread on which the recorder was started. Hooks keep using it after
 * stallrec_stop, and there is one recorder per process. */
#include "stallrec.h"

static struct stallrec_loop main_loop;

struct stallrec_loop *stallrec_main_loop(struct stallrec *rec) {
    (void)rec;
    return &main_loop;
}
