/* Finds and reads the entries of .eh_frame: the search table of .eh_frame_hdr, CIEs and FDEs. */
#include "unwind/cfi_private.h"

#include <string.h>

enum {
    HEADER_VERSION = 1,
    TABLE_ENCODING = 0x3b, /* data-relative, signed 4 bytes, as all linkers write */
    /* Maximum number of entries that are read in a module without a search table. */
    SCAN_MAX = 200000,
    AUGMENTATION_MAX = 8
};

/* Returns a cursor from `address` to the end of the segment that holds it; a failed cursor if no
 * segment does. */
static struct cfi_cursor cursor_at_async(const struct cfi_module *m, uint64_t address) {
    for (unsigned i = 0; i < m->segment_count && i < CFI_SEGMENTS; i++) {
        const struct cfi_segment *s = &m->segments[i];
        if (address >= s->address && address - s->address < s->size) {
            uint64_t skip = address - s->address;
            return (struct cfi_cursor){s->bytes + skip, s->size - skip, address, false};
        }
    }
    return (struct cfi_cursor){NULL, 0, address, true};
}

/* Reads the length of an entry and limits *c to the entry's bytes. False at the terminator, or if
 * the entry does not fit. */
static bool open_entry_async(struct cfi_cursor *c) {
    uint64_t length = cfi_fixed_async(c, 4);
    if (length == 0xffffffff) {
        length = cfi_fixed_async(c, 8);
    }
    if (c->failed || length == 0 || length > c->left) {
        return false;
    }
    c->left = length;
    return true;
}

/* Reads the augmentation data of a CIE. The letters after the 'z' of its augmentation string name
 * the data. False: they are damaged. */
static bool read_augmentation_async(struct cfi_cursor *c, const char *letters,
                                    struct cfi_cie *cie) {
    uint64_t size = cfi_uleb_async(c);
    struct cfi_cursor data = *c;
    cfi_skip_async(c, size);
    if (c->failed) {
        return false;
    }
    data.left = size;
    for (const char *l = letters; *l; l++) {
        uint8_t encoding;
        switch (*l) {
        case 'R':
            cie->encoding = (uint8_t)cfi_fixed_async(&data, 1);
            break;
        case 'P': /* only the size of the personality routine's pointer matters */
            encoding = (uint8_t)cfi_fixed_async(&data, 1);
            cfi_pointer_value_async(&data, encoding & CFI_PE_FORMAT);
            break;
        case 'L':
            cfi_skip_async(&data, 1);
            break;
        case 'S':
            cie->signal_frame = true;
            break;
        case 'B': /* return addresses are signed with key B (AArch64) */
        case 'G': /* stack slots are tagged (AArch64) */
            break;
        default: /* the data's size is known, so that parsing may end at an unknown letter */
            return !data.failed;
        }
    }
    return !data.failed;
}

static bool read_cie_async(struct cfi_cursor c, struct cfi_cie *cie) {
    memset(cie, 0, sizeof *cie);
    if (!open_entry_async(&c) || cfi_fixed_async(&c, 4) != 0) {
        return false;
    }
    uint64_t version = cfi_fixed_async(&c, 1);
    char letters[AUGMENTATION_MAX + 1] = {0};
    unsigned n = 0;
    for (uint64_t byte; (byte = cfi_fixed_async(&c, 1)) != 0; n++) {
        if (n == AUGMENTATION_MAX) {
            return false;
        }
        letters[n] = (char)byte;
    }
    if ((version != 1 && version != 3) || (n > 0 && letters[0] != 'z')) {
        return false;
    }
    cie->code_align = cfi_uleb_async(&c);
    cie->data_align = cfi_sleb_async(&c);
    uint64_t ra = version == 1 ? cfi_fixed_async(&c, 1) : cfi_uleb_async(&c);
    cie->has_sizes = n > 0;
    if (c.failed || ra != CFI_RA || (n > 0 && !read_augmentation_async(&c, letters + 1, cie))) {
        return false;
    }
    cie->program = c;
    return true;
}

/* Reads the FDE at c, whose length is not read yet. CFI_NONE: the entry is a CIE. If next is not
 * NULL and the entry's length is valid, *next becomes the entry after it. */
