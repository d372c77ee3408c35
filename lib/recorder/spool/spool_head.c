/* Writes and reads the fixed parts of the spool: its header, and the heads of its slots. */
#include <string.h>
#include <zlib.h>

#include "spool/spool_bytes.h"
#include "spool/spool_format.h"

static const char magic[] = "stallrec-spool/3"; /* stored without its NUL */

enum {
    HEAD_MAGIC = 0x746f6c53, /* "Slot" */
    HEAD_CRC = REC_SPOOL_HEAD - 4,
    ABOUT = 72,
    ABOUT_MAX = REC_SPOOL_MARK - ABOUT
};

static uint32_t crc(const unsigned char *bytes, size_t len) {
    return (uint32_t)crc32(0, bytes, (uInt)len);
}

/* ---- a slot's head ---- */

size_t rec_slot_head_at(uint64_t sequence) {
    return (sequence & 1) * REC_SPOOL_HEAD;
}

void rec_slot_head_write(const struct rec_slot_head *head, unsigned char bytes[REC_SPOOL_HEAD]) {
    memset(bytes, 0, REC_SPOOL_HEAD);
    rec_store_u32(bytes, HEAD_MAGIC);
    rec_store_u32(bytes + 4, head->state);
    rec_store_u64(bytes + 8, head->sequence);
    rec_store_u32(bytes + 16, head->body_len);
    rec_store_u32(bytes + 20, head->body_crc);
    rec_store_u64(bytes + 24, head->number);
    rec_store_u64(bytes + 32, head->duration_ms);
    rec_store_u64(bytes + 40, head->span_ms);
    rec_store_u64(bytes + 48, head->gap_ms);
    rec_store_u64(bytes + 56, head->suppressed);
    rec_store_u64(bytes + 64, head->monitor_cpu_us);
    rec_store_u64(bytes + 72, head->main_cpu_ns);
    rec_store_u32(bytes + 80, (uint32_t)head->cpu_permille);
    rec_store_u32(bytes + 84, head->ended);
    rec_store_u32(bytes + HEAD_CRC, crc(bytes, HEAD_CRC));
}

static bool head_read_one(const unsigned char *bytes, struct rec_slot_head *out) {
    uint32_t permille = rec_load_u32(bytes + 80), ended = rec_load_u32(bytes + 84);
    *out = (struct rec_slot_head){.state = rec_load_u32(bytes + 4),
                                  .sequence = rec_load_u64(bytes + 8),
                                  .body_len = rec_load_u32(bytes + 16),
                                  .body_crc = rec_load_u32(bytes + 20),
                                  .number = rec_load_u64(bytes + 24),
                                  .duration_ms = rec_load_u64(bytes + 32),
                                  .span_ms = rec_load_u64(bytes + 40),
                                  .gap_ms = rec_load_u64(bytes + 48),
                                  .suppressed = rec_load_u64(bytes + 56),
                                  .monitor_cpu_us = rec_load_u64(bytes + 64),
                                  .main_cpu_ns = rec_load_u64(bytes + 72),
                                  .cpu_permille = permille <= INT32_MAX ? (int32_t)permille : -1,
                                  .ended = ended != 0};
    return rec_load_u32(bytes) == HEAD_MAGIC &&
           rec_load_u32(bytes + HEAD_CRC) == crc(bytes, HEAD_CRC) &&
           out->state <= REC_SLOT_CLOSED && out->body_len <= REC_SPOOL_BODY;
}

bool rec_slot_head_read(const unsigned char bytes[2 * REC_SPOOL_HEAD], struct rec_slot_head *out) {
    struct rec_slot_head second;
    bool first = head_read_one(bytes, out), other = head_read_one(bytes + REC_SPOOL_HEAD, &second);
    if (other && (!first || second.sequence > out->sequence)) {
        *out = second;
    }
    return first || other;
}

/* ---- the file's header ---- */

