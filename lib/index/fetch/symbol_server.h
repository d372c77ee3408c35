/* Gets debug files of Linux's packages from debuginfod servers, through elfutils' libdebuginfod
 * where it is installed. */
#ifndef STALLKIT_INDEX_FETCH_SYMBOL_SERVER_H
#define STALLKIT_INDEX_FETCH_SYMBOL_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"

struct symbol_server;

/* Callback while a server answers; the library chooses the unit of the numbers: mostly bytes, 0 =
 * unknown. Returns false to give up. */
typedef bool (*symbol_server_progress)(void *ctx, uint64_t done, uint64_t total);

/* Loads libdebuginfod, which reads its settings from the environment (DEBUGINFOD_URLS and so on;
 * see debuginfod-client-config(7)). progress may be NULL. ST_NONE: this build lacks libdebuginfod.
 * ST_ERR: the library cannot be loaded here, or out of memory. */
enum st symbol_server_open(struct symbol_server **out, symbol_server_progress progress, void *ctx,
                           struct err *e) BASE_MUST_USE;
/* Closes the client; s may be NULL. */
void symbol_server_close(struct symbol_server *s);

/* Gets the file with the debug info of a build-id, from the library's cache or a server; *path is
 * malloc'ed. Blocks. Not thread safe. ST_NONE: no server has the file, no server is set, or the id
 * is no build-id. ST_ERR: the servers could not be asked. */
enum st symbol_server_find(struct symbol_server *s, const struct image_id *id, char **path,
                           struct err *e) BASE_MUST_USE;

#endif
