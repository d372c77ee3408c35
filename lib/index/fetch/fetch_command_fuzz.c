/* Reads any text as a fetch command: it is refused, or makes as many words for an id as it has,
 * among them some with the id's hexadecimal digits and some with the path of the output. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "index/fetch/fetch_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct image_id id = {.kind = IMAGE_ID_UUID, .len = 16};
    struct fetch_command c = {0};
    struct err e = {0};
    char *text = malloc(size + 1);
    require(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    enum st st = fetch_command_parse(&c, text, &e);
    require(st == ST_OK || (st == ST_ERR && e.code == ERR_USAGE && !c.words));
    if (st == ST_OK) {
        size_t ids = 0, outputs = 0, i = 0;
        char **words = fetch_command_words(&c, &id, "\1");
        require(words != NULL && c.count <= FETCH_WORDS_MAX);
        for (; words[i]; i++) {
            ids += strstr(words[i], "00000000000000000000000000000000") != NULL;
            outputs += strchr(words[i], '\1') != NULL;
        }
        require(i == c.count && ids > 0 && outputs > 0);
        fetch_command_free_words(words);
        fetch_command_release(&c);
    }
    free(text);
    return 0;
}
