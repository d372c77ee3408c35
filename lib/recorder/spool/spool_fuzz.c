/* Reads any bytes as a spool's header, as a slot with its heads, and as a slot's body alone. A body
 * is refused, or gives a dump that can be named and written, and that does not change when it is
 * encoded and decoded again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "files/dump_json.h"
#include "files/dumpname.h"
#include "spool/spool_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static bool hash_bytes(void *ctx, const void *bytes, size_t len) {
    uint64_t *hash = ctx;
    for (size_t i = 0; i < len; i++) {
        *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return true;
}

static uint64_t json_hash(const struct rec_dump *dump, const char *loop_at) {
    struct rec_about about = {.app_id = "fuzz", .loop_at = loop_at};
    uint64_t hash = 1;
    struct rec_out out = {.write = hash_bytes, .ctx = &hash};
    rec_dump_json(&out, dump, &about);
    return hash;
}

static void check_body(const struct rec_slot_head *head, const uint8_t *body, size_t len) {
    static struct rec_spool_dump first, second;
    static unsigned char again[REC_SPOOL_BODY];
    char name[REC_FILE_NAME];
    if (!rec_spool_decode(head, body, len, &first)) {
        return;
    }
    rec_dump_name(name, &first.dump, false, true);
    require(rec_file_name_read(name).kind == REC_FILE_DUMP);
    uint64_t hash = json_hash(&first.dump, first.loop_at);
    size_t written = rec_spool_encode(&first.dump, first.loop_at, true, again, sizeof again);
    /* Only short bodies are compared, as the outer parts of a long one may be cut off when it is
     * encoded. */
    if (written > 0 && len < 8192) {
        require(rec_spool_decode(head, again, written, &second));
        require(json_hash(&second.dump, second.loop_at) == hash);
    }
}

static void check_header(const uint8_t *data, size_t size) {
    static struct rec_spool_header header, second;
    static unsigned char bytes[REC_SPOOL_HEADER], again[REC_SPOOL_HEADER];
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, data, size < REC_SPOOL_HEADER ? size : REC_SPOOL_HEADER);
    if (rec_spool_header_read(bytes, REC_SPOOL_SIZE, &header)) { /* the size is that of a whole
                                                                    file, of which only the header
                                                                    is read */
        rec_spool_header_write(&header, again);
        require(rec_spool_header_read(again, REC_SPOOL_SIZE, &second));
        require(memcmp(second.session, header.session, sizeof header.session) == 0 &&
                second.start_ms == header.start_ms && second.pid == header.pid &&
                second.suspended == header.suspended &&
                memcmp(second.texts, header.texts, sizeof header.texts) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct rec_slot_head head = {.state = REC_SLOT_CLOSED, .duration_ms = UINT64_MAX};
    check_header(data, size);
    check_body(&head, data, size); /* the bytes as a body alone, as a CRC-32 is hard to guess */
    if (size >= 2 * REC_SPOOL_HEAD && rec_slot_head_read(data, &head)) {
        check_body(&head, data + 2 * REC_SPOOL_HEAD, size - 2 * REC_SPOOL_HEAD);
    }
    return 0;
}
