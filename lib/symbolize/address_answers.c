/* Prints answers. Many addresses of a file share a name or a path, so the printed form of each
 * string is cached, keyed by the string's pointer in the source, which stays valid as long as the
 * source. */
#include "symbolize/address_answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/arena.h"
#include "base/jsonw.h"
#include "base/parse.h"
#include "base/path.h"
#include "symbolize/symbolize.h"

/* The printed form of a function's two names with `behind_name` after it, or of a path, which is
 * `first`. */
struct printed {
    const char *first, *second; /* strings of the source; both NULL = free slot */
    const char *text;
    size_t len;
};

struct printed_table {
    struct printed *slots;
    size_t count, slot_count; /* slot_count: a power of two */
};

struct answerer {
    const struct address_question *q;
    struct printed_table names, paths;
    struct arena arena;
    struct strbuf text;        /* scratch for one string */
    struct strbuf behind_name; /* text after a name: " (in IMAGE)", or the JSON from the name to the
                                  line number */
    struct strbuf module;      /* JSON from the end of an address to its first symbol */
    struct lookup_hit hit;
};

static void quote(struct strbuf *out, const char *s) {
    struct sink sink = sink_to_strbuf(out);
    struct jsonw w = jsonw_init(&sink);
    jsonw_cstr(&w, s);
    if (sink_close(&sink, NULL) != ST_OK) {
        out->failed = true;
    }
}

enum st answerer_new(struct answerer **out, const struct address_question *q, struct err *e) {
    struct answerer *a = calloc(1, sizeof *a);
    if (!a) {
        return err_nomem(e);
    }
    a->q = q;
    if (q->llvm_json) {
        strbuf_addstr(&a->behind_name, ",\"Line\":");
    } else {
        strbuf_addf(&a->behind_name, " (in %s)", q->image);
    }
    strbuf_addstr(&a->module, "\",\"ModuleName\":");
    quote(&a->module, q->path);
    strbuf_addstr(&a->module, ",\"Symbol\":[");
    if (a->behind_name.failed || a->module.failed) {
        answerer_free(a);
        return err_nomem(e);
    }
    *out = a;
    return ST_OK;
}

void answerer_free(struct answerer *a) {
    if (a) {
        free(a->names.slots);
        free(a->paths.slots);
        arena_release(&a->arena);
        strbuf_release(&a->text);
        strbuf_release(&a->behind_name);
        strbuf_release(&a->module);
        free(a);
    }
}

/* ---- printed forms ---- */

static struct printed *answerer_find_slot(const struct printed_table *t, const char *first,
                                          const char *second) {
    /* Fibonacci hashing suffices: the pointers are not chosen by an input. */
    uint64_t key = (uint64_t)(uintptr_t)first * 3 + (uint64_t)(uintptr_t)second;
    size_t hash = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (size_t i = hash & (t->slot_count - 1);; i = (i + 1) & (t->slot_count - 1)) {
        struct printed *p = &t->slots[i];
        if ((p->first == first && p->second == second) || (!p->first && !p->second)) {
            return p;
        }
    }
}

static bool answerer_grow(struct printed_table *t) {
    struct printed_table bigger = {.slot_count = t->slot_count ? t->slot_count * 2 : 1024,
                                   .count = t->count};
    bigger.slots = calloc(bigger.slot_count, sizeof *bigger.slots);
    if (!bigger.slots) {
        return false;
    }
    for (size_t i = 0; i < t->slot_count; i++) {
        const struct printed *p = &t->slots[i];
        if (p->first || p->second) {
            *answerer_find_slot(&bigger, p->first, p->second) = *p;
        }
    }
    free(t->slots);
    *t = bigger;
    return true;
}

/* Returns the slot of the strings; its text is NULL if they are new. NULL: out of memory. */
static struct printed *slot_for(struct printed_table *t, const char *first, const char *second) {
    if (t->count * 2 >= t->slot_count && !answerer_grow(t)) {
        return NULL;
    }
    return answerer_find_slot(t, first, second);
}

/* Keeps a->text in slot p as the printed form of the strings. ST_ERR: out of memory. */
static enum st answerer_keep(struct answerer *a, struct printed_table *t, struct printed *p,
                             const char *first, const char *second, struct err *e) {
    if (strbuf_check(&a->text, e) != ST_OK) {
        return ST_ERR;
    }
    char *text = arena_strdup(&a->arena, strbuf_cstr(&a->text), a->text.len);
    if (!text) {
        return err_nomem(e);
    }
    *p = (struct printed){first, second, text, a->text.len};
    t->count++;
    return ST_OK;
}

