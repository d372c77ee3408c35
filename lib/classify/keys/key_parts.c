/* Looks up and adds single frames of a key, and makes its text and id. */
#include "base/hash.h"
#include "classify/keys/keyer_private.h"

bool key_has(const struct key *key, const struct frame_info *info) {
    for (size_t i = 0; i < key->count; i++) {
        if (key->frames[i].info->canonical == info->canonical) {
            return true;
        }
    }
    return false;
}

void key_add(struct key *key, const struct key_frame *f) {
    if (key->count < KEY_FRAMES_MAX) {
        key->frames[key->count++] = *f;
    }
}

struct key_frame key_frame_of(const struct judged_frame *from) {
    struct key_frame f = {.info = from->info};
    if (from->line) {
        f.file = from->line->line ? from->line->file : NULL;
        f.line = from->line->line;
    }
    return f;
}

/* ---- text and id ---- */

void key_text(const struct key *key, struct strbuf *out) {
    for (size_t i = 0; i < key->count; i++) {
        key_text_add(out, key->frames[i].info->image, key->frames[i].info->function);
    }
}

void key_text_add(struct strbuf *out, const char *image, const char *function) {
    strbuf_addstr(out, image);
    strbuf_addc(out, '\t');
    strbuf_addstr(out, function);
    strbuf_addc(out, '\n');
}

uint64_t key_number(char level, const char *text, size_t len) {
    return key_number_of(level, hash_bytes(text, len));
}

uint64_t key_number_of(char level, uint64_t text_hash) {
    /* The level is hashed together with the hash of the text, so that the ids of equal texts of two
     * levels are equal only by chance. */
    uint64_t parts = text_hash ^ (uint64_t)(unsigned char)level;
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(parts >> (8 * i));
    }
    return hash_bytes(bytes, sizeof bytes) >> 16;
}

void key_number_text(uint64_t number, char out[KEY_ID_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < KEY_ID_SIZE - 1; i++) {
        out[i] = digits[number >> (44 - 4 * i) & 0xf];
    }
    out[KEY_ID_SIZE - 1] = 0;
}

void key_id(char level, const char *text, size_t len, char out[KEY_ID_SIZE]) {
    key_number_text(key_number(level, text, len), out);
}

uint64_t keyer_number(struct keyer *k, char level, const struct key *key) {
    strbuf_clear(&k->text);
    key_text(key, &k->text);
    return key->count ? key_number(level, strbuf_cstr(&k->text), k->text.len) : 0;
}
