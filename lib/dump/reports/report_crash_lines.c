/* Parses the threads and frames of Apple's text reports, and collects the images of the frames. */
#include "dump/reports/report_crash_private.h"

#include <string.h>

#include "base/parse.h"
#include "dump/dump.h"
#include "dump/reports/report_private.h"
#include "dump/reports/report_span_private.h"

/* ---- a thread's heading ---- */

static bool word_is(struct span word, const char *text) {
    return parse_is(word.p, (size_t)(word.end - word.p), text);
}

/* Takes a word of letters, which may stand in brackets, with a blank before it. */
static bool take_heading_word(struct span *line, struct span *word) {
    const char *p = line->p;
    if (p == line->end || *p != ' ') {
        return false;
    }
    while (p < line->end && (*p == ' ' || *p == '(')) {
        p++;
    }
    *word = (struct span){p, p};
    while (p < line->end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'))) {
        word->end = ++p;
    }
    p += p < line->end && *p == ')';
    line->p = p;
    return word->p < word->end;
}

bool crash_heading(struct span line, struct crash_heading *out) {
    static const char thread[] = "Thread ";
    struct span word = {NULL, NULL};
    size_t digits = 0, len = sizeof thread - 1;
    *out = (struct crash_heading){0};
    if (word_is(line_trim(line), "Call stack:")) {
        out->unnumbered = out->crashed = true;
        return true;
    }
    if ((size_t)(line.end - line.p) <= len || memcmp(line.p, thread, len) != 0) {
        return false;
    }
    line.p += len;
    while (line.p + digits < line.end && line.p[digits] >= '0' && line.p[digits] <= '9') {
        digits++;
    }
    if (!parse_u64(line.p, digits, INT32_MAX, &out->id)) {
        return false;
    }
    line.p += digits;
    (void)take_heading_word(&line, &word);
    if (line.p == line.end || *line.p != ':') {
        return false;
    }
    line.p++;
    out->is_name = word_is(word, "name");
    out->crashed = word_is(word, "Crashed");
    out->attributed = word_is(word, "Attributed");
    if (out->is_name) {
        out->name = line.p;
    } else if (line.p < line.end && *line.p == ':') { /* "Thread 3::" of macOS */
        out->name = line.p + 1;
    } else if (out->crashed) { /* "Thread 3 Crashed: Uploads" */
        const struct span rest = line_trim(line);
        const bool frame = rest.p < rest.end && *rest.p >= '0' && *rest.p <= '9';
        out->name = frame || rest.p == rest.end ? NULL : rest.p;
    }
    return true;
}

/* ---- a frame ---- */

/* Takes an address that a blank or the end of the line follows. An address 0 is at least 8 zeros
 * without "0x", because printf's # adds none to a zero. */
static bool take_address_word(const char **s, uint64_t *out) {
    enum { ZEROS_MIN = 8 };
    const char *end = *s;
    size_t zeros = strspn(end, "0");
    if (zeros >= ZEROS_MIN) {
        *out = 0;
        end += zeros;
    } else if (!report_take_hex(&end, out)) {
        return false;
    }
    if (*end != ' ' && *end != '\t' && *end != 0) {
        return false;
    }
    *s = end;
    return true;
}

/* Returns the image's name of this text, without blanks, the mark "(*)" and ipsw's
 * "(slide=0x27010000)"; NULL: it is not known. */
static const char *image_of_frame(struct report *r, const char *s, size_t len) {
    static const char *const marks[] = {"(*)", "(slide="};
    struct span text = line_trim((struct span){s, s + len});
    const char *open = text.end;
    while (open > text.p && *open != '(') {
        open--;
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks && open > text.p; i++) {
        if (line_has_head((struct span){open, text.end}, marks[i]) && text.end[-1] == ')') {
            text = line_trim((struct span){text.p, open});
            break;
        }
    }
    return word_is(text, "???") ? NULL : report_text(r, text.p, (size_t)(text.end - text.p));
}

/* Finds the address after a frame's index, with the image's name in front, and sets *rest to what
 * follows. The name may hold blanks, so that the address is the first word that looks like one. */
static bool find_address(struct report *r, const char *s, struct crash_frame *out,
                         const char **rest) {
    const char *name = s;
    while (*(s = report_skip_blanks(s)) != 0) {
        const char *word = s;
        if (take_address_word(&s, &out->address)) {
            out->digits = (size_t)(s - word);
            out->image = image_of_frame(r, name, (size_t)(word - name));
            *rest = report_skip_blanks(s);
            return true;
        }
        s += strcspn(s, " \t");
    }
    return false;
}

/* Takes an offset in decimal, or in hex as libsymbolicate (Cr4shed, symbolicate) writes it. */
static bool take_frame_offset(const char **s, uint64_t *out) {
    return report_take_hex(s, out) || report_take_decimal(s, out);
}

