/* Reads any bytes as the list of a batch, and checks that only the batch and dumps and sessions of
 * the folder that may be sent are removed when the batch is done, whatever the list says. */
#include "files/folder_support_fuzz.h"
#include "stallrec.h"

#define ID      "0123456789abcdef0123456789abcdef"
#define LIST    ".stall-batch-" ID ".list"
#define CONTENT ".stall-batch-" ID ".jsonl.gz"

static const char *const kept[] = {"precious", ".stallrec-state", "stall-x.json",
                                   "stall-20261121T100000.123Z-0a1b2c3d-1-5f3a9c01.local.json"};
enum { KEPT = sizeof kept / sizeof *kept };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[] = "/tmp/stallrec-batch-XXXXXX";
    static const char dump[] = "stall-20261121T100000.123Z-0a1b2c3d-1-5f3a9c01.json";
    int dir = make_folder(path);
    for (int i = 0; i < KEPT; i++) {
        put(dir, kept[i], "x", 1);
    }
    put(dir, dump, "{}\n", 3);
    put(dir, LIST, data, size);
    put(dir, CONTENT, "x", 1);
    struct stallrec_batch batch = {.size = sizeof batch};
    require(stallrec_batch_next(path, 1024, &batch) == STALLREC_OK && strcmp(batch.id, ID) == 0);
    require(stallrec_batch_done(path, ID) == STALLREC_OK);
    require(!has(dir, LIST) && !has(dir, CONTENT));
    for (int i = 0; i < KEPT; i++) {
        require(has(dir, kept[i]));
        unlinkat(dir, kept[i], 0);
    }
    unlinkat(dir, dump, 0);
    close(dir);
    require(rmdir(path) == 0);
    return 0;
}
