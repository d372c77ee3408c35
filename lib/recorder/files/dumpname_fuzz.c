/* Reads any bytes as the name of a file in the recorder's folder, by the functions that decide
 * which files are removed and sent. Checks that a name is of one kind, and that its parts are
 * within the format's bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "files/dumpname.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t pid = 0;
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    struct rec_file_name name = rec_file_name_read(text);
    bool spool = rec_spool_name_read(text, &pid);
    require(name.kind <= REC_FILE_SESSION);
    require(!spool || name.kind == REC_FILE_OTHER);
    if (name.kind != REC_FILE_OTHER) {
        require(text[0] == 's' && strlen(name.stamp) == REC_STAMP_TEXT - 1);
        require(strlen(text) < REC_FILE_NAME && strchr(text, '/') == NULL);
        require(name.kind == REC_FILE_DUMP || (!name.local && !name.gzip && name.bucket == 0));
    }
    if (spool) {
        require(text[0] == '.' && strlen(text) < REC_FILE_NAME && strchr(text, '/') == NULL);
    }
    free(text);
    return 0;
}
