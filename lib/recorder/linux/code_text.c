/* Stores names of code, and splits texts that end in a file and a line. */
#include "linux/code_text.h"

#include <string.h>

#include "linux/images_linux.h"

const char *code_text_keep_async(struct code_text *text, const char *bytes, size_t size) {
    size_t room = CODE_TEXT_SIZE - text->used, used = 0;
    size = size < CODE_TEXT_MAX - 1 ? size : CODE_TEXT_MAX - 1;
    while (used < size && bytes[used] != '\0') {
        used++;
    }
    if (used >= room) {
        return NULL;
    }
    char *kept = text->bytes + text->used;
    for (size_t i = 0; i < used; i++) {
        unsigned char c = (unsigned char)bytes[i];
        kept[i] = c < 0x20 || c == 0x7f ? '?' : bytes[i];
    }
    kept[used] = '\0';
    text->used += (uint32_t)used + 1;
    return kept;
}

bool code_text_has_async(const char *path, const char *part) {
    size_t size = strlen(part);
    for (; *path; path++) {
        if (strncmp(path, part, size) == 0) {
            return true;
        }
    }
    return false;
}

bool code_text_is_app_file_async(const char *file) {
    /* The package managers of Python and JavaScript put packages, which are not the app's own
     * code, into these folders. */
    return file && file[0] == '/' && images_in_app_async(file, "") &&
           !code_text_has_async(file, "/site-packages/") &&
           !code_text_has_async(file, "/dist-packages/") &&
           !code_text_has_async(file, "/node_modules/");
}

/* Removes ":DIGITS", with 1 to 9 digits, from the end of a text and sets *number. False: the text
 * does not end so. */
static bool take_number_async(const char *bytes, size_t *size, uint32_t *number) {
    size_t at = *size;
    uint64_t value = 0, unit = 1;
    while (at > 0 && bytes[at - 1] >= '0' && bytes[at - 1] <= '9' && *size - at < 9) {
        value += (uint64_t)(bytes[--at] - '0') * unit;
        unit *= 10;
    }
    if (at == *size || at == 0 || bytes[at - 1] != ':') {
        return false;
    }
    *number = (uint32_t)value;
    *size = at - 1;
    return true;
}

void code_text_name_async(struct code_text *text, const char *bytes, size_t size,
                          struct rec_code_name *name) {
    static const char scheme[] = "file://";
    uint32_t before = text->used, last = 0, line = 0;
    const char *nul = memchr(bytes, '\0', size);
    size_t whole = nul ? (size_t)(nul - bytes) : size, end = whole, symbol = whole, file;
    bool placed = take_number_async(bytes, &end, &last);
    line = last;
    if (placed && take_number_async(bytes, &end, &line)) {
        last = 0; /* the first of two numbers is the line, the second the column */
    }
    for (file = end; placed && file > 0 && bytes[file - 1] != ' ';) {
        file--;
    }
    const char *path = NULL;
    if (placed && file > 1 && file < end) {
        symbol = file - 1;
        bool url =
            end - file > sizeof scheme && strncmp(bytes + file, scheme, sizeof scheme - 1) == 0;
        file += url ? sizeof scheme - 1 : 0;
        path = code_text_keep_async(text, bytes + file, end - file);
    }
    const char *kept = code_text_keep_async(text, bytes, symbol);
    if (!kept) {
        text->used = before;
        return;
    }
    name->symbol = kept;
    name->file = path;
    name->line = path ? line : 0;
    name->in_app = code_text_is_app_file_async(path);
}
