/* Writes stacks as lists, with frames of the app marked and, with a source_url, source lines
 * linked; and a dump's other threads. */
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "page/page_private.h"

enum {
    /* Maximum number of threads shown, the main one included, of the one dump of a bucket that is
     * visible without the script. */
    THREADS_MOST = 9,
    INNERMOST_MOST = 4, /* maximum number of frames shown of a thread for which none waits */
    HOLDER_FRAMES_MOST = 40,
    STACK_FRAMES_MOST = 80
};

/* ---- links to source ---- */

static bool is_scheme(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-')) {
            return false;
        }
    }
    return len > 0;
}

bool page_source_url_fits(const char *source_url) {
    static const char *const scripts[] = {"javascript", "vbscript", "data"};
    size_t len = strcspn(source_url, ":");
    if (!is_scheme(source_url, len) || strncmp(source_url + len, "://", 3) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        if (strlen(scripts[i]) == len && strncmp(source_url, scripts[i], len) == 0) {
            return false;
        }
    }
    return strstr(source_url, "%f") != NULL;
}

/* Appends a text with all but unreserved characters (RFC 3986, 2.3) and those of `plain_too`
 * percent-encoded. */
static void add_encoded(struct strbuf *b, const char *text, const char *plain_too) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (plain || strchr("-._~", c) || strchr(plain_too, c)) {
            strbuf_addc(b, (char)c);
        } else {
            strbuf_addf(b, "%%%02X", c);
        }
    }
}

static void put_link(struct page_writer *p, const char *file, uint32_t line, const char *version) {
    struct strbuf url = {0};
    for (const char *at = p->o->source_url; *at; at++) {
        if (*at != '%' || !at[1] || !strchr("flv%", at[1])) {
            strbuf_addc(&url, *at);
            continue;
        }
        switch (*++at) {
        case 'f':
            add_encoded(&url, *file == '/' ? file + 1 : file, "/");
            break;
        case 'l':
            strbuf_addf(&url, "%" PRIu32, line);
            break;
        case 'v':
            add_encoded(&url, version, "");
            break;
        default:
            strbuf_addc(&url, '%');
        }
    }
    page_markup(p, "<a rel=\"noreferrer noopener\" href=\"");
    page_put_all(p, strbuf_cstr(&url));
    page_markup(p, "\">");
    p->failed = p->failed || url.failed;
    strbuf_release(&url);
}

static void put_source(struct page_writer *p, const char *file, uint32_t line,
                       const char *version) {
    if (!file || !*file) {
        return;
    }
    page_markup(p, " <cite>");
    if (p->o->source_url) {
        put_link(p, file, line, version);
    }
    page_put(p, path_base(file));
    if (line) {
        strbuf_addf(&p->text, ":%" PRIu32, line);
    }
    page_markup(p, p->o->source_url ? "</a></cite>" : "</cite>");
}

/* ---- frames ---- */

/* Writes one frame. above: the image of the frame before; the frame's own image is written only if
 * it is another one. */
static void put_stack_line(struct page_writer *p, const struct summary_frame *f, const char *above,
                           const char *version) {
    page_markup(p, f->in_app ? "<li class=app><b>" : "<li>");
    page_put(p, f->function && *f->function ? f->function : "?");
    page_markup(p, f->in_app ? "</b>" : "");
    page_markup(p, f->inlined ? " <i>inlined</i>" : "");
    page_markup(p, f->key ? " <i>key</i>" : "");
    page_markup(p, f->told ? " <i>cause</i>" : "");
    if (f->image && strcmp(f->image, above) != 0) {
        page_markup(p, " <small>");
        page_put(p, f->image);
        page_markup(p, "</small>");
    }
    put_source(p, f->file, f->line, version);
}

void page_put_stack(struct page_writer *p, const char *version) {
    size_t count = p->stack->frames.len;
    const char *above = "";
    page_markup(p, "<ol class=stack>");
    for (size_t i = 0; i < count && i < STACK_FRAMES_MOST; i++) {
        const struct summary_frame *f = &p->stack->frames.data[i];
        put_stack_line(p, f, above, version);
        above = f->image ? f->image : "";
    }
    page_markup(p, "</ol>");
    if (count > STACK_FRAMES_MOST) {
        strbuf_addf(&p->text, "<p class=more>%zu more frames", count - STACK_FRAMES_MOST);
    }
}