/* Sets texts to pointers to the text members of *about, in the order in which they are written. */
static void list_texts(struct rec_about *about, const char **texts[10]) {
    const char **all[] = {&about->app_id, &about->app_version, &about->app_build, &about->user,
                          &about->preset, &about->model,       &about->os,        &about->os_build,
                          &about->arch,   &about->home};
    memcpy(texts, all, sizeof all);
}

void rec_spool_header_write(const struct rec_spool_header *header,
                            unsigned char bytes[REC_SPOOL_HEADER]) {
    struct rec_about about = header->about;
    const char **texts[10];
    memset(bytes, 0, REC_SPOOL_HEADER);
    memcpy(bytes, magic, sizeof magic - 1);
    rec_store_u32(bytes + 16, REC_RECORDS);
    rec_store_u32(bytes + 20, REC_SPOOL_SLOT);
    rec_store_u32(bytes + 24, header->pid);
    rec_store_u64(bytes + 32, header->process_start);
    rec_store_u64(bytes + 40, (uint64_t)header->start_ms);
    memcpy(bytes + 48, header->session, REC_UUID_SIZE);
    struct rec_put put = {.at = bytes + ABOUT, .end = bytes + ABOUT + ABOUT_MAX};
    rec_put_uint(&put, about.cpus);
    rec_put_uint(&put, about.user_share_ppm);
    rec_put_uint(&put, about.policy_known);
    rec_put_uint(&put, about.whitelisted);
    list_texts(&about, texts);
    for (size_t i = 0; i < 10; i++) { /* there is room for ten texts of the greatest length */
        rec_put_string(&put, *texts[i], REC_SPOOL_TEXT - 1);
    }
    size_t len = (size_t)(put.at - (bytes + ABOUT));
    rec_store_u32(bytes + 64, (uint32_t)len);
    uLong sum = crc32(crc32(0, bytes, 68), bytes + ABOUT, (uInt)len);
    rec_store_u32(bytes + 68, (uint32_t)sum);
    rec_store_u32(bytes + REC_SPOOL_MARK, header->suspended ? REC_SPOOL_SUSPENDED : 0);
}

static bool head_is_whole(const unsigned char *bytes) {
    uint32_t len = rec_load_u32(bytes + 64);
    return memcmp(bytes, magic, sizeof magic - 1) == 0 && rec_load_u32(bytes + 16) == REC_RECORDS &&
           rec_load_u32(bytes + 20) == REC_SPOOL_SLOT && len <= ABOUT_MAX &&
           rec_load_u32(bytes + 68) ==
               (uint32_t)crc32(crc32(0, bytes, 68), bytes + ABOUT, (uInt)len);
}

bool rec_spool_header_read(const unsigned char *bytes, size_t len, struct rec_spool_header *out) {
    const char **texts[10];
    if (len != REC_SPOOL_SIZE || !head_is_whole(bytes)) {
        return false;
    }
    memset(&out->about, 0, sizeof out->about);
    out->pid = rec_load_u32(bytes + 24);
    out->process_start = rec_load_u64(bytes + 32);
    out->start_ms = (int64_t)rec_load_u64(bytes + 40);
    memcpy(out->session, bytes + 48, REC_UUID_SIZE);
    out->suspended = rec_load_u32(bytes + REC_SPOOL_MARK) == REC_SPOOL_SUSPENDED;
    struct rec_get get = {.at = bytes + ABOUT, .end = bytes + ABOUT + rec_load_u32(bytes + 64)};
    out->about.cpus = rec_get_upto(&get, UINT32_MAX);
    out->about.user_share_ppm = rec_get_upto(&get, UINT32_MAX);
    out->about.policy_known = rec_get_upto(&get, 1) != 0;
    out->about.whitelisted = rec_get_upto(&get, 1) != 0;
    list_texts(&out->about, texts);
    for (size_t i = 0; i < 10; i++) {
        bool there = rec_get_string(&get, out->texts[i], REC_SPOOL_TEXT);
        *texts[i] = there ? out->texts[i] : NULL;
    }
    return !get.bad;
}
