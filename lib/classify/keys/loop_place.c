/* Finds the place where the recorder of an unmodified program believed that its loop waits, in the
 * dump's stacks. */
#include "classify/keys/keyer_private.h"
#include "dump/frame_address.h"

/* Splits "libuv.so.1+0x1f30 (uv__io_poll)" into the length of the image's name and the offset of
 * the place in the image. False: the text is of another form. */
static bool split_place(const char *text, size_t *image_len, uint64_t *offset) {
    const char *plus = strstr(text, "+0x");
    *offset = 0;
    if (!plus || plus == text) {
        return false;
    }
    *image_len = (size_t)(plus - text);
    for (const char *c = plus + 3; *c && *c != ' '; c++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, *c);
        if (!digit || *offset >> 60) {
            return false;
        }
        *offset = *offset << 4 | (uint64_t)(digit - digits);
    }
    return *offset > 0;
}

void place_begin(struct keyer *k, const struct dump *d) {
    const char *text = d->stall.loop_at;
    size_t len;
    uint64_t offset;
    k->loop_place = 0;
    k->place_counts = false;
    if (!text || !k->options.rules || !k->watches_main || !split_place(text, &len, &offset)) {
        return;
    }
    for (size_t i = 0; i < d->image_count; i++) {
        const char *name = dump_image_name(&d->images[i]);
        if (name && strlen(name) == len && memcmp(name, text, len) == 0 &&
            offset <= UINT64_MAX - d->images[i].load) {
            k->loop_place = d->images[i].load + offset;
            k->loop_image = (int32_t)i;
            return;
        }
    }
}

static int32_t place_image_of(const struct dump *d, const struct dump_stack *s, size_t i,
                              uint64_t address) {
    bool located = d->locations && s->locations && s->locations[i] < d->location_count;
    return located ? d->locations[s->locations[i]].image : dump_image_at(d, address);
}

void place_note(const struct keyer *k, const struct dump *d, struct judged_stack *s, size_t i,
                size_t at) {
    uint64_t address = address_of_frame(&k->table.addresses, s->stack, i);
    if (s->in_place_image == SIZE_MAX && place_image_of(d, s->stack, i, address) == k->loop_image) {
        s->in_place_image = at;
    }
    if (s->place == SIZE_MAX && address + 1 == k->loop_place && !dump_frame_exact(s->stack, i)) {
        s->place = at;
    }
}
