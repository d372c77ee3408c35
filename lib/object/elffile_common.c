/* Functions that the elffile_*.c files share. */
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "object/elffile_private.h"
#include "object/object_private.h"

bool elffile_lacked_memory(void) {
    return errno == ENOMEM;
}

enum st elffile_error(const struct object *o, const char *what, struct err *e) {
    if (elffile_lacked_memory()) {
        return err_nomem(e);
    }
    int code = elf_errno();
    const char *why = code != 0 ? elf_errmsg(code) : NULL;
    return err_set(e, ERR_FORMAT, "bad %s in '%s': %s", what, o->path,
                   why ? why : "neither 32 nor 64 bit");
}

bool elffile_is_mapping_symbol(const char *name) {
    return name[0] == '$' && name[1] != '\0' && strchr("adtx", name[1]) != NULL;
}

bool elffile_is_code_type(unsigned type) {
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}
