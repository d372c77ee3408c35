/* Walks the trie of a Mach-O file's exports.
 *
 * A node is the size of its payload, as ULEB128, the payload (flags, then the offset of the
 * symbol), the number of its children as a byte, and for each child its label (the characters that
 * it adds to the name), a NUL and the offset of its node, as ULEB128. Source: ExportsTrie.cpp of
 * Apple's dyld, <mach-o/loader.h>. */
#include "base/reader.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "object/dyld_cache_private.h"

enum {
    EXPORT_KIND_MASK = 0x03, /* kind 0 is an address; others are thread-local or absolute */
    EXPORT_REEXPORT = 0x08,  /* flag: a symbol of another image */
    EXPORT_NAME_MAX = 64 << 10,
};

/* A node whose children are being visited. */
struct trie_node {
    size_t at;       /* offset of the next child's label */
    size_t name_len; /* bytes of the node's own name */
    unsigned left;   /* children not yet visited */
};

struct exports_walk {
    struct reader trie;
    export_each each;
    void *ctx;
    struct strbuf name;
    VEC(struct trie_node) path; /* from the root to the current node */
    size_t budget; /* bytes of nodes that may still be read: each node of an undamaged trie is read
                      once */
};

static enum st trie_damage(const struct exports_walk *w, size_t at, struct err *e) {
    return err_at(e, ERR_FORMAT, w->trie.name, w->trie.origin + at, "damaged trie of exports");
}

static enum st give_export(struct exports_walk *w, struct reader *payload, struct err *e) {
    uint64_t flags = reader_uleb128(payload);
    if ((flags & EXPORT_REEXPORT) != 0 || (flags & EXPORT_KIND_MASK) != 0) {
        return ST_OK;
    }
    uint64_t offset = reader_uleb128(payload);
    if (reader_failed(payload)) {
        return trie_damage(w, (size_t)(payload->start - w->trie.start), e);
    }
    return w->each(w->ctx, strbuf_cstr(&w->name), w->name.len, offset, e);
}

/* Enters the node at an offset, whose name is w->name, and gives its export, if it has one, to
 * w->each. */
static enum st enter_node(struct exports_walk *w, uint64_t offset, struct err *e) {
    struct reader r = w->trie;
    reader_seek(&r, offset);
    uint64_t size = reader_uleb128(&r);
    struct reader payload = reader_sub(&r, size, NULL);
    struct trie_node node = {.left = reader_u8(&r), .name_len = w->name.len};
    node.at = reader_pos(&r);
    if (reader_failed(&r) || node.at - (size_t)offset > w->budget) {
        return trie_damage(w, reader_pos(&r), e);
    }
    w->budget -= node.at - (size_t)offset;
    if (!VEC_PUSH(&w->path, node)) {
        return err_nomem(e);
    }
    return size > 0 ? give_export(w, &payload, e) : ST_OK;
}

/* Enters the next child of the innermost node, or leaves the node if it has no more. */
static enum st next_node(struct exports_walk *w, struct err *e) {
    struct trie_node *node = &w->path.data[w->path.len - 1];
    if (node->left == 0) {
        w->path.len--;
        return ST_OK;
    }
    struct reader r = w->trie;
    size_t len;
    reader_seek(&r, node->at);
    const char *label = reader_cstr(&r, &len);
    uint64_t child = reader_uleb128(&r);
    size_t used = reader_pos(&r) - node->at;
    if (reader_failed(&r) || used > w->budget || len > EXPORT_NAME_MAX - node->name_len) {
        return trie_damage(w, node->at, e);
    }
    w->budget -= used;
    node->left--;
    node->at = reader_pos(&r);
    strbuf_truncate(&w->name, node->name_len);
    strbuf_add(&w->name, label, len);
    enum st st = strbuf_check(&w->name, e);
    return st == ST_OK ? enter_node(w, child, e) : st;
}

enum st exports_each(struct reader trie, export_each each, void *ctx, struct err *e) {
    struct exports_walk w = {.trie = trie, .each = each, .ctx = ctx, .budget = reader_left(&trie)};
    enum st st = w.budget > 0 ? enter_node(&w, 0, e) : ST_OK;
    while (st == ST_OK && w.path.len > 0) {
        st = next_node(&w, e);
    }
    VEC_RELEASE(&w.path);
    strbuf_release(&w.name);
    return st;
}
