/* Collects the verdicts on the images of a run. */
#include "symbolize/image_verdicts.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

enum { LISTED_MAX = 20 };

static const char *or_dash(const char *text) {
    return text && text[0] ? text : "-";
}

/* ---- noting ---- */

/* Adds an image to v->images, once for each of its verdicts and values of in_app: an image may have
 * several verdicts in a run, if an earlier run had symbols for some dumps. Lack of memory sets
 * v->failed. */
static void note_image(struct image_verdicts *v, const struct dump_image *image, const char *id) {
    struct strbuf key = {0};
    bool added = false;
    strbuf_addstr(&key, image->name ? image->name : "?");
    strbuf_addc(&key, ' ');
    strbuf_addstr(&key, id);
    strbuf_addstr(&key, image->arch ? " " : "");
    strbuf_addstr(&key, image->arch ? image->arch : "");
    strbuf_addc(&key, '\0'); /* The printed part of the key ends here. */
    strbuf_addu64(&key, image->symbols);
    strbuf_addu64(&key, image->in_app);
    struct map_entry *entry = !key.failed && VEC_RESERVE(&v->images, 1)
                                  ? map_put(&v->keys, key.data, key.len, v->images.len, &added)
                                  : NULL;
    strbuf_release(&key);
    if (entry && added) {
        v->images.data[v->images.len++] =
            (struct seen_image){entry->key, image->symbols, image->symbols_file, image->in_app};
    }
    v->failed = v->failed || !entry;
}

/* Appends a column, "-" for no text, and a tab; a tab, a line feed and any other character that may
 * not be shown becomes '?'. */
static void add_column(struct strbuf *line, const char *text) {
    text_add_shown(line, or_dash(text), strlen(or_dash(text)));
    strbuf_addc(line, '\t');
}

/* Appends the column of the version: the app's for an image of the app, the system's for others.
 * The build follows in parentheses; "-" stands for an unknown version. */
static void verdicts_add_version(struct strbuf *line, const struct dump *d,
                                 const struct dump_image *image) {
    const char *version = image->in_app ? d->app.version : d->device.os;
    const char *build = image->in_app ? d->app.build : d->device.os_build;
    struct strbuf both = {0};
    strbuf_addstr(&both, or_dash(version));
    if (build && build[0]) {
        strbuf_addf(&both, " (%s)", build);
    }
    add_column(line, strbuf_cstr(&both));
    line->failed = line->failed || both.failed;
    strbuf_release(&both);
}

static void note_missing(struct image_verdicts *v, const struct dump *d,
                         const struct dump_image *image, const char *id) {
    struct strbuf line = {0};
    strbuf_addc(&line, image->in_app ? '0' : '1');
    add_column(&line, id);
    add_column(&line, image->name);
    add_column(&line, image->arch ? image->arch : d->device.arch);
    verdicts_add_version(&line, d, image);
    strbuf_addstr(&line, dump_symbols_text(image->symbols));
    if (line.failed || map_intern(&v->missing, line.data, line.len) == SIZE_MAX) {
        v->failed = true;
    }
    strbuf_release(&line);
}

void image_verdicts_note(struct image_verdicts *v, const struct dump *d) {
    for (size_t i = 0; i < d->image_count; i++) {
        const struct dump_image *image = &d->images[i];
        bool lacks = image->symbols != DUMP_SYMBOLS_OK;
        char id[IMAGE_ID_TEXT];
        image_id_text(&image->id, id);
        v->lacks_any = v->lacks_any || lacks;
        v->lacks_app = v->lacks_app || (lacks && image->in_app);
        note_image(v, image, id);
        if (lacks && v->list_missing) {
            note_missing(v, d, image, id);
        }
    }
}

/* ---- telling ---- */

void image_verdicts_count(const struct image_verdicts *v, struct strbuf *out) {
    for (int verdict = DUMP_SYMBOLS_OK; verdict <= DUMP_SYMBOLS_DAMAGED; verdict++) {
        size_t n = 0;
        for (size_t i = 0; i < v->images.len; i++) {
            n += (int)v->images.data[i].symbols == verdict;
        }
        if (n > 0) {
            strbuf_addf(out, "%s%zu %s", out->len ? ", " : "", n,
                        dump_symbols_text((enum dump_symbols)verdict));
        }
    }
}

static void verdicts_add_image(const struct seen_image *s, struct strbuf *line) {
    bool nearest =
        s->symbols == DUMP_SYMBOLS_UUID_MISMATCH || s->symbols == DUMP_SYMBOLS_ARCH_MISMATCH;
    strbuf_addf(line, "  %-14s %s%s", dump_symbols_text(s->symbols), s->name,
                s->in_app ? " (app)" : "");
    if (s->file) {
        strbuf_addf(line, "%s%s", nearest ? ", nearest: " : ", file: ", s->file);
    }
}

/* Is the verdict not worth a line: `ok`, or `missing` for a system image? */
static bool is_expected(const struct seen_image *s) {
    return s->symbols == DUMP_SYMBOLS_OK || (s->symbols == DUMP_SYMBOLS_MISSING && !s->in_app);
}

void image_verdicts_list(const struct image_verdicts *v, void (*say)(void *ctx, const char *line),
                         void *ctx) {
    size_t listed = 0, left_out = 0;
    struct strbuf line = {0};
    for (int app = 1; app >= 0; app--) {
        for (size_t i = 0; i < v->images.len; i++) {
            const struct seen_image *s = &v->images.data[i];
            if (is_expected(s) || s->in_app != (app == 1)) {
                continue;
            }
            if (listed == LISTED_MAX) {
                left_out++;
                continue;
            }
            listed++;
            strbuf_clear(&line);
            verdicts_add_image(s, &line);
            say(ctx, strbuf_cstr(&line));
        }
    }
    if (left_out > 0) {
        strbuf_clear(&line);
        strbuf_addf(&line, "  \xe2\x80\xa6 and %zu more", left_out);
        say(ctx, strbuf_cstr(&line));
    }
    strbuf_release(&line);
}

size_t image_verdicts_bare_files(const struct image_verdicts *v, const char **files, size_t max) {
    size_t count = 0;
    for (size_t i = 0; i < v->images.len && count < max; i++) {
        const struct seen_image *s = &v->images.data[i];
        bool bare = s->symbols == DUMP_SYMBOLS_ONLY || s->symbols == DUMP_SYMBOLS_NO_DEBUG_INFO;
        if (bare && s->file && s->file[0] == '/') {
            files[count++] = s->file;
        }
    }
    return count;
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum st image_verdicts_write(const struct image_verdicts *v, struct sink *out, struct err *e) {
    size_t count = v->missing.count;
    const char **lines = calloc(count + 1, sizeof *lines);
    if (!lines || v->failed) {
        free(lines);
        return err_nomem(e);
    }
    for (size_t i = 0; i < count; i++) {
        lines[i] = map_string(&v->missing, i);
    }
    if (count > 0) {
        qsort(lines, count, sizeof *lines, compare_lines);
    }
    sink_str(out, "# id\tname\tarch\tversion\tverdict\n");
    for (size_t i = 0; i < count; i++) {
        sink_str(out, lines[i] + 1);
        sink_str(out, "\n");
    }
    free(lines);
    return ST_OK;
}

void image_verdicts_release(struct image_verdicts *v) {
    map_release(&v->keys);
    map_release(&v->missing);
    VEC_RELEASE(&v->images);
}
