/* Debug files of Linux's packages from debuginfod servers, through elfutils' libdebuginfod where it
 * is installed. */
#ifndef STALLKIT_INDEX_FETCH_SYMBOL_SERVER_H
#define STALLKIT_INDEX_FETCH_SYMBOL_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"

struct symbol_server;

/* Called now and then while a server answers; the numbers are of the library's own choice: bytes
 * mostly, 0 = not known. False: give up. */
typedef bool (*symbol_server_progress)(void *ctx, uint64_t done, uint64_t total);

/* Loads the library, which reads its settings from the environment (DEBUGINFOD_URLS and so on; see
 * debuginfod-client-config(7)). progress may be NULL. ST_NONE: this build knows no libdebuginfod.
 * ST_ERR: it cannot be loaded here, or out of memory. */
enum st symbol_server_open(struct symbol_server **out, symbol_server_progress progress, void *ctx,
                           struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void symbol_server_close(struct symbol_server *s);

/* The file with the debug info of a build-id, from the library's cache or a server; *path is
 * malloc'ed. Blocks. Not thread safe. ST_NONE: no server has it. ST_ERR: they could not be asked.
 */
enum st symbol_server_find(struct symbol_server *s, const struct image_id *id, char **path,
                           struct err *e) BASE_MUST_USE;

#endif
