/* The set of maps, and the built-in ones. */
#include <stdlib.h>

#include "dump/maps/map_private.h"

/* scripts/embed generates these arrays from the *.map files of this folder. */
extern const unsigned char embed_sentry_map[], embed_sentry_api_map[], embed_bugsnag_map[],
    embed_crashlytics_map[], embed_app_store_logs_map[], embed_app_store_signatures_map[];
extern const size_t embed_sentry_map_len, embed_sentry_api_map_len, embed_bugsnag_map_len,
    embed_crashlytics_map_len, embed_app_store_logs_map_len, embed_app_store_signatures_map_len;

enum st report_maps_new(struct report_maps **out, struct err *e) {
    struct report_maps *maps = calloc(1, sizeof *maps);
    if (!maps) {
        return err_nomem(e);
    }
    *out = maps;
    return ST_OK;
}

void report_maps_free(struct report_maps *maps) {
    if (!maps) {
        return;
    }
    for (size_t i = 0; i < maps->list.len; i++) {
        map_release_parts(maps->list.data[i]);
    }
    VEC_RELEASE(&maps->list);
    arena_release(&maps->arena);
    free(maps);
}

enum st report_maps_add_builtin(struct report_maps *maps, struct err *e) {
    const struct {
        const char *name;
        const unsigned char *text;
        size_t len;
    } files[] = {{"sentry.map", embed_sentry_map, embed_sentry_map_len},
                 {"sentry_api.map", embed_sentry_api_map, embed_sentry_api_map_len},
                 {"bugsnag.map", embed_bugsnag_map, embed_bugsnag_map_len},
                 {"crashlytics.map", embed_crashlytics_map, embed_crashlytics_map_len},
                 {"app_store_logs.map", embed_app_store_logs_map, embed_app_store_logs_map_len},
                 {"app_store_signatures.map", embed_app_store_signatures_map,
                  embed_app_store_signatures_map_len}};
    maps->user_count = maps->list.len;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (report_maps_add(maps, files[i].name, (const char *)files[i].text, files[i].len, NULL,
                            NULL, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

const char *report_maps_name(const struct report_maps *maps, size_t i) {
    return i < maps->list.len ? maps->list.data[i]->name : NULL;
}
