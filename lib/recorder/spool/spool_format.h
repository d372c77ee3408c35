/* The spool's bytes: dumps in a file, between their capture and their own files, so that they
 * outlive a process that is killed. The layout is of one version of the recorder; a file of another
 * version has another magic, and is removed unread.
 *
 *     0     "stallrec-spool/3"                        all numbers little-endian
 *     16    u32 slots, u32 bytes of a slot, u32 pid, u32 0
 *     32    u64 start of the process (platform.h), i64 start of the session (Unix ms)
 *     48    u8[16] session id
 *     64    u32 length of the following, u32 crc32 of bytes 0 … 67 and of the following
 *     72    what every dump says of the app and the device
 *     4096  u32 REC_SPOOL_SUSPENDED while the app is in the background, else 0
 *     8192  the slots, one after the other:
 *
 *           0     head A   128 bytes each: state, times, and length and crc32 of the body;
 *           128   head B   of those whose crc32 fits, that with the larger sequence counts
 *           256   body     sections that only ever grow while the slot is used
 *
 * A head is committed by writing the older of the two, so a process that is killed in the middle
 * leaves the state before or after the change; so does a machine that loses power, since data that
 * was not yet on the disk does not fit its crc32. Data that fits its crc32 is not trusted either,
 * as anybody may have written the file. */
#ifndef STALLREC_SPOOL_FORMAT_H
#define STALLREC_SPOOL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "core/about.h"

#define REC_SPOOL_SUSPENDED UINT32_C(0x53757370)

enum {
    REC_SPOOL_HEADER = 8192,
    REC_SPOOL_MARK = 4096, /* offset of the suspended mark */
    REC_SPOOL_SLOT = 64 * 1024,
    REC_SPOOL_HEAD = 128,
    REC_SPOOL_BODY = REC_SPOOL_SLOT - 2 * REC_SPOOL_HEAD,
    REC_SPOOL_SIZE = REC_SPOOL_HEADER + REC_RECORDS * REC_SPOOL_SLOT,
    /* Maximum number of frames of one stack, the maximum of config.max_frames. */
    REC_SPOOL_FRAMES = 1024,
    REC_SPOOL_TEXT = 256 /* bytes of the longest text of the app and the device, with its NUL */
};

enum rec_slot_state { REC_SLOT_FREE = 0, REC_SLOT_OPEN, REC_SLOT_CLOSED };

/* The head of a slot: the part of a dump that changes while the slot holds it. */
struct rec_slot_head {
    uint32_t state; /* enum rec_slot_state */
    uint64_t sequence;
    uint32_t body_len, body_crc;
    uint64_t number; /* identifies the stall, whose dumps share one duration */
    uint64_t duration_ms, span_ms, gap_ms, suppressed;
    uint64_t monitor_cpu_us, main_cpu_ns;
    int32_t cpu_permille;
    bool ended;
};

void rec_slot_head_write(const struct rec_slot_head *head, unsigned char bytes[REC_SPOOL_HEAD]);
/* Reads the newer valid head of a slot's two heads; false: neither is valid, that is, fits its
 * crc32 and its ranges. */
bool rec_slot_head_read(const unsigned char bytes[2 * REC_SPOOL_HEAD], struct rec_slot_head *out);
/* Returns the offset in a slot of the head with this sequence. */
size_t rec_slot_head_at(uint64_t sequence);

/* Writes the sections of a dump to body. If `all`, it writes all sections, with which a body
 * begins; else only the present images, threads and names, which are to be appended. Data that does
 * not fit is left out: outer frames of the samples, or all samples, and single images, threads and
 * names. Returns the number of bytes written, 0 if `all` and not even the first section fits.
 * loop_at: as in struct rec_about; it may be NULL. */
size_t rec_spool_encode(const struct rec_dump *dump, const char *loop_at, bool all,
                        unsigned char *body, size_t room);

/* A dump read from a spool. The struct is large, and must not be copied, as it has pointers into
 * itself. */
struct rec_spool_dump {
    struct rec_dump dump;
    const char *loop_at; /* as in struct rec_about, or NULL */
    struct rec_thread threads[256];
    struct rec_record_stack stacks[256];
    struct rec_image images[REC_IMAGES_MAX];
    struct rec_code_name names[REC_CODE_NAMES_MAX];
    int32_t ring[256];
    uint32_t word_count, text_len;
    uint64_t words[REC_SPOOL_BODY];
    uint64_t main_starts[REC_SPOOL_FRAMES]; /* function starts of the main thread's frames, of which
                                               only the first is known */
    char texts[REC_SPOOL_BODY + 1]; /* texts with their NULs; in a body each text also takes one
                                       byte more than its characters */
};

/* Reads a slot's body, which may be any bytes, and the times and counts of its head, into *out.
 * False: it is damaged, and *out must not be used. The caller sets stall.fatal. */
bool rec_spool_decode(const struct rec_slot_head *head, const unsigned char *body, size_t len,
                      struct rec_spool_dump *out);

/* The header of a spool's file. */
struct rec_spool_header {
    uint32_t pid;
    uint64_t process_start;
    int64_t start_ms;
    uint8_t session[REC_UUID_SIZE];
    bool suspended;
    struct rec_about about; /* without loop_at and the members about a single dump */
    char texts[10][REC_SPOOL_TEXT];
};

/* Writes the header; about's texts are cut to REC_SPOOL_TEXT - 1 bytes. */
void rec_spool_header_write(const struct rec_spool_header *header,
                            unsigned char bytes[REC_SPOOL_HEADER]);
/* Reads the header. False: the file is no spool of this version, or is damaged. *out must not be
 * copied, as its pointers to texts point into it. */
bool rec_spool_header_read(const unsigned char *bytes, size_t len, struct rec_spool_header *out);

#endif