static enum st put_name(struct answerer *a, const struct lookup_frame *f, struct strbuf *out,
                        struct err *e) {
    if (!f->function && !f->linkage) {
        strbuf_addstr(out, a->q->llvm_json ? "\"\"" : "???");
        strbuf_add(out, a->behind_name.data, a->behind_name.len);
        return ST_OK;
    }
    struct printed *p = slot_for(&a->names, f->function, f->linkage);
    if (!p) {
        return err_nomem(e);
    }
    if (!p->text) {
        strbuf_clear(&a->text);
        if (symbolize_name(f, a->q->names, &a->text, NULL, e) != ST_OK) {
            return ST_ERR;
        }
        struct strbuf plain = a->text;
        a->text = (struct strbuf){0};
        if (a->q->llvm_json) {
            quote(&a->text, strbuf_cstr(&plain));
        } else if (plain.len == 0) {
            strbuf_addstr(&a->text, "???");
        } else {
            text_add_shown(&a->text, strbuf_cstr(&plain), plain.len);
        }
        strbuf_release(&plain);
        strbuf_add(&a->text, a->behind_name.data, a->behind_name.len);
        if (answerer_keep(a, &a->names, p, f->function, f->linkage, e) != ST_OK) {
            return ST_ERR;
        }
    }
    strbuf_add(out, p->text, p->len);
    return ST_OK;
}

static enum st put_path(struct answerer *a, const char *path, struct strbuf *out, struct err *e) {
    if (!path) {
        strbuf_add(out, "\"\"", a->q->llvm_json ? 2 : 0);
        return ST_OK;
    }
    struct printed *p = slot_for(&a->paths, path, NULL);
    if (!p) {
        return err_nomem(e);
    }
    if (!p->text) {
        strbuf_clear(&a->text);
        if (a->q->llvm_json) {
            quote(&a->text, path);
        } else {
            const char *shown = a->q->full_path ? path : path_name(path);
            text_add_shown(&a->text, shown, strlen(shown));
        }
        if (answerer_keep(a, &a->paths, p, path, NULL, e) != ST_OK) {
            return ST_ERR;
        }
    }
    strbuf_add(out, p->text, p->len);
    return ST_OK;
}

/* ---- atos ---- */

static enum st put_atos_frame(struct answerer *a, const struct lookup_frame *f, uint64_t address,
                              bool real, struct strbuf *out, struct err *e) {
    enum st st = put_name(a, f, out, e);
    if (st == ST_OK && f->file) {
        strbuf_add(out, " (", 2);
        st = put_path(a, f->file, out, e);
        strbuf_addc(out, ':');
        strbuf_addu64(out, f->line);
        strbuf_addc(out, ')');
    } else if (real) { /* A cold part of a function may lie below its start. */
        bool below = address < f->start;
        strbuf_add(out, below ? " - " : " + ", 3);
        strbuf_addu64(out, below ? f->start - address : address - f->start);
    }
    return st;
}

static enum st put_atos(struct answerer *a, bool found, uint64_t asked, uint64_t address,
                        struct strbuf *out, struct err *e) {
    const struct address_question *q = a->q;
    enum st st = ST_OK;
    if (!found) {
        strbuf_addf(out, "0x%016llx", (unsigned long long)asked);
        if (address >= q->base && address < q->text_end) {
            strbuf_add(out, a->behind_name.data, a->behind_name.len);
        }
    } else {
        size_t last = a->hit.frame_count - 1;
        for (size_t i = q->inlines ? 0 : last; i <= last && st == ST_OK; i++) {
            st = put_atos_frame(a, &a->hit.frames[i], address, i == last, out, e);
            if (i < last) {
                strbuf_addstr(out, q->delimiter);
            }
        }
    }
    strbuf_addc(out, '\n');
    return st;
}

/* ---- llvm-symbolizer ---- */

/* Appends a literal, whose length the compiler knows. */
static inline void put_literal(struct strbuf *out, const char *s) {
    strbuf_add(out, s, strlen(s));
}

/* Returns the offset of a file address in the section of q->unlinked that holds it; the address
 * itself if none does. */
static uint64_t offset_of(const struct address_question *q, uint64_t address) {
    for (size_t i = 0; i < q->unlinked_count; i++) {
        const struct address_section *s = &q->unlinked[i];
        if (address >= s->low && address - s->low < s->size) {
            return address - s->low;
        }
    }
    return address;
}

/* Appends a frame as llvm-symbolizer prints it. That program takes the start of an inlined call
 * (not `real`) from DW_AT_low_pc, and prints none without it; the start of a function it always
 * knows. A start of 0 is printed as none. ST_ERR: out of memory. */
