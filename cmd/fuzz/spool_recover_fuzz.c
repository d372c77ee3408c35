/* Recovers a recorder's folder with a spool of any bytes, as stallrec does after a program's death,
 * and reads the recovered dumps with stallsym. The input is a slot, its two heads first, as in the
 * corpus of spool_fuzz; the checksums are corrected, as a CRC-32 is hard to guess. A second slot,
 * which is open and of the same stall, has the whole input as its body. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "recorder/files/dumpname.h"
#include "fuzz/fuzz_command.h"
#include "recorder/spool/recover.h"
#include "recorder/spool/spool_format.h"

enum { NO_PROCESS = 0x7ffffff0, HEAD_CRC = REC_SPOOL_HEAD - 4, START_MS = 1000 };

static void put_u32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> 8 * i);
    }
}

/* Fills a slot with the input's heads and body, and corrects the lengths and checksums in the
 * heads. */
static void fill_slot(unsigned char *slot, const uint8_t *data, size_t size) {
    size_t heads = size < 2 * REC_SPOOL_HEAD ? size : 2 * REC_SPOOL_HEAD;
    size_t len = size - heads < REC_SPOOL_BODY ? size - heads : REC_SPOOL_BODY;
    memcpy(slot, data, heads);
    memcpy(slot + 2 * REC_SPOOL_HEAD, data + heads, len);
    for (size_t k = 0; k < 2; k++) {
        unsigned char *head = slot + k * REC_SPOOL_HEAD;
        put_u32(head + 16, (uint32_t)len);
        put_u32(head + 20, hash_crc32(slot + 2 * REC_SPOOL_HEAD, len));
        put_u32(head + HEAD_CRC, hash_crc32(head, HEAD_CRC));
    }
}

/* Fills a slot that was open at the program's death; it is of the stall of the first slot, and the
 * whole input is its body. */
static void fill_open_slot(unsigned char *slot, const struct rec_slot_head *first,
                           const uint8_t *data, size_t size) {
    size_t len = size < REC_SPOOL_BODY ? size : REC_SPOOL_BODY;
    struct rec_slot_head head = *first;
    memcpy(slot + 2 * REC_SPOOL_HEAD, data, len);
    head.state = REC_SLOT_OPEN;
    head.duration_ms += size;
    head.body_len = (uint32_t)len;
    head.body_crc = hash_crc32(slot + 2 * REC_SPOOL_HEAD, len);
    rec_slot_head_write(&head, slot + rec_slot_head_at(head.sequence));
}

static void put_spool(int dir, const uint8_t *data, size_t size) {
    static unsigned char bytes[REC_SPOOL_HEADER + 2 * REC_SPOOL_SLOT];
    struct rec_slot_head first = {.duration_ms = UINT32_MAX};
    struct rec_spool_header header = {
        .pid = NO_PROCESS, .start_ms = START_MS, .suspended = size % 8 == 0};
    char text[REC_SPOOL_TEXT] = "", name[REC_FILE_NAME];
    if (size > 0) {
        memcpy(text, data, size < sizeof text ? size : sizeof text - 1);
    }
    header.about = (struct rec_about){.app_id = text, .preset = "default", .model = text};
    memset(bytes, 0, sizeof bytes);
    rec_spool_header_write(&header, bytes);
    fill_slot(bytes + REC_SPOOL_HEADER, data, size);
    (void)rec_slot_head_read(bytes + REC_SPOOL_HEADER, &first);
    fill_open_slot(bytes + REC_SPOOL_HEADER + REC_SPOOL_SLOT, &first, data, size);
    rec_spool_name(name, header.session, header.start_ms, header.pid);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_insist(fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
    fuzz_insist(ftruncate(fd, REC_SPOOL_SIZE) == 0);
    close(fd);
}

/* Reads each dump of the folder with stallsym, and empties the folder. Returns the number of dumps;
 * a spool that is still there is a failure. */
static uint32_t read_dumps(const char *path, int dir) {
    uint32_t dumps = 0;
    DIR *folder = opendir(path);
    fuzz_insist(folder != NULL);
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        uint32_t pid;
        char file[4096];
        const char *words[] = {"stallsym", "-j", "1", "--raw", file, NULL};
        if (rec_file_name_read(e->d_name).kind == REC_FILE_DUMP) {
            dumps++;
            snprintf(file, sizeof file, "%s/%s", path, e->d_name);
            fuzz_insist(command_run(stallsym_main, words, "", 0).status == 0);
        }
        fuzz_insist(!rec_spool_name_read(e->d_name, &pid));
        unlinkat(dir, e->d_name, 0); /* fails for "." and "..", which stay */
    }
    closedir(folder);
    return dumps;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_folder();
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fuzz_insist(dir >= 0);
    struct recover_request request = {
        .directory = path, .mode = 0600, .pid = NO_PROCESS, .by_itself = size % 16 == 0};
    struct recover_counts counts;
    put_spool(dir, data, size);
    fuzz_insist(recover_folder(&request, &counts) && counts.lost == 0);
    fuzz_insist(read_dumps(path, dir) == counts.dumps);
    close(dir);
    return 0;
}
