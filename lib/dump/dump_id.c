/* Hashes ids of dumps and stalls. */
#include <string.h>

#include "base/hash.h"
#include "dump/dump.h"

uint64_t dump_id_hash(const char *id) {
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    enum { UUID_LEN = sizeof form - 1 };
    char lower[UUID_LEN];
    size_t len = strlen(id);
    for (size_t i = 0; i < UUID_LEN && len == UUID_LEN; i++) {
        bool digit = strchr("0123456789abcdefABCDEF", id[i]) != NULL;
        if (form[i] == 'x' ? !digit : id[i] != form[i]) {
            return hash_bytes(id, len);
        }
        lower[i] = (char)(id[i] >= 'A' && id[i] <= 'F' ? id[i] - 'A' + 'a' : id[i]);
    }
    return len == UUID_LEN ? hash_bytes(lower, len) : hash_bytes(id, len);
}
