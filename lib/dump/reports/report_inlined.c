/* Makes one frame of neighbouring rows of a stack with the same address, which are a function and
 * the functions inlined into it, as "[inlined]" in .crash, "inline" in .ips and equal addresses in
 * Sentry's and Bugsnag's events say. */
#include <stdio.h>
#include <string.h>

#include "base/jsonw.h"
#include "dump/dump.h"
#include "dump/reports/report_private.h"

/* ---- rows of one address ---- */

static const struct report_name *row_name(const struct report *r, size_t row) {
    return &r->names.data[r->rows.data[row].name - 1];
}

/* Counts the rows, from the named row `row` on, that are one function and the functions inlined
 * into it: neighbours that have the same address and each a name. A row with the same name as the
 * first row or as the row before begins a new chain, because it is a recursive call. */
static size_t chain_length(const struct report *r, size_t row, size_t end) {
    const struct report_frame *rows = r->rows.data;
    size_t next = row + 1;
    while (next < end && rows[next].address == rows[row].address && rows[next].name > 0 &&
           rows[next].name != rows[row].name && rows[next].name != rows[next - 1].name) {
        next++;
    }
    return next - row;
}

/* Do both chains have the same names, compared from their last rows for as many rows as the
 * shorter one has? */
static bool chains_agree(const struct report *r, const struct report_chain *a, size_t first,
                         size_t count) {
    size_t common = a->count < count ? a->count : count;
    for (size_t i = 1; i <= common; i++) {
        if (strcmp(row_name(r, a->first + a->count - i)->symbol,
                   row_name(r, first + count - i)->symbol) != 0) {
            return false;
        }
    }
    return true;
}

/* Notes a chain of rows under its address. If an earlier chain of the address has other names, the
 * address is marked torn. Of the chains of an address the longest is kept. False: out of memory. */
static bool note_chain(struct report *r, size_t first, size_t count) {
    const struct report_chain fresh = {r->rows.data[first].address, first, count, false};
    bool added;
    if (!VEC_RESERVE(&r->chains, 1)) {
        return false;
    }
    const struct map_entry *entry =
        map_put(&r->chain_index, &fresh.address, sizeof fresh.address, r->chains.len, &added);
    if (!entry || added) {
        return entry && VEC_PUSH(&r->chains, fresh);
    }
    struct report_chain *chain = &r->chains.data[entry->value];
    chain->torn = chain->torn || !chains_agree(r, chain, first, count);
    if (count > chain->count) {
        chain->first = first;
        chain->count = count;
    }
    return true;
}

static bool note_stack(struct report *r, const struct report_stack *s) {
    const size_t end = s->first + s->count;
    for (size_t row = s->first, count = 1; row < end; row += count) {
        count = r->rows.data[row].name > 0 ? chain_length(r, row, end) : 1;
        if (r->rows.data[row].name > 0 && !note_chain(r, row, count)) {
            return false;
        }
    }
    return true;
}

/* Is any of the rows taken for an inlined function only because the addresses are equal, and may
 * this address be the load address of an image? Load addresses are multiples of the page size, and
 * no code begins there. */
static bool is_load_address(const struct report *r, const struct report_chain *chain) {
    enum { PAGE = 0x1000 };
    bool told = true;
    for (size_t i = 0; i + 1 < chain->count; i++) {
        told = told && row_name(r, chain->first + i)->inlined;
    }
    return !told && chain->address % PAGE == 0;
}

static const struct report_chain *chain_at(const struct report *r, uint64_t address) {
    const struct map_entry *entry = map_get(&r->chain_index, &address, sizeof address);
    return entry ? &r->chains.data[entry->value] : NULL;
}

/* ---- the joined stacks ---- */

/* Chooses where made-up addresses begin, unless one was given before. If the report has addresses
 * as low as the usual made-up ones, they begin at 2^46, above the addresses that processes have. */
static void place_torn(struct report *r) {
    const uint64_t low = UINT64_C(1) << 28, high = UINT64_C(1) << 46;
    bool taken = false;
    for (size_t i = 0; i < r->images.len; i++) {
        taken = taken || r->images.data[i].load < low;
    }
    for (size_t i = 0; i < r->rows.len; i++) {
        taken = taken || (r->rows.data[i].address > 0 && r->rows.data[i].address < low);
    }
    r->named_first = taken && r->named_places.count == 0 ? high : r->named_first;
}

/* Is the address in an image of the app's own code? */
static bool in_app_image(const struct report *r, const struct dump *images, uint64_t address) {
    int32_t image = dump_image_at(images, address);
    return image >= 0 && report_is_in_app(r, &r->images.data[image]);
}

/* Adds each row of a torn chain as a frame of its own. */
static enum st add_torn(struct report *r, const struct dump *images, size_t first, size_t count) {
    enum st st = ST_OK;
    for (size_t i = 0; i < count && st == ST_OK; i++) {
        struct report_name name = *row_name(r, first + i);
        name.in_app = name.in_app || in_app_image(r, images, name.address);
        st = report_unplaced_frame(r, &name);
    }
    return st;
}

