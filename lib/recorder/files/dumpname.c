/* Writes and reads the names of files in the recorder's folder. */
#include "files/dumpname.h"

#include <string.h>

#include "support/rec_text.h"
#include "support/share.h"

/* ---- writing ---- */

static char *append_hex(char *at, const uint8_t bytes[4]) {
    rec_hex_text(bytes, 4, at);
    return at + 8;
}

const char *rec_stamp_text(int64_t unix_ms, char text[REC_STAMP_TEXT]) {
    char time[REC_TIME_TEXT];
    size_t len = 0;
    rec_time_text(unix_ms, time);
    for (const char *t = time; *t != '\0'; t++) {
        if (*t != '-' &&
            *t != ':') { /* leaves out characters that shells or file systems treat specially */
            text[len++] = *t;
        }
    }
    text[len] = '\0';
    return text;
}

/* Returns the image that holds the address, or NULL. Images are sorted by load address; an image
 * of unknown size extends to the next one. */
static const struct rec_image *image_of(const struct rec_dump *dump, uint64_t address) {
    const struct rec_image *found = NULL;
    for (uint32_t i = 0; i < dump->image_count && dump->images[i].load <= address; i++) {
        found = &dump->images[i];
    }
    return found != NULL && (found->size == 0 || address - found->load < found->size) ? found
                                                                                      : NULL;
}

uint32_t rec_dump_bucket(const struct rec_dump *dump) {
    const struct rec_stack *stack = NULL;
    uint64_t function = 0;
    if (dump->heaviest >= 0 && (uint32_t)dump->heaviest < dump->stack_count) {
        stack = &dump->stacks[dump->heaviest].stack;
        function = dump->stacks[dump->heaviest].function;
    } else if (dump->thread_count > 0) {
        stack = &dump->threads[0].stack;
        function = stack->starts != NULL && stack->count > 0 ? stack->starts[0] : 0;
    }
    if (stack == NULL || stack->count == 0) {
        return 0;
    }
    uint64_t top = function != 0 ? function : stack->frames[0];
    const struct rec_image *image = image_of(dump, top);
    uint64_t hash = REC_HASH_START, offset = top;
    if (image != NULL) {
        offset = top - image->load;
        hash = rec_hash(hash, image->id, image->id_len);
        if (image->id_len == 0 && image->path != NULL) {
            hash = rec_hash(hash, image->path, strlen(image->path));
        }
    }
    hash = rec_hash(hash, &offset, sizeof offset);
    uint32_t bucket = (uint32_t)(hash ^ (hash >> 32));
    return bucket != 0 ? bucket : 1;
}

void rec_dump_name(char name[REC_FILE_NAME], const struct rec_dump *dump, bool local, bool gzip) {
    char stamp[REC_STAMP_TEXT];
    uint32_t bucket = rec_dump_bucket(dump);
    uint8_t bytes[] = {(uint8_t)(bucket >> 24), (uint8_t)(bucket >> 16), (uint8_t)(bucket >> 8),
                       (uint8_t)bucket};
    char *at = rec_put_text(name, "stall-");
    at = rec_put_text(rec_put_text(at, rec_stamp_text(dump->wall_ms, stamp)), "-");
    at = rec_put_text(append_hex(at, dump->id), "-");
    at = rec_put_text(rec_put_number(at, dump->stall.seq), "-");
    at = rec_put_text(append_hex(at, bytes), local ? ".local" : "");
    rec_put_text(at, gzip ? ".json.gz" : ".json");
}

void rec_session_name(char name[REC_FILE_NAME], const uint8_t id[REC_UUID_SIZE], int64_t start_ms,
                      bool live) {
    char stamp[REC_STAMP_TEXT];
    char *at = rec_put_text(name, live ? ".session-" : "session-");
    at = rec_put_text(rec_put_text(at, rec_stamp_text(start_ms, stamp)), "-");
    rec_put_text(append_hex(at, id), live ? ".live" : ".json");
}

