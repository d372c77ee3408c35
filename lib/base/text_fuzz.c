/* Takes any bytes as a number, an image id, UTF-8 and JSON text: text that is accepted must be the
 * same when it is parsed and printed again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static void numbers(const char *s, size_t len) {
    struct strbuf b = {0};
    uint64_t u, again;
    int64_t i, i_again;
    if (parse_u64(s, len, UINT64_MAX, &u)) {
        strbuf_addu64(&b, u);
        require(parse_u64(b.data, b.len, u, &again) && again == u);
        require(b.len <= len);
    }
    strbuf_clear(&b);
    if (parse_i64(s, len, &i)) {
        strbuf_addi64(&b, i);
        require(parse_i64(b.data, b.len, &i_again) && i_again == i);
    }
    strbuf_clear(&b);
    if (parse_hex(s, len, &u)) {
        strbuf_addhex(&b, u);
        require(parse_hex(b.data, b.len, &again) && again == u);
    }
    strbuf_release(&b);
}

static void ids(const char *s, size_t len) {
    struct image_id id, again;
    char text[IMAGE_ID_TEXT];
    if (parse_uuid(s, len, &id)) {
        image_id_text(&id, text);
        require(parse_uuid(text, strlen(text), &again) && image_id_equal(&id, &again));
    }
    if (parse_build_id(s, len, &id)) {
        image_id_text(&id, text);
        require(parse_build_id(text, strlen(text), &again) && image_id_equal(&id, &again));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *s = (const char *)data;
    numbers(s, size);
    ids(s, size);
    struct strbuf b = {0};
    struct sink sink = sink_to_strbuf(&b);
    jsonw_escape(&sink, s, size);
    require(sink_close(&sink, NULL) == ST_OK);
    require(utf8_valid(b.data, b.len) && b.len >= 2 && b.data[b.len - 1] == '"');
    require(!utf8_valid(s, size) || b.len >= size + 2);
    for (size_t i = 0; i < b.len; i++) {
        require((unsigned char)b.data[i] >= 0x20);
    }
    strbuf_release(&b);
    return 0;
}
