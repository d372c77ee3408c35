/* Dump + symbol sources -> symbolicated dump, by the address rules of DESIGN §4. */
#ifndef STALLKIT_SYMBOLIZE_SYMBOLIZE_H
#define STALLKIT_SYMBOLIZE_SYMBOLIZE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dump/dump.h"
#include "index/lookup.h"

/* Finds the symbol source of an image: implemented by cmd over lib/object's finder, by tests with fakes. */
struct symbol_provider {
    void *ctx;
    /* ST_OK: *source (borrowed until the provider dies) and *base (the debug file's own base address) are set, *arm32 says whether bit 0 is
     * Thumb's. ST_NONE: no symbols; then *verdict says why. In all cases *verdict and *file (borrowed, may be NULL) are set. */
    enum st (*find)(void *ctx, const struct dump_image *image, const char *dump_arch, struct lookup_source **source,
                    uint64_t *base, bool *arm32, enum dump_symbols *verdict, const char **file, struct err *e);
};

struct symbolizer;
/* Resolves each distinct (image, offset) once. Not thread safe: one per worker. The provider must outlive it. */
enum st symbolizer_new(struct symbolizer **out, const struct symbol_provider *provider, bool linkage_names,
                       struct err *e) BASE_MUST_USE;
void symbolizer_free(struct symbolizer *s);

/* Fills d->locations, every stack's locations and every image's symbols in place (from the symbolizer's memory, valid until its next
 * call), and returns the same as an addition for dump_write_spliced. Frames that are already resolved by an `ok` image are left as they are. */
enum st symbolize_dump(struct symbolizer *s, struct dump *d, struct dump_addition *add, struct err *e) BASE_MUST_USE;

/* A report that a person reads: header, verdict per image, main thread first with its heaviest stack, who waits for whom, the other
 * threads. */
void symbolize_report(const struct dump *d, struct sink *out);

#endif
