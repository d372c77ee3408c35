/* Names of files in the recorder's folder. All that retention and upload decide by stands in them,
 * so that neither needs an index that could be lost, nor to open a dump.
 *
 *     stall-20261121T100000.123Z-0a1b2c3d-1-5f3a9c01.json.gz         a dump
 *           |                    |        | |
 *           UTC of the capture   dump id  | bucket: top function of the heaviest stack
 *                                         number in its stall
 *     stall-…-5f3a9c01.local.json.gz    over the day's quota: kept, not sent
 *     session-20261121T095830.001Z-77aa0c41.json                     a session that ended
 *     .session-20261121T095830.001Z-77aa0c41.live                    one that runs, or was killed
 *     .spool-20261121T095830.001Z-77aa0c41-12345                     spool.c: its session, its pid
 *     .stall-0a1b2c3d.part                                           a dump that is being written
 *     .stall-batch-<32 hex digits>.{part,list,jsonl.gz}              batch.c
 *     .stallrec-state, .stallrec-state.part, .stallrec-lock          state.c
 */
#ifndef STALLREC_DUMPNAME_H
#define STALLREC_DUMPNAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/record.h"

/* Bytes that hold any of these names with its NUL, and the text of a time stamp. */
enum { REC_FILE_NAME = 96, REC_STAMP_TEXT = 21 };

enum rec_file_kind { REC_FILE_OTHER = 0, REC_FILE_DUMP, REC_FILE_SESSION };

struct rec_file_name {
    enum rec_file_kind kind;
    char stamp[REC_STAMP_TEXT]; /* sorts by time */
    uint32_t bucket;            /* 0 = not known; of a session too */
    bool local;                 /* a dump that is not sent */
    bool gzip;
};

/* "20261121T100000.123Z". Returns text. */
const char *rec_stamp_text(int64_t unix_ms, char text[REC_STAMP_TEXT]);

/* The dump's bucket: a hash of its image and the function's offset in it, so that it is the same
 * wherever the image is loaded. 0 if the dump has no stack. */
uint32_t rec_dump_bucket(const struct rec_dump *dump);

/* Names the dump's file. */
void rec_dump_name(char name[REC_FILE_NAME], const struct rec_dump *dump, bool local, bool gzip);
/* Names a session's file: final, or while it runs. */
void rec_session_name(char name[REC_FILE_NAME], const uint8_t id[REC_UUID_SIZE], int64_t start_ms,
                      bool live);

/* Names a spool: hidden, no other kind of file, and not to be sent or counted. */
void rec_spool_name(char name[REC_FILE_NAME], const uint8_t id[REC_UUID_SIZE], int64_t start_ms,
                    uint32_t pid);
/* Recognises a spool's name. False: it is another file's. */
bool rec_spool_name_read(const char *name, uint32_t *pid);

/* Reads any of these names. Dumps of earlier versions ("stall-…-1.json.gz") have bucket 0. */
struct rec_file_name rec_file_name_read(const char *name);

#endif
