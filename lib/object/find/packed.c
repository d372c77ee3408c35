/* Recognises archives, and packed files that may be archives, by their first bytes, and packed tars
 * by their names. */
#include "object/find/packed.h"

#include <string.h>

#include "base/path.h"

enum packed_kind packed_kind_of(const uint8_t *head, size_t len) {
    static const struct {
        const char *bytes;
        size_t len, at;
        enum packed_kind kind;
    } magics[] = {
        {"PK\3\4", 4, 0, PACKED_CERTAIN},     /* APPNOTE.TXT §4.3.7 */
        {"ustar", 5, 257, PACKED_CERTAIN},    /* POSIX pax, "ustar Interchange Format" */
        {"\x1f\x8b\x08", 3, 0, PACKED_MAYBE}, /* RFC 1952 */
        {"\xfd"
         "7zXZ\0",
         6, 0, PACKED_MAYBE},                     /* The .xz File Format §2.1.1.1 */
        {"\x28\xb5\x2f\xfd", 4, 0, PACKED_MAYBE}, /* RFC 8878 §3.1.1 */
        {"BZh", 3, 0, PACKED_MAYBE},
    };
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (len >= magics[i].at + magics[i].len &&
            memcmp(head + magics[i].at, magics[i].bytes, magics[i].len) == 0) {
            return magics[i].kind;
        }
    }
    return PACKED_NOT;
}

bool packed_is_tar_name(const char *path) {
    static const char *const suffixes[] = {".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2", ".tgz",
                                           ".txz",    ".tzst",   ".tbz2",    ".tbz"};
    const char *name = path_base(path);
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t suffix_len = strlen(suffixes[i]);
        if (len > suffix_len && strcmp(name + len - suffix_len, suffixes[i]) == 0) {
            return true;
        }
    }
    return false;
}
