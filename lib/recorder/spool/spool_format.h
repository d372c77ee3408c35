/* The spool's bytes: dumps in a file, between their capture and their own files, so that they
 * outlive a process that is killed. The layout is of one version of the recorder; a file of
 * another one has another magic, and is removed unread.
 *
 *     0     "stallrec-spool/2"                        all numbers little-endian
 *     16    u32 slots, u32 bytes of a slot, u32 pid, u32 0
 *     32    u64 start of the process (platform.h), i64 start of the session (Unix ms)
 *     48    u8[16] session id
 *     64    u32 length of the following, u32 crc32 of bytes 0 … 68 and of the following
 *     72    what every dump says of the app and the device
 *     4096  u32 REC_SPOOL_SUSPENDED while the app is in the background, else 0
 *     8192  the slots, one after the other:
 *
 *           0     head A   128 bytes each: state, times, and length and crc32 of the body;
 *           128   head B   the one with the larger sequence and a crc32 that fits counts
 *           256   body     sections that only ever grow while the slot is used
 *
 * A head is committed by writing the older of the two, so a process that is killed in the middle
 * leaves the state of before or of after; so does a machine that loses power, since what was not
 * yet on the disk does not fit its crc32. What fits one is not trusted either: files can be
 * written by anybody. */
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
    REC_SPOOL_MARK = 4096, /* where the suspended mark is */
    REC_SPOOL_SLOT = 64 * 1024,
    REC_SPOOL_HEAD = 128,
    REC_SPOOL_BODY = REC_SPOOL_SLOT - 2 * REC_SPOOL_HEAD,
    REC_SPOOL_SIZE = REC_SPOOL_HEADER + REC_RECORDS * REC_SPOOL_SLOT,
    REC_SPOOL_FRAMES = 1024, /* of one stack: what a config may ask for */
    REC_SPOOL_TEXT = 256     /* longest text of the app and the device, with its NUL */
};

enum rec_slot_state { REC_SLOT_FREE = 0, REC_SLOT_OPEN, REC_SLOT_CLOSED };

/* The part of a dump that changes while it is held. */
struct rec_slot_head {
    uint32_t state; /* enum rec_slot_state */
    uint64_t sequence;
    uint32_t body_len, body_crc;
    uint64_t number; /* identifies the stall: the dumps of one stall have one duration */
    uint64_t duration_ms, span_ms, gap_ms, suppressed;
    uint64_t monitor_cpu_us, main_cpu_ns;
    int32_t cpu_permille;
    bool ended;
};

void rec_slot_head_write(const struct rec_slot_head *head, unsigned char bytes[REC_SPOOL_HEAD]);
/* The valid one of a slot's two heads, the newer of two; false: neither fits its crc32 and its
 * ranges. */
bool rec_slot_head_read(const unsigned char bytes[2 * REC_SPOOL_HEAD], struct rec_slot_head *out);
/* Where a head with this sequence stands in its slot. */
size_t rec_slot_head_at(uint64_t sequence);

/* The sections of a dump. All of it: what a body begins with; else its threads and images only, as
 * they are now, to be added behind. What has no room is left out as it is in memory: outer frames,
 * images, the last threads. Returns the bytes that were written, 0 if not even the first section
 * fits. loop_at: as in struct rec_about, may be NULL. */
size_t rec_spool_encode(const struct rec_dump *dump, const char *loop_at, bool all,
                        unsigned char *body, size_t room);

/* A dump read from a spool. Large, and pointers go into it: not to be copied. */
struct rec_spool_dump {
    struct rec_dump dump;
    const char *loop_at; /* or NULL */
    struct rec_thread threads[256];
    struct rec_record_stack stacks[256];
    struct rec_image images[REC_IMAGES_MAX];
    struct rec_code_name names[REC_CODE_NAMES_MAX];
    int32_t ring[256];
    uint32_t word_count, text_len;
    uint64_t words[REC_SPOOL_BODY];
    uint64_t main_starts[REC_SPOOL_FRAMES]; /* of the main thread: only the first is known */
    char texts[REC_SPOOL_BODY + 1]; /* a text takes a byte more than its characters there, too */
};

/* Reads a body, which may be any bytes. False: it is damaged, and *out is not to be used. The
 * caller takes times and counts from the head and sets fatal. */
bool rec_spool_decode(const struct rec_slot_head *head, const unsigned char *body, size_t len,
                      struct rec_spool_dump *out);

/* The file's header. */
struct rec_spool_header {
    uint32_t pid;
    uint64_t process_start;
    int64_t start_ms;
    uint8_t session[REC_UUID_SIZE];
    bool suspended;
    struct rec_about about; /* loop_at and the members about a single dump are not in it */
    char texts[10][REC_SPOOL_TEXT];
};

/* about's texts are cut to REC_SPOOL_TEXT - 1 bytes. */
void rec_spool_header_write(const struct rec_spool_header *header,
                            unsigned char bytes[REC_SPOOL_HEADER]);
/* False: it is no spool of this version, or damaged. *out's texts are in *out: not to be copied. */
bool rec_spool_header_read(const unsigned char *bytes, size_t len, struct rec_spool_header *out);

#endif
