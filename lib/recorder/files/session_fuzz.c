/* Reads any bytes as the record of a session that a dead process left. The next start takes the
 * record over if it ends with a line feed; whatever it says, each line of a batch with it begins an
 * object, and there are as many lines as the batch reports. */
#include <zlib.h>

#include "files/folder_support_fuzz.h"
#include "files/session.h"
#include "stallrec.h"

#define LIVE  ".session-20261121T100000.000Z-5c5c5c5c.live"
#define FINAL "session-20261121T100000.000Z-5c5c5c5c.json"
#define GOOD  "session-20261121T110000.000Z-0a1b2c3d.json"

/* Returns the number of lines of a gzip file, and checks that each line begins with '{'. */
static unsigned count_lines(const char *path) {
    unsigned lines = 0;
    bool begins = true;
    gzFile file = gzopen(path, "rb");
    require(file != NULL);
    for (int c; (c = gzgetc(file)) != -1;) {
        require(!begins || c == '{');
        begins = c == '\n';
        lines += begins;
    }
    require(begins && gzclose(file) == Z_OK);
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[] = "/tmp/stallrec-session-XXXXXX";
    int dir = make_folder(path);
    put(dir, LIVE, data, size);
    put(dir, GOOD, "{}\n", 3);
    rec_session_recover(dir);
    bool taken = size > 0 && data[size - 1] == '\n';
    require(!has(dir, LIVE));
    require(has(dir, FINAL) == taken);
    struct stallrec_batch batch = {.size = sizeof batch};
    require(stallrec_batch_next(path, 1 << 24, &batch) == STALLREC_OK);
    require(batch.dumps == 0 && batch.sessions >= 1 && batch.sessions <= 1 + (uint32_t)taken);
    require(count_lines(batch.path) == batch.sessions);
    require(stallrec_batch_done(path, batch.id) == STALLREC_OK);
    unlinkat(dir, FINAL, 0); /* a damaged session stays in the folder */
    close(dir);
    require(rmdir(path) == 0);
    return 0;
}
