/* Any bytes as the record of a session that a dead process left: the next start takes it over, and
 * whatever it says, a batch with it is lines of objects, as many as it tells of. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "session.h"
#include "stallrec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIVE  ".session-20261121T100000.000Z-5c5c5c5c.live"
#define FINAL "session-20261121T100000.000Z-5c5c5c5c.json"
#define GOOD  "session-20261121T110000.000Z-0a1b2c3d.json"

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static void put(int dir, const char *name, const void *bytes, size_t len) {
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    close(fd);
}

/* Lines of a gzip file; each begins an object. */
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
    require(mkdtemp(path) != NULL);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(dir >= 0);
    put(dir, LIVE, data, size);
    put(dir, GOOD, "{}\n", 3);
    rec_session_recover(dir);
    bool taken = size > 0 && data[size - 1] == '\n';
    require(faccessat(dir, LIVE, F_OK, 0) != 0);
    require((faccessat(dir, FINAL, F_OK, 0) == 0) == taken);
    struct stallrec_batch batch = {.size = sizeof batch};
    require(stallrec_batch_next(path, 1 << 24, &batch) == STALLREC_OK);
    require(batch.dumps == 0 && batch.sessions >= 1 && batch.sessions <= 1 + (uint32_t)taken);
    require(count_lines(batch.path) == batch.sessions);
    require(stallrec_batch_done(path, batch.id) == STALLREC_OK);
    unlinkat(dir, FINAL, 0); /* one that is damaged stays */
    close(dir);
    require(rmdir(path) == 0);
    return 0;
}
