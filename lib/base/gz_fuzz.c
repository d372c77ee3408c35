/* Takes any bytes as compressed data: the whole-buffer and the pull inflater must give the same
 * bytes and the same verdict, and the inflated bytes must survive compression. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 4 * 1024 * 1024 };

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

/* Reads the input through the pull stream, up to MOST bytes. */
static enum st pull(const uint8_t *data, size_t size, struct strbuf *out) {
    char path[] = "/tmp/gz_fuzz.XXXXXX", buf[5000];
    int fd = mkstemp(path);
    require(fd >= 0);
    unlink(path);
    require(write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    struct gz_input *in;
    require(gz_input_open(&in, fd, "input", NULL) == ST_OK);
    enum st st;
    size_t got;
    do {
        st = gz_input_read(in, buf, sizeof buf, &got, NULL);
        strbuf_add(out, buf, got);
    } while (st == ST_OK && got > 0 && out->len < MOST);
    gz_input_close(in);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct strbuf whole = {0}, pulled = {0}, zipped = {0}, back = {0};
    struct err e = {0};
    enum st st = gz_inflate("input", data, size, MOST, &whole, &e);
    require(whole.len <= MOST);
    if (gz_is_gzip(data, size) && e.code != ERR_LIMIT) {
        require(pull(data, size, &pulled) == st);
        require(pulled.len == whole.len);
        require(memcmp(strbuf_cstr(&pulled), strbuf_cstr(&whole), whole.len) == 0);
    }
    if (st == ST_OK && whole.len < 100000) {
        require(gz_deflate(strbuf_cstr(&whole), whole.len, 1, &zipped, NULL) == ST_OK);
        require(gz_inflate("again", zipped.data, zipped.len, MOST, &back, NULL) == ST_OK);
        require(back.len == whole.len);
    }
    char exact[256];
    require(gz_inflate_into("input", data, size, exact, sizeof exact, NULL) != ST_NONE);
    strbuf_release(&whole);
    strbuf_release(&pulled);
    strbuf_release(&zipped);
    strbuf_release(&back);
    return 0;
}
