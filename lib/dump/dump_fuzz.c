/* Parses any bytes as a document. An accepted document is spliced: the result must be accepted with
 * the same frames (unless it passes a limit), and must not change when it is spliced again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "dump/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static const uint32_t zeros[DUMP_FRAMES_MAX];

/* Splices the same location into every frame. */
static void splice_into(const struct dump *d, struct strbuf *out) {
    struct dump_line line = {"f", "_f", NULL, 1, 2};
    struct dump_location location = {.image = -1, .lines = &line, .line_count = 1};
    const uint32_t **stacks = malloc((DUMP_STACKS_MAX + 1) * sizeof *stacks);
    enum dump_symbols *symbols = malloc((DUMP_IMAGES_MAX + 1) * sizeof *symbols);
    require(stacks && symbols);
    for (size_t i = 0; i <= DUMP_STACKS_MAX; i++) {
        stacks[i] = zeros;
    }
    for (size_t i = 0; i <= DUMP_IMAGES_MAX; i++) {
        symbols[i] = DUMP_SYMBOLS_MISSING;
    }
    struct dump_addition add = {.locations = &location,
                                .location_count = 1,
                                .thread_locations = stacks,
                                .sample_locations = stacks,
                                .image_symbols = symbols};
    struct sink s = sink_to_strbuf(out);
    require(dump_write_spliced(d, &add, &s, NULL) == ST_OK);
    require(sink_close(&s, NULL) == ST_OK);
    free(stacks);
    free(symbols);
}

static void same_stack(const struct dump_stack *a, const struct dump_stack *b) {
    require(a->frame_count == b->frame_count && a->count == b->count);
    require(memcmp(a->frames, b->frames, a->frame_count * sizeof *a->frames) == 0);
    require(b->locations != NULL);
}

/* Checks that symbolication does not change the part that the device wrote. */
static void check_captured(const struct dump *d, const struct dump *spliced) {
    struct strbuf before = {0}, after = {0};
    struct sink one = sink_to_strbuf(&before), two = sink_to_strbuf(&after);
    dump_write_captured(d, &one);
    dump_write_captured(spliced, &two);
    require(sink_close(&one, NULL) == ST_OK && sink_close(&two, NULL) == ST_OK);
    require(before.len == after.len && memcmp(before.data, after.data, after.len) == 0);
    require(spliced->captured_size == after.len && d->captured_size >= before.len);
    strbuf_release(&before);
    strbuf_release(&after);
}

static void check_spliced(const struct dump *d) {
    struct strbuf once = {0}, twice = {0};
    struct dump again;
    splice_into(d, &once);
    enum st st = dump_parse(&again, once.data, once.len, NULL);
    if (st != ST_OK) {
        require(once.len > DUMP_TEXT_MAX ||
                d->text_len > DUMP_TEXT_MAX / 4); /* grew past a limit */
        strbuf_release(&once);
        return;
    }
    require(memchr(once.data, '\n', once.len) ==
            once.data + once.len - 1); /* the output must be one line */
    require(again.thread_count == d->thread_count && again.sample_count == d->sample_count);
    require(again.image_count == d->image_count && again.name_count == d->name_count);
    for (size_t i = 0; i < d->thread_count; i++) {
        same_stack(&d->threads[i].stack, &again.threads[i].stack);
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        same_stack(&d->samples[i], &again.samples[i]);
    }
    for (size_t i = 0; i < d->image_count; i++) {
        require(again.images[i].symbols == DUMP_SYMBOLS_MISSING && !again.images[i].symbols_file);
    }
    check_captured(d, &again);
    splice_into(&again, &twice);
    require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    dump_release(&again);
    strbuf_release(&once);
    strbuf_release(&twice);
}

static void check_model(const struct dump *d) {
    for (size_t i = 0; i < d->thread_count; i++) {
        const struct dump_stack *stack = &d->threads[i].stack;
        for (size_t k = 0; k < stack->frame_count; k++) {
            require(dump_image_at(d, stack->frames[k]) < (int32_t)d->image_count);
            require(!stack->locations || stack->locations[k] < d->location_count);
            (void)dump_frame_exact(stack, k);
        }
    }
    require(dump_span_ms(d) >= 0);
    const struct dump_stack *heaviest = dump_heaviest(d);
    require(d->sample_count == 0 || heaviest);
}

/* Checks that the dump is the same if white space hides the form of its locations from the reader
 * that needs no tape. */
static void check_locations(const uint8_t *data, size_t size, const struct dump *d, enum st want) {
    static const char head[] = "\"locations\":[{";
    const size_t len = sizeof head - 1;
    struct strbuf text = {0};
    struct dump spaced;
    for (size_t i = 0; i < size; i++) {
        bool found = size - i >= len && memcmp(data + i, head, len) == 0;
        strbuf_add(&text, found ? head : (const char *)data + i, found ? len - 1 : 1);
        strbuf_addstr(&text, found ? " " : "");
        i += found ? len - 2 : 0;
    }
    require(dump_parse(&spaced, strbuf_cstr(&text), text.len, NULL) == want);
    require(want != ST_OK || spaced.location_count == d->location_count);
    for (size_t i = 0; want == ST_OK && i < d->location_count; i++) {
        const struct dump_location *a = &d->locations[i], *b = &spaced.locations[i];
        require(a->image == b->image && a->offset == b->offset && a->start == b->start);
        require(a->line_count == b->line_count && a->source == b->source);
        for (size_t n = 0; n < a->line_count; n++) {
            require(a->lines[n].line == b->lines[n].line &&
                    !a->lines[n].function == !b->lines[n].function);
        }
    }
    dump_release(&spaced);
    strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct dump d;
    struct err e = {0};
    enum st st = dump_parse(&d, (const char *)data, size, &e);
    if (size < DUMP_TEXT_MAX / 2) {
        check_locations(data, size, &d, st);
    }
    if (st == ST_OK) {
        check_model(&d);
        check_spliced(&d);
    } else {
        require(e.code != ERR_NOMEM);
    }
    dump_release(&d);
    return 0;
}
