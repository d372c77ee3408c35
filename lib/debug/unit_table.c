/* Begins a debug file, looks up units and addresses of code, and passes complaints about units on.
 */
#include "base/search.h"
#include "debug/debug_private.h"

void debug_begin_file(struct debug *d, struct debug_file *f, const struct sections *sections,
                      bool planless) {
    f->sections = *sections;
    f->present = true;
    bool with_alt = f != &d->alt && d->alt.present;
    die_reader_init(&f->reader, &f->sections, with_alt ? &d->alt.sections : NULL);
    f->reader.abbrevs.planless = planless;
}

struct unit_entry *debug_unit_at(struct debug_file *f, uint64_t offset) {
    size_t i = SEARCH_ABOVE(f->units, f->unit_count, head.end, offset);
    return i < f->unit_count && f->units[i].head.offset <= offset ? &f->units[i] : NULL;
}

struct unit_entry *debug_code_unit(struct debug *d, size_t unit) {
    return &d->main.units[d->code_units.data[unit]];
}

size_t debug_unit_count(const struct debug *d) {
    return d->map.objects.len > 0 ? d->map.objects.len : d->code_units.len;
}

uint64_t debug_unit_size(struct debug *d, size_t unit) {
    if (d->map.objects.len > 0) {
        return d->map.objects.data[unit].code_bytes;
    }
    const struct unit_entry *u = debug_code_unit(d, unit);
    return u->head.end - u->head.offset;
}

/* Limit on the range list entries that a unit may read: real units have far fewer entries than
 * bytes. */
enum { RANGES_FREE = 4096, RANGES_PER_BYTE = 4 };

struct range_base units_range_base(const struct debug_file *f, const struct unit_entry *u) {
    return (struct range_base){
        .sections = &f->sections,
        .version = u->head.version,
        .address_size = u->head.address_size,
        .offset_size = u->head.offset_size,
        .has_addr_base = u->has_addr_base,
        .has_rnglists_base = u->has_rnglists_base,
        .low = u->low,
        .addr_base = u->addr_base,
        .rnglists_base = u->rnglists_base,
        .ranges_base = u->ranges_base,
        .budget = RANGES_FREE + RANGES_PER_BYTE * (u->head.end - u->head.offset),
    };
}

void debug_blame(struct debug *d, struct unit_entry *u, const struct err *why) {
    if (!u->complained && d->complain) {
        d->complain(d->complain_ctx, d->path, u->head.offset, why);
    }
    u->complained = true;
}

bool debug_is_code(const void *ctx, uint64_t address) {
    const struct debug *d = ctx;
    if (address - d->main_code.low < d->main_code.high - d->main_code.low) {
        return true;
    }
    if (address >= debug_tombstones(d)) {
        return false;
    }
    if (d->code.len == 0) {
        return address != 0;
    }
    size_t i = SEARCH_ABOVE(d->code.data, d->code.len, high, address);
    return i < d->code.len && d->code.data[i].low <= address;
}