void page_put_stored(struct page_writer *p, uint32_t stack, size_t most, const char *version) {
    const struct stored_dumps *s = p->s->stored;
    size_t count;
    const uint32_t *frames = stored_stack(s, stack, &count);
    if (!count) {
        page_markup(p, "<p class=more>no stack");
        return;
    }
    const char *above = "";
    page_markup(p, "<ol class=stack>");
    for (size_t i = 0; i < count && i < most; i++) {
        const struct stored_frame *from = stored_frame_at(s, frames[i]);
        const struct summary_frame f = {.function = stored_text(s, from->function),
                                        .image = stored_text(s, from->image),
                                        .file = stored_text(s, from->file),
                                        .line = from->line,
                                        .in_app = from->flags & STORED_IN_APP,
                                        .inlined = from->flags & STORED_INLINED};
        put_stack_line(p, &f, above, version);
        above = f.image;
    }
    page_markup(p, "</ol>");
    if (count > most) {
        strbuf_addf(&p->text, "<p class=more>%zu more frames", count - most);
    }
}

/* ---- threads ---- */

static void put_thread_name(struct page_writer *p, const struct stored_dump *d,
                            const struct stored_thread *t) {
    const struct stored_dumps *s = p->s->stored;
    strbuf_addf(&p->text, "%s %" PRId64 " ", t->main ? "main thread" : "thread", t->id);
    page_put(p, stored_text(s, t->name));
    if (t->state != STORED_NONE) {
        page_markup(p, ", ");
        page_put(p, stored_text(s, t->state));
    }
    if (t->cpu_permille >= 0) {
        strbuf_addf(&p->text, ", on a processor for %" PRId64 "%%", t->cpu_permille / 10);
    }
    if (t->waits != STORED_NONE) {
        page_markup(p, ", waits for a ");
        page_put(p, stored_text(s, t->waits));
    }
    for (size_t i = 0; t->owner >= 0 && i < d->threads.len; i++) {
        if (d->threads.data[i].id == t->owner) {
            strbuf_addf(&p->text, " that thread %" PRId64 " ", t->owner);
            page_put(p, stored_text(s, d->threads.data[i].name));
            page_markup(p, " holds");
            break;
        }
    }
}

static bool holds(const struct stored_dump *d, const struct stored_thread *t) {
    for (size_t i = 0; i < d->threads.len; i++) {
        if (d->threads.data[i].owner == t->id && t->id >= 0) {
            return true;
        }
    }
    return false;
}

/* Writes the functions of at most the INNERMOST_MOST innermost frames of a stack: "in read ← parse
 * ← load"; nothing if the stack has no frames. */
static void put_innermost(struct page_writer *p, uint32_t stack) {
    const struct stored_dumps *s = p->s->stored;
    size_t count;
    const uint32_t *frames = stored_stack(s, stack, &count);
    for (size_t i = 0; i < count && i < INNERMOST_MOST; i++) {
        page_markup(p, i ? " \xe2\x86\x90 " : ", in <code>");
        page_put(p, stored_text(s, stored_frame_at(s, frames[i])->function));
    }
    page_markup(p, count ? "</code>" : "");
}

static void put_thread_summary(struct page_writer *p, const struct stored_dump *d,
                               const struct stored_thread *t) {
    if (!t->main && holds(d, t)) {
        page_markup(p, "<details class=thread open><summary>");
        put_thread_name(p, d, t);
        page_markup(p, " <i>holds the lock</i></summary>");
        page_put_stored(p, t->stack, HOLDER_FRAMES_MOST, stored_text(p->s->stored, d->version));
        page_markup(p, "</details>");
    } else if (!t->main || t->waits != STORED_NONE) {
        page_markup(p, "<p class=thread>");
        put_thread_name(p, d, t);
        if (!t->main) {
            put_innermost(p, t->stack);
        }
    }
}

void page_put_threads(struct page_writer *p, const struct stored_dump *d) {
    size_t shown = d->threads.len < THREADS_MOST ? d->threads.len : THREADS_MOST;
    size_t left = d->threads.len - shown + d->threads_left;
    if (d->threads.len < 2) {
        page_markup(p, "<p class=more>the dump has no other threads");
        return;
    }
    for (size_t i = 0; i < shown; i++) {
        put_thread_summary(p, d, &d->threads.data[i]);
    }
    if (left) {
        strbuf_addf(&p->text, "<p class=more>%zu more threads", left);
    }
}
