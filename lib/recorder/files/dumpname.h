/* Names of files in the recorder's folder. They hold the data, other than the sizes of files, by
 * which retention and upload choose dumps and sessions, so no index is needed, which could be lost,
 * and no dump has to be opened.
 *
 *     stall-20261121T100000.123Z-0a1b2c3d-1-5f3a9c01.json.gz         a dump
 *           |                    |        | |
 *           UTC of the capture   dump id  | bucket: top function of the heaviest stack
 *                                         number in its stall
 *     stall-…-5f3a9c01.local.json.gz    a dump over the day's quota: kept, not sent
 *     session-20261121T095830.001Z-77aa0c41.json                     a session that ended
 *     .session-20261121T095830.001Z-77aa0c41.live    a session that runs, or was killed
 *     .spool-20261121T095830.001Z-77aa0c41-12345     a spool (spool.c): session, pid
 *     .stall-0a1b2c3d.part                           a dump that is being written
 *     .stall-batch-<32 hex digits>.{part,list,jsonl.gz}              batch.c
 *     .stall-batch-new.part                          content of a batch that is being made
 *     .stallrec-state, .stallrec-state.part, .stallrec-lock          state.c */
#ifndef STALLREC_DUMPNAME_H
#define STALLREC_DUMPNAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/record.h"

/* REC_FILE_NAME: bytes that hold any name of a file in the folder, with its NUL; REC_STAMP_TEXT:
 * bytes of a time stamp with its NUL. */
enum { REC_FILE_NAME = 96, REC_STAMP_TEXT = 21 };

enum rec_file_kind { REC_FILE_OTHER = 0, REC_FILE_DUMP, REC_FILE_SESSION };

struct rec_file_name {
    enum rec_file_kind kind;
    char stamp[REC_STAMP_TEXT]; /* UTC of the capture, or of the session's start; the text sorts by
                                   time */
    uint32_t bucket; /* bucket of a dump; 0 = not known, the dump has no stack, or a session */
    bool local;      /* a dump that is not sent */
    bool gzip;
};

/* Writes a time as "20261121T100000.123Z", in UTC, into text, and returns text. */
const char *rec_stamp_text(int64_t unix_ms, char text[REC_STAMP_TEXT]);

/* Returns the dump's bucket: a hash of the image and of the top function's offset in it, so that
 * it does not depend on where the image is loaded. The top function is that of the heaviest stack,
 * or, if dump->heaviest names none, of threads[0]; its top frame stands for it if its start is not
 * known. An address in no image is hashed itself. 0 if there is no such stack or it is empty. */
uint32_t rec_dump_bucket(const struct rec_dump *dump);

/* Sets name to the name of the dump's file. */
void rec_dump_name(char name[REC_FILE_NAME], const struct rec_dump *dump, bool local, bool gzip);
/* Sets name to that of a session's file: the name while the session runs if `live`, else the final
 * name. */
void rec_session_name(char name[REC_FILE_NAME], const uint8_t id[REC_UUID_SIZE], int64_t start_ms,
                      bool live);

/* Sets name to that of a spool's file: a hidden name, of which rec_file_name_read says
 * REC_FILE_OTHER, so that the file is never sent or counted. */
void rec_spool_name(char name[REC_FILE_NAME], const uint8_t id[REC_UUID_SIZE], int64_t start_ms,
                    uint32_t pid);
/* Reads the process id from a spool's file name. False: the name is that of another file. */
bool rec_spool_name_read(const char *name, uint32_t *pid);

/* Reads the name of a dump or a session; the kind of any other name is REC_FILE_OTHER. Dumps of
 * earlier versions ("stall-…-1.json.gz") have bucket 0. */
struct rec_file_name rec_file_name_read(const char *name);

#endif
