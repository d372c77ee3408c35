/* Recognises files of other kinds that users pass by mistake instead of dumps. */
#ifndef STALLKIT_DUMP_FOREIGN_FILE_H
#define STALLKIT_DUMP_FOREIGN_FILE_H

#include "base/err.h"
#include "base/gz.h"

/* Looks at the first bytes of an input, after gunzip, and puts them back. *what becomes a message
 * that names the kind of the file, or NULL if the kind is unknown. Damage in the bytes is left to
 * the reader that follows. ST_ERR: ERR_NOMEM. */
enum st foreign_file_look(struct gz_input *in, const char **what, struct err *e) BASE_MUST_USE;

#endif