static enum cfi_status read_fde_async(const struct cfi_module *m, struct cfi_cursor c,
                                      struct cfi_fde *fde, struct cfi_cursor *next) {
    struct cfi_cursor after = c;
    if (!open_entry_async(&c)) {
        return CFI_BAD;
    }
    cfi_skip_async(&after, c.address - after.address + c.left);
    if (next) {
        *next = after;
    }
    uint64_t id_at = c.address;
    uint64_t cie_back = cfi_fixed_async(&c, 4);
    if (c.failed || cie_back > id_at) {
        return CFI_BAD;
    }
    if (cie_back == 0) {
        return CFI_NONE;
    }
    if (!read_cie_async(cursor_at_async(m, id_at - cie_back), &fde->cie)) {
        return CFI_BAD;
    }
    fde->start = cfi_pointer_async(&c, fde->cie.encoding, m->header);
    fde->size = cfi_pointer_async(&c, fde->cie.encoding & CFI_PE_FORMAT, 0);
    if (fde->cie.has_sizes) {
        cfi_skip_async(&c, cfi_uleb_async(&c));
    }
    fde->program = c;
    return c.failed ? CFI_BAD : CFI_OK;
}

static bool fde_covers_async(const struct cfi_fde *fde, uint64_t address) {
    return address >= fde->start && address - fde->start < fde->size;
}

/* Searches the entries of .eh_frame, at most SCAN_MAX, in a module without a search table. A
 * damaged entry is skipped if its length is valid; else the search ends. */
static enum cfi_status scan_async(const struct cfi_module *m, uint64_t frames, uint64_t address,
                                  struct cfi_fde *fde) {
    struct cfi_cursor c = cursor_at_async(m, frames);
    for (unsigned i = 0; i < SCAN_MAX && !c.failed; i++) {
        struct cfi_cursor next = c;
        next.failed = true;
        if (read_fde_async(m, c, fde, &next) == CFI_OK && fde_covers_async(fde, address)) {
            return CFI_OK;
        }
        c = next;
    }
    return CFI_NONE;
}

/* Searches the table of (function start, FDE) pairs, which are relative to the header, by
 * bisection. CFI_NONE: no FDE covers the address. CFI_BAD: the table or the FDE is damaged. */
static enum cfi_status cfi_search_async(const struct cfi_module *m, struct cfi_cursor table,
                                        uint64_t count, uint64_t address, struct cfi_fde *fde) {
    uint64_t lo = 0, hi = count < table.left / 8 ? count : table.left / 8;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        struct cfi_cursor entry = table;
        cfi_skip_async(&entry, mid * 8);
        if (cfi_pointer_async(&entry, TABLE_ENCODING, m->header) <= address) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        return CFI_NONE;
    }
    cfi_skip_async(&table, (lo - 1) * 8 + 4);
    uint64_t at = cfi_pointer_async(&table, TABLE_ENCODING, m->header);
    if (table.failed || read_fde_async(m, cursor_at_async(m, at), fde, NULL) != CFI_OK) {
        return CFI_BAD;
    }
    return fde_covers_async(fde, address) ? CFI_OK : CFI_NONE;
}

static enum cfi_status find_fde_async(const struct cfi_module *m, uint64_t address,
                                      struct cfi_fde *fde) {
    struct cfi_cursor c = cursor_at_async(m, m->header);
    if (m->header == 0 || c.failed) {
        return CFI_NONE;
    }
    if (m->header_size < c.left) {
        c.left = m->header_size;
    }
    uint64_t version = cfi_fixed_async(&c, 1);
    uint8_t frames_encoding = (uint8_t)cfi_fixed_async(&c, 1);
    uint8_t count_encoding = (uint8_t)cfi_fixed_async(&c, 1);
    uint8_t table_encoding = (uint8_t)cfi_fixed_async(&c, 1);
    if (c.failed || version != HEADER_VERSION || frames_encoding == CFI_PE_OMIT) {
        return CFI_BAD;
    }
    uint64_t frames = cfi_pointer_async(&c, frames_encoding, m->header);
    if (c.failed) {
        return CFI_BAD;
    }
    if (count_encoding == CFI_PE_OMIT || table_encoding != TABLE_ENCODING) {
        return scan_async(m, frames, address, fde);
    }
    uint64_t count = cfi_pointer_async(&c, count_encoding, m->header);
    return c.failed ? CFI_BAD : cfi_search_async(m, c, count, address, fde);
}

enum cfi_status cfi_find_row_async(const struct cfi_module *module, uint64_t address,
                                   struct cfi_row *row) {
    struct cfi_fde fde;
    enum cfi_status st = find_fde_async(module, address, &fde);
    if (st != CFI_OK) {
        return st;
    }
    memset(row, 0, sizeof *row);
    row->start = fde.start;
    row->size = fde.size;
    row->signal_frame = fde.cie.signal_frame;
    return cfi_run_async(&fde, address, row) ? CFI_OK : CFI_BAD;
}

bool cfi_covers_async(const struct cfi_module *module, uint64_t address) {
    struct cfi_fde fde;
    return find_fde_async(module, address, &fde) == CFI_OK;
}
