/* Recognises files of other kinds that users pass by mistake instead of dumps. */
#ifndef STALLKIT_DUMP_FOREIGN_FILE_H
#define STALLKIT_DUMP_FOREIGN_FILE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/gz.h"

struct foreign_kind {
    const char *text; /* message that names the kind of the file; NULL = not known */
    bool around; /* the file may hold a report, too, and is of this kind only if it holds none */
};
/* Looks at the first bytes of an input, after gunzip, and puts them back. Damage in the bytes is
 * left to the reader that follows. ST_ERR: ERR_NOMEM. */
enum st foreign_file_look(struct gz_input *in, struct foreign_kind *out,
                          struct err *e) BASE_MUST_USE;

#endif