static enum st put_llvm_symbol(struct answerer *a, const struct lookup_frame *f, bool real,
                               struct strbuf *out, struct err *e) {
    uint64_t start = real ? f->start : f->low_pc;
    bool has_start = start != 0;
    start = offset_of(a->q, start);
    put_literal(out, "{\"Column\":");
    strbuf_addu64(out, f->column);
    put_literal(out, ",\"Discriminator\":");
    strbuf_addu64(out, f->discriminator);
    put_literal(out, ",\"FileName\":");
    enum st st = put_path(a, f->file, out, e);
    put_literal(out, ",\"FunctionName\":");
    if (st == ST_OK) {
        st = put_name(a, f, out, e);
    }
    strbuf_addu64(out, f->line);
    put_literal(out, ",\"StartAddress\":\"");
    if (has_start) {
        put_literal(out, "0x");
        strbuf_addhex(out, start);
    }
    put_literal(out, "\",\"StartFileName\":");
    if (st == ST_OK) {
        st = put_path(a, f->start_file, out, e);
    }
    put_literal(out, ",\"StartLine\":");
    strbuf_addu64(out, f->start_line);
    strbuf_addc(out, '}');
    return st;
}

/* Appends an answer as llvm-symbolizer --output-style=JSON prints it for an address from stdin. An
 * address that was not found gets one symbol without names. ST_ERR: out of memory. */
static enum st put_llvm_json(struct answerer *a, bool found, uint64_t asked, struct strbuf *out,
                             struct err *e) {
    static const struct lookup_frame nothing;
    size_t count = found ? a->hit.frame_count : 1;
    enum st st = ST_OK;
    put_literal(out, "{\"Address\":\"0x");
    strbuf_addhex(out, asked);
    strbuf_add(out, a->module.data, a->module.len);
    for (size_t i = 0; i < count && st == ST_OK; i++) {
        strbuf_add(out, ",", i > 0);
        st = put_llvm_symbol(a, found ? &a->hit.frames[i] : &nothing, i + 1 == count, out, e);
    }
    put_literal(out, "]}\n");
    return st;
}

/* ---- answers ---- */

/* Sets *out to the file address at offset `asked` of the first section that is long enough to have
 * it. False: no section is. */
static bool address_in_section(const struct address_question *q, uint64_t asked, uint64_t *out) {
    for (size_t i = 0; i < q->section_count; i++) {
        if (asked < q->sections[i].size) {
            *out = q->sections[i].low + asked;
            return true;
        }
    }
    return false;
}

/* Turns a user's address into a file address, as q->meaning says. False: no section is long enough
 * for it. */
static bool file_address(const struct address_question *q, uint64_t asked, uint64_t *out) {
    *out = asked;
    switch (q->meaning) {
    case MEANS_LOADED:
        *out = asked - q->load + q->base;
        break;
    case MEANS_OFFSET:
        *out = asked + q->base;
        break;
    case MEANS_SLID:
        *out = asked - q->slide;
        return q->section_count == 0 || address_in_section(q, *out, out);
    case MEANS_FILE:
        return q->section_count == 0 || address_in_section(q, asked, out);
    }
    return true;
}

enum st answerer_answer(struct answerer *a, const char *word, size_t len, struct strbuf *out,
                        struct err *e) {
    const struct address_question *q = a->q;
    uint64_t asked = 0;
    struct err why;
    err_clear(&why); /* err_clear() is cheaper than an initialiser, because the struct is large */
    if (!parse_hex(word, len, &asked)) {
        if (!q->llvm_json) {
            strbuf_add(out, word, len);
            strbuf_addc(out, '\n');
        }
        return err_set(e, ERR_USAGE, "'%.*s' is no hexadecimal address", len > 80 ? 80 : (int)len,
                       word);
    }
    uint64_t address;
    bool there = file_address(q, asked, &address);
    uint64_t looked_up = q->arm32 ? address & ~UINT64_C(1) : address;
    enum st st = q->source && there ? lookup_address(q->source, looked_up, &a->hit, &why) : ST_NONE;
    if (st == ST_ERR) {
        err_copy(e, &why);
        err_context(e, "%s", q->path);
    }
    bool found = st == ST_OK && a->hit.frame_count > 0;
    enum st put = q->llvm_json ? put_llvm_json(a, found, asked, out, e)
                               : put_atos(a, found, asked, there ? looked_up : q->text_end, out, e);
    return st == ST_ERR || put != ST_OK ? ST_ERR : strbuf_check(out, e);
}