/* Returns the symbol in the text after "BASE + 24": of KSCrash's "(SYMBOL + 24)" and
 * libsymbolicate's "// SYMBOL + 0x18" what follows the mark, of any other text the whole. NULL or
 * "": there is none, or an address or a source location stands in its place. */
static const char *symbol_behind(struct report *r, const char *s) {
    size_t len = strlen(s);
    const char *colon = strrchr(s, ':');
    const bool source = colon && strspn(colon + 1, "-0123456789)") == strlen(colon + 1);
    if (s[0] == '(' && source) {
        return NULL; /* "(:-1)", "(Cart.m:12)": a source location, as Xcode writes it */
    }
    if (len > 2 && s[0] == '(' && s[len - 1] == ')') {
        return report_text(r, s + 1, len - 2);
    }
    if (strncmp(s, "//", 2) == 0) {
        s = report_skip_blanks(s + 2);
        return strncmp(s, "0x", 2) == 0 ? NULL : s;
    }
    return s;
}

/* Does another frame (an index, an image and an address) follow the symbol of a frame, because two
 * lines were joined? It does if the text has an address of at least 10 bytes, with its "0x", behind
 * its first word. An address behind "//" is not one: libsymbolicate writes it. */
static bool is_joined(const char *symbol) {
    uint64_t address;
    const char *word = symbol;
    for (const char *s = symbol; *(s = report_skip_blanks(s)) != 0; word = s) {
        const char *at = s;
        if (s > symbol && take_address_word(&s, &address) && s - at >= 10) {
            return strncmp(word, "//", 2) != 0;
        }
        s += strcspn(s, " \t");
    }
    return false;
}

/* Returns the symbol without the "BASE + 24" or "NAME + 24" that stands behind what atos(1) wrote,
 * "SYMBOL (in IMAGE) (FILE:12)" or "SYMBOL (in IMAGE) + 8", because a program put that into the
 * line and left the line's own end there. */
static const char *without_own_end(struct report *r, const char *s) {
    const char *end = report_atos_tail(s);
    uint64_t offset;
    if (!end) {
        return s;
    }
    const char *close = end[1] == '(' ? strchr(end, ')') : NULL;
    end = close ? close + 1 : end + sizeof " + " - 1;
    if (!close && !take_frame_offset(&end, &offset)) {
        return s;
    }
    const char *plus = *end == ' ' ? strstr(end + 1, " + ") : NULL;
    const bool own = plus && plus[3] && plus[3 + strspn(plus + 3, "0123456789")] == 0;
    return own ? report_text(r, s, (size_t)(end - s)) : s;
}

/* Reads what follows a frame's address: "SYMBOL + 24", or "BASE + 24" with perhaps a symbol. A
 * frame in no image has the base 0. */
static void read_rest(struct report *r, const char *s, struct crash_frame *out) {
    const char *rest = s;
    uint64_t offset;
    bool based = report_take_hex(&rest, &out->base) || (*rest == '0' && *++rest == ' ');
    if (based && strncmp(rest, " + ", 3) == 0) {
        rest += 3;
        out->has_base = out->base > 0 && out->base <= out->address;
        s = take_frame_offset(&rest, &offset) ? symbol_behind(r, report_skip_blanks(rest)) : NULL;
    }
    /* "+ -1 (:-1)", an offset without a name, is App Store Connect's for an unknown function */
    s = s ? without_own_end(r, s) : NULL;
    out->symbol = s && *s && strncmp(s, "+ ", 2) != 0 ? s : NULL;
    out->joined = s && is_joined(s);
}

/* Takes a frame's number, behind which ipsw(1) writes a colon, up to the blank that follows. */
static bool take_index(const char **s, uint64_t *out) {
    *s = report_skip_blanks(*s);
    if (!report_take_decimal(s, out)) {
        return false;
    }
    *s += **s == ':';
    return **s == ' ' || **s == '\t';
}

bool crash_frame_line(struct report *r, const char *line, struct crash_frame *out) {
    const char *s = line, *rest;
    *out = (struct crash_frame){0};
    if (!take_index(&s, &out->index)) {
        return false;
    }
    out->has_address = find_address(r, s, out, &rest);
    if (out->has_address) {
        read_rest(r, rest, out);
    }
    return true;
}

bool crash_has_address(const char *line) {
    const char *s = line;
    uint64_t address;
    while (*(s = report_skip_blanks(s)) != 0) {
        if (take_address_word(&s, &address)) {
            return true;
        }
        s += strcspn(s, " \t");
    }
    return false;
}

bool crash_is_frame(const char *line, uint64_t next) {
    const char *s = line;
    uint64_t index;
    if (!take_index(&s, &index)) {
        return false;
    }
    if (index == next || index + 1 == next) {
        return true;
    }
    return crash_has_address(s);
}