void rec_spool_name(char name[REC_FILE_NAME], const uint8_t id[REC_UUID_SIZE], int64_t start_ms,
                    uint32_t pid) {
    char stamp[REC_STAMP_TEXT];
    char *at = rec_put_text(rec_put_text(name, ".spool-"), rec_stamp_text(start_ms, stamp));
    at = append_hex(rec_put_text(at, "-"), id);
    rec_put_number(rec_put_text(at, "-"), pid);
}

/* ---- reading ---- */

/* Is c a decimal digit? */
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *skip_stamp(const char *at, char stamp[REC_STAMP_TEXT]) {
    static const char form[] = "00000000T000000.000Z";
    for (size_t i = 0; at != NULL && i < sizeof form - 1; i++) {
        if (form[i] == '0'
                ? !is_digit(at[i])
                : at[i] != form[i]) { /* a NUL equals neither a digit nor a character of the form */
            return NULL;
        }
    }
    if (at == NULL) {
        return NULL;
    }
    memcpy(stamp, at, sizeof form - 1);
    stamp[sizeof form - 1] = '\0';
    return at + sizeof form - 1;
}

static const char *name_skip_hex(const char *at, uint32_t *value) {
    *value = 0;
    for (unsigned i = 0; at != NULL && i < 8; i++) {
        int digit = rec_hex_digit(at[i]);
        if (digit < 0) {
            return NULL;
        }
        *value = *value << 4 | (uint32_t)digit;
    }
    return at != NULL ? at + 8 : NULL;
}

static const char *name_skip_number(const char *at) {
    size_t len = 0;
    while (at != NULL && is_digit(at[len])) {
        len++;
    }
    return len >= 1 && len <= 10 ? at + len : NULL;
}

bool rec_spool_name_read(const char *text, uint32_t *pid) {
    char stamp[REC_STAMP_TEXT];
    uint32_t id;
    uint64_t number = 0;
    const char *at = rec_skip_text(text, ".spool-");
    const char *begin =
        rec_skip_text(name_skip_hex(rec_skip_text(skip_stamp(at, stamp), "-"), &id), "-");
    const char *end = name_skip_number(begin);
    for (at = begin; end != NULL && at < end; at++) {
        number = number * 10 + (uint64_t)(*at - '0'); /* the number has at most ten digits */
    }
    if (end == NULL || *end != '\0' || number > UINT32_MAX) {
        return false;
    }
    *pid = (uint32_t)number;
    return true;
}

static struct rec_file_name read_dump(const char *at) {
    struct rec_file_name name = {.kind = REC_FILE_DUMP};
    uint32_t id;
    at = name_skip_hex(rec_skip_text(skip_stamp(at, name.stamp), "-"), &id);
    at = name_skip_number(rec_skip_text(at, "-"));
    if (at != NULL && *at == '-') {
        at = name_skip_hex(at + 1, &name.bucket);
    }
    const char *local = rec_skip_text(at, ".local");
    name.local = local != NULL;
    at = rec_skip_text(local != NULL ? local : at, ".json");
    const char *gzip = rec_skip_text(at, ".gz");
    name.gzip = gzip != NULL;
    at = gzip != NULL ? gzip : at;
    return at != NULL && *at == '\0' ? name : (struct rec_file_name){0};
}

struct rec_file_name rec_file_name_read(const char *text) {
    const char *at = rec_skip_text(text, "stall-");
    if (at != NULL) {
        return read_dump(at);
    }
    struct rec_file_name name = {.kind = REC_FILE_SESSION};
    uint32_t id;
    at = name_skip_hex(rec_skip_text(skip_stamp(rec_skip_text(text, "session-"), name.stamp), "-"),
                       &id);
    at = rec_skip_text(at, ".json");
    return at != NULL && *at == '\0' ? name : (struct rec_file_name){0};
}
