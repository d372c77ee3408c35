/* An output to which the recorder's writers write bytes. After the first failure `failed` stays
 * set, and later writes do nothing. */
#ifndef STALLREC_REC_OUT_H
#define STALLREC_REC_OUT_H

#include <stdbool.h>
#include <stddef.h>

struct rec_out {
    bool (*write)(void *ctx, const void *bytes, size_t len); /* writes all, or returns false */
    void *ctx;
    bool failed;
};

static inline void rec_out_write(struct rec_out *out, const void *bytes, size_t len) {
    if (!out->failed && len > 0 && !out->write(out->ctx, bytes, len)) {
        out->failed = true;
    }
}

#endif
