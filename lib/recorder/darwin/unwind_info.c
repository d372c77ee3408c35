/* Looks functions up in the two levels of __unwind_info: a sorted index of pages, each with sorted
 * entries. */
#include "darwin/unwind_info.h"

enum {
    VERSION = 1,
    HEADER_SIZE = 28,
    INDEX_SIZE = 12,
    REGULAR_SIZE = 8,
    COMPRESSED_SIZE = 4,
    REGULAR_PAGE = 2,
    COMPRESSED_PAGE = 3,
    MODE_SHIFT = 24,
    MODE_MASK = 0xf
};

struct header {
    uint32_t common, common_count; /* encodings that all pages share */
    uint32_t index, index_count;
};

/* A second-level page: a sorted array of entries. */
struct page {
    uint64_t at;    /* offset of the page in the section */
    uint64_t first; /* address from which a compressed page's function offsets count, as an offset
                       from the image's base */
    uint32_t kind;
    uint32_t entries, count;
    uint32_t encodings, encoding_count; /* encodings that only this compressed page has */
};

/* Reads bytes at an offset in the section, with checks; `at` may be a sum of 32-bit offsets, which
 * cannot overflow 64 bits. False: they are not all in the section, or cannot be read. */
static bool bytes_async(const struct unwind_info *u, uint64_t at, void *to, size_t size) {
    return at <= u->size && size <= u->size - at && u->address <= UINT64_MAX - u->size &&
           u->memory.read_async(u->memory.arg, u->address + at, to, size);
}

static bool page_word_async(const struct unwind_info *u, uint64_t at, uint32_t *value) {
    uint8_t raw[4];
    if (!bytes_async(u, at, raw, sizeof raw)) {
        return false;
    }
    *value = memory_u32_async(raw);
    return true;
}

static bool fits_async(const struct unwind_info *u, uint64_t at, uint32_t count, uint32_t size) {
    return at <= u->size && count <= (u->size - at) / size;
}

static bool read_header_async(const struct unwind_info *u, struct header *h) {
    uint8_t raw[HEADER_SIZE];
    if (!bytes_async(u, 0, raw, sizeof raw) || memory_u32_async(raw) != VERSION) {
        return false;
    }
    *h = (struct header){memory_u32_async(raw + 4), memory_u32_async(raw + 8),
                         memory_u32_async(raw + 20), memory_u32_async(raw + 24)};
    return fits_async(u, h->common, h->common_count, 4) &&
           fits_async(u, h->index, h->index_count, INDEX_SIZE);
}

static bool read_page_async(const struct unwind_info *u, uint64_t at, uint64_t first,
                            struct page *page) {
    uint8_t raw[12];
    *page = (struct page){.at = at, .first = first};
    if (!bytes_async(u, at, raw, 8)) {
        return false;
    }
    page->kind = memory_u32_async(raw);
    page->entries = memory_u32_async(raw + 4) & 0xffff;
    page->count = memory_u32_async(raw + 4) >> 16;
    if (page->kind == REGULAR_PAGE) {
        return fits_async(u, at + page->entries, page->count, REGULAR_SIZE);
    }
    if (page->kind != COMPRESSED_PAGE || !bytes_async(u, at, raw, sizeof raw)) {
        return false;
    }
    page->encodings = memory_u32_async(raw + 8) & 0xffff;
    page->encoding_count = memory_u32_async(raw + 8) >> 16;
    return fits_async(u, at + page->entries, page->count, COMPRESSED_SIZE) &&
           fits_async(u, at + page->encodings, page->encoding_count, 4);
}

/* Sets *start to the start of entry i of the page, as an offset from the image's base. False: it
 * cannot be read. */
static bool entry_start_async(const struct unwind_info *u, const struct page *page, uint32_t i,
                              uint64_t *start) {
    uint32_t value;
    bool regular = page->kind == REGULAR_PAGE;
    uint64_t step = regular ? REGULAR_SIZE : COMPRESSED_SIZE;
    if (!page_word_async(u, page->at + page->entries + i * step, &value)) {
        return false;
    }
    *start = regular ? value : page->first + (value & 0xffffff);
    return true;
}

static bool index_start_async(const struct unwind_info *u, const struct header *h, uint32_t i,
                              uint64_t *start) {
    uint32_t value;
    bool ok = page_word_async(u, h->index + (uint64_t)i * INDEX_SIZE, &value);
    *start = value;
    return ok;
}

/* One of the two sorted arrays that page_search_async searches. */
struct sorted {
    const struct header *header; /* the array is the index of this header, if page is NULL */
    const struct page
        *page; /* the array is the entries of this page; NULL: it is the header's index */
};

static bool start_at_async(const struct unwind_info *u, const struct sorted *in, uint32_t i,
                           uint64_t *start) {
    return in->page ? entry_start_async(u, in->page, i, start)
                    : index_start_async(u, in->header, i, start);
}

/* Sets *found to the last of `count` entries that begins at or before `offset`; UNWIND_INFO_NONE:
 * none does. UNWIND_INFO_BAD: an entry cannot be read. */
