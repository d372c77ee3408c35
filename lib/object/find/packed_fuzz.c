/* Takes any bytes as an archive. The results must be whole object files, and not exceed the limit
 * on their bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "object/object_private.h"
#include "object/find/packed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool condition) {
    if (!condition) {
        abort();
    }
}

static bool wants(void *ctx, const char *name) {
    uint64_t *asked = ctx;
    insist(name != NULL);
    return ++*asked % 8 != 7; /* some are not read */
}

static enum st take(void *ctx, const char *name, struct filemap *map, struct err *e) {
    (void)ctx;
    (void)e;
    insist(name && map->size >= 8);
    insist(elffile_is(map->data, map->size) || macho_is_thin(map->data, map->size) ||
           macho_is_universal(map->data, map->size));
    volatile uint8_t last = map->data[map->size - 1];
    (void)last;
    return ST_OK;
}

static void complain(void *ctx, const char *name, const struct err *why) {
    (void)ctx;
    insist(name && err_is(why));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t asked = 0;
    const struct packed_visitor visitor = {
        .ctx = &asked, .wants = wants, .take = take, .complain = complain};
    struct spill spill = {0};
    struct err e = {0};
    char path[32];
    FILE *file = tmpfile();
    if (!file || fwrite(data, 1, size, file) != size || fflush(file) != 0) {
        abort();
    }
    (void)snprintf(path, sizeof path, "/dev/fd/%d", fileno(file));
    enum st st = packed_read(path, &spill, &visitor, &e);
    /* ERR_NOMEM is allowed, because a member may make liblzma ask for gigabytes of memory. */
    insist(st != ST_ERR || (err_is(&e) && e.code != ERR_INTERNAL));
    insist(st != ST_NONE || asked == 0);
    spill_release(&spill);
    (void)fclose(file);
    return 0;
}
