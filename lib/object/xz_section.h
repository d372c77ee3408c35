/* Unpacks .gnu_debugdata: a small ELF file with a symbol table only, packed by xz (GDB manual,
 * "MiniDebugInfo"; The .xz File Format). liblzma does it where the build has it. */
#ifndef STALLKIT_OBJECT_XZ_SECTION_H
#define STALLKIT_OBJECT_XZ_SECTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Appends to *out what bytes[len] unpack to. name is for the error text. ST_NONE: this build has no
 * liblzma. ST_ERR: ERR_LIMIT if bytes[len] unpack to more than max bytes, or unpacking takes more
 * than 128 MiB of memory; ERR_TRUNCATED if the stream is cut, ERR_FORMAT if it is damaged; out of
 * memory. */
enum st xz_inflate(const char *name, const void *bytes, size_t len, uint64_t max,
                   struct strbuf *out, struct err *e) BASE_MUST_USE;

#endif