static enum unwind_info_status page_search_async(const struct unwind_info *u,
                                                 const struct sorted *in, uint32_t count,
                                                 uint64_t offset, uint32_t *found) {
    uint32_t lo = 0, hi = count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        uint64_t start;
        if (!start_at_async(u, in, mid, &start)) {
            return UNWIND_INFO_BAD;
        }
        if (start <= offset) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        return UNWIND_INFO_NONE;
    }
    *found = lo - 1;
    return UNWIND_INFO_OK;
}

static bool encoding_async(const struct unwind_info *u, const struct header *h,
                           const struct page *page, uint32_t i, uint32_t *encoding) {
    uint32_t entry;
    if (page->kind == REGULAR_PAGE) {
        return page_word_async(u, page->at + page->entries + (uint64_t)i * REGULAR_SIZE + 4,
                               encoding);
    }
    if (!page_word_async(u, page->at + page->entries + (uint64_t)i * COMPRESSED_SIZE, &entry)) {
        return false;
    }
    uint32_t which = entry >> 24;
    if (which < h->common_count) {
        return page_word_async(u, h->common + (uint64_t)which * 4, encoding);
    }
    which -= h->common_count;
    return which < page->encoding_count &&
           page_word_async(u, page->at + page->encodings + (uint64_t)which * 4, encoding);
}

enum unwind_info_status unwind_info_find_async(const struct unwind_info *info, uint64_t address,
                                               struct unwind_info_entry *out) {
    struct header header;
    struct page page;
    uint32_t i, k, page_at, encoding;
    uint64_t first, next, start, end;
    if (info->size == 0 || address < info->base || address - info->base > UINT32_MAX) {
        return UNWIND_INFO_NONE;
    }
    uint64_t offset = address - info->base;
    if (!read_header_async(info, &header)) {
        return UNWIND_INFO_BAD;
    }
    enum unwind_info_status st = page_search_async(info, &(struct sorted){.header = &header},
                                                   header.index_count, offset, &i);
    if (st != UNWIND_INFO_OK) {
        return st;
    }
    if (i + 1 == header.index_count) {
        return UNWIND_INFO_NONE; /* the last entry of the index only marks the end of the entry
                                    before it */
    }
    if (!index_start_async(info, &header, i, &first) ||
        !index_start_async(info, &header, i + 1, &next) ||
        !page_word_async(info, header.index + (uint64_t)i * INDEX_SIZE + 4, &page_at)) {
        return UNWIND_INFO_BAD;
    }
    if (page_at == 0) {
        return UNWIND_INFO_NONE;
    }
    if (!read_page_async(info, page_at, first, &page)) {
        return UNWIND_INFO_BAD;
    }
    st = page_search_async(info, &(struct sorted){.page = &page}, page.count, offset, &k);
    if (st != UNWIND_INFO_OK) {
        return st;
    }
    end = next;
    if (!entry_start_async(info, &page, k, &start) ||
        (k + 1 < page.count && !entry_start_async(info, &page, k + 1, &end)) ||
        !encoding_async(info, &header, &page, k, &encoding) || start > offset || end <= offset) {
        return UNWIND_INFO_BAD;
    }
    *out = (struct unwind_info_entry){info->base + start, info->base + end, encoding};
    return UNWIND_INFO_OK;
}

/* Decodes an encoding of arm64: UNWIND_ARM64_MODE_*, UNWIND_ARM64_FRAMELESS_STACK_SIZE_MASK. */
static struct unwind_rule rule_arm64_async(uint32_t encoding) {
    switch (encoding >> MODE_SHIFT & MODE_MASK) {
    case 2:
        return (struct unwind_rule){UNWIND_RULE_FIXED, (encoding >> 12 & 0xfff) * 16, 0};
    case 3:
        return (struct unwind_rule){.kind = UNWIND_RULE_DWARF};
    case 4:
        return (struct unwind_rule){.kind = UNWIND_RULE_FRAME};
    default:
        return (struct unwind_rule){.kind = UNWIND_RULE_NONE};
    }
}

/* Decodes an encoding of x86-64: UNWIND_X86_64_MODE_*, UNWIND_X86_64_FRAMELESS_STACK_SIZE,
 * _STACK_ADJUST. */
static struct unwind_rule rule_x86_64_async(uint32_t encoding) {
    uint32_t size = encoding >> 16 & 0xff;
    switch (encoding >> MODE_SHIFT & MODE_MASK) {
    case 1:
        return (struct unwind_rule){.kind = UNWIND_RULE_FRAME};
    case 2:
        return (struct unwind_rule){UNWIND_RULE_FIXED, size * 8, 0};
    case 3:
        return (struct unwind_rule){UNWIND_RULE_IN_CODE, (encoding >> 13 & 7) * 8, size};
    case 4:
        return (struct unwind_rule){.kind = UNWIND_RULE_DWARF};
    default:
        return (struct unwind_rule){.kind = UNWIND_RULE_NONE};
    }
}

struct unwind_rule unwind_rule_async(enum unwind_cpu cpu, uint32_t encoding) {
    return cpu == UNWIND_ARM64 ? rule_arm64_async(encoding) : rule_x86_64_async(encoding);
}