bool crash_frame_goes_on(const char *frame, const char *line) {
    const char *s = frame, *plus = NULL;
    uint64_t address;
    while (*(s = report_skip_blanks(s)) != 0 && !take_address_word(&s, &address)) {
        s += strcspn(s, " \t");
    }
    const char *open = strrchr(s, '(');
    size_t opened = 0, closed = 0;
    for (const char *p = s; *p; p++) {
        opened += *p == '(';
        closed += *p == ')';
    }
    if (opened > closed) {
        return true;
    }
    const bool in_brackets = open && open[strlen(open) - 1] == ')';
    if (*line == '(') { /* KSCrash's "(SYMBOL + 24)" */
        return !in_brackets;
    }
    for (const char *p = s; (p = strstr(p, " + ")) != NULL; p++) {
        plus = p + 3;
    }
    const bool offset = plus && *plus >= '0' && *plus <= '9';
    const bool source = in_brackets && strchr(open, ':'); /* "(Cart.m:12)" */
    return !offset && !source && *frame;
}

/* ---- images of frames ---- */

struct crash_image {
    const char *name; /* NULL = joined to another */
    uint64_t load;    /* 0 = not given */
    uint64_t first, last;
};

void crash_images_note(struct crash_images *images, struct report *r, const struct crash_frame *f) {
    enum { IMAGES_MAX = 4096 };
    uint64_t load = f->has_base ? f->base : 0;
    bool added = false;
    if (!f->image || !f->has_address || f->address == 0 || images->list.len >= IMAGES_MAX) {
        return;
    }
    char key[512];
    size_t len = strlen(f->image);
    len = len < sizeof key - sizeof load ? len : sizeof key - sizeof load;
    memcpy(key, &load, sizeof load);
    memcpy(key + sizeof load, f->image, len);
    const struct map_entry *entry =
        VEC_RESERVE(&images->list, 1)
            ? map_put(&images->index, key, sizeof load + len, images->list.len, &added)
            : NULL;
    if (!entry) {
        r->no_memory = true;
        return;
    }
    if (added) {
        images->list.data[images->list.len++] =
            (struct crash_image){f->image, load, f->address, f->address};
    }
    struct crash_image *image = &images->list.data[entry->value];
    image->first = f->address < image->first ? f->address : image->first;
    image->last = f->address > image->last ? f->address : image->last;
    if (load > 0 && !map_put(&images->placed, f->image, strlen(f->image), entry->value, NULL)) {
        r->no_memory = true;
    }
}

static bool is_in_draft(const struct report *r, size_t count, const struct crash_image *image) {
    for (size_t i = 0; i < count; i++) {
        const struct report_image *listed = &r->images.data[i];
        if (listed->load == image->load || image->first - listed->load < listed->size) {
            return true;
        }
    }
    return false;
}

/* Extends each image whose load address is given to the frames that name the image without giving
 * its load address, if they are not below that address. The entries for these frames lose their
 * name, so that they are not added to the draft. */
static void join_by_name(struct crash_images *images) {
    for (size_t i = 0; i < images->list.len; i++) {
        struct crash_image *image = &images->list.data[i];
        const struct map_entry *entry =
            image->load > 0 ? NULL : map_get(&images->placed, image->name, strlen(image->name));
        struct crash_image *placed = entry ? &images->list.data[entry->value] : NULL;
        if (placed && image->first >= placed->load) {
            placed->last = image->last > placed->last ? image->last : placed->last;
            image->name = NULL;
        }
    }
}

size_t crash_images_add(struct crash_images *images, struct report *r, bool listed) {
    enum { PAGE = 0x1000 };
    size_t count = r->images.len, lacked = 0;
    join_by_name(images);
    for (size_t i = 0; i < images->list.len; i++) {
        const struct crash_image *image = &images->list.data[i];
        if (!image->name || is_in_draft(r, count, image)) {
            continue;
        }
        lacked++;
        if (listed && image->load == 0) {
            continue; /* the load address of the image is not known */
        }
        uint64_t load = image->load > 0 ? image->load : image->first / PAGE * PAGE;
        uint64_t size = (image->last - load) / PAGE * PAGE + PAGE;
        bool in_app = !r->process && report_is_app_place(image->name, load);
        struct report_image added = {
            .name = image->name, .load = load, .size = size, .in_app = in_app};
        const size_t len = strlen(image->name);
        if (len > 2 && *image->name == '<') { /* spindump gives the UUID if the name is unknown */
            (void)parse_uuid(image->name + 1, len - 2, &added.id);
        }
        report_image(r, &added);
    }
    return lacked;
}

void crash_images_release(struct crash_images *images) {
    map_release(&images->index);
    map_release(&images->placed);
    VEC_RELEASE(&images->list);
}