/* Makes a stack of joined frames from its rows. *torn is increased by the number of frames that
 * became frames without an address. */
static enum st join_stack(struct report *r, const struct dump *images, struct report_stack *s,
                          uint64_t *torn) {
    const size_t end = s->first + s->count;
    struct report_stack joined = *s;
    enum st st = ST_OK;
    joined.first = r->frames.len;
    for (size_t row = s->first, count = 1; row < end && st == ST_OK; row += count) {
        struct report_frame frame = r->rows.data[row];
        const struct report_chain *chain = frame.name > 0 ? chain_at(r, frame.address) : NULL;
        count = chain ? chain_length(r, row, end) : 1;
        if (chain && chain->torn) {
            *torn += count;
            st = add_torn(r, images, row, count);
        } else {
            frame.name = r->rows.data[row + count - 1].name;
            st = report_add_frame(r, frame);
        }
    }
    report_end_stack(r, &joined);
    *s = joined;
    return st;
}

static enum st join_stacks(struct report *r) {
    struct dump images;
    uint64_t torn = 0;
    enum st st = report_probe_images(r, &images);
    for (size_t i = 0; i < r->threads.len && st == ST_OK; i++) {
        st = join_stack(r, &images, &r->threads.data[i].stack, &torn);
    }
    for (size_t i = 0; i < r->samples.len && st == ST_OK; i++) {
        st = join_stack(r, &images, &r->samples.data[i], &torn);
    }
    report_lack_count(r, torn, "frame's address, beside which different names stand",
                      "frames' addresses, beside which different names stand");
    return st;
}

enum st report_join_inlined(struct report *r) {
    bool noted = true;
    if (r->name_keys.count == 0) {
        return ST_OK; /* no address has several names */
    }
    r->rows.data = r->frames.data;
    r->rows.len = r->frames.len;
    r->rows.cap = r->frames.cap;
    r->frames.data = NULL;
    r->frames.len = r->frames.cap = 0;
    for (size_t i = 0; noted && i < r->threads.len; i++) {
        noted = note_stack(r, &r->threads.data[i].stack);
    }
    for (size_t i = 0; noted && i < r->samples.len; i++) {
        noted = note_stack(r, &r->samples.data[i]);
    }
    if (!noted) {
        return err_nomem(r->e);
    }
    for (size_t i = 0; i < r->chains.len; i++) {
        struct report_chain *chain = &r->chains.data[i];
        chain->torn = chain->torn || is_load_address(r, chain);
    }
    place_torn(r);
    return join_stacks(r);
}

/* ---- writing ---- */

/* Writes the functions inlined at an address, innermost first: [SYMBOL, FILE, LINE], or [SYMBOL] if
 * the file is not known. */
static void write_inlined(const struct report *r, struct jsonw *w,
                          const struct report_chain *chain) {
    jsonw_begin_array(w);
    for (size_t i = 0; i + 1 < chain->count; i++) {
        const struct report_name *n = row_name(r, chain->first + i);
        jsonw_begin_array(w);
        jsonw_cstr(w, n->symbol);
        if (n->file) {
            jsonw_cstr(w, n->file);
            jsonw_u64(w, n->line);
        }
        jsonw_end_array(w);
    }
    jsonw_end_array(w);
}

static void write_name(const struct report *r, struct jsonw *w, const struct report_name *n,
                       const struct report_chain *chain) {
    const bool inlined = chain && chain->count > 1;
    char key[24];
    (void)snprintf(key, sizeof key, "%llu", (unsigned long long)n->address);
    jsonw_member_array(w, key);
    jsonw_cstr(w, n->symbol);
    jsonw_u64(w, n->offset);
    if (n->file || n->in_app || inlined) {
        jsonw_cstr(w, n->file ? n->file : "");
        jsonw_u64(w, n->line);
    }
    if (n->in_app || inlined) {
        jsonw_bool(w, n->in_app);
    }
    if (inlined) {
        write_inlined(r, w, chain);
    }
    jsonw_end_array(w);
}

void report_write_names(const struct report *r, struct jsonw *w) {
    if (r->names.len == 0) {
        return;
    }
    jsonw_member_object(w, "names");
    for (size_t i = 0; i < r->names.len; i++) {
        const struct report_name *n = &r->names.data[i];
        const struct report_chain *chain = chain_at(r, n->address);
        const struct map_entry *last = map_get(&r->name_index, &n->address, sizeof n->address);
        bool written = last && last->value == i;
        if (chain) {
            written = !chain->torn && row_name(r, chain->first + chain->count - 1) == n;
        }
        if (written) {
            write_name(r, w, n, chain);
        }
    }
    jsonw_end_object(w);
}
