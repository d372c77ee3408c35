/* Prints the report of one dump for people. */
#include "symbolize/symbolize.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/parse.h"
#include "base/path.h"

/* Widths of the columns of a frame line: the function, the image. */
enum { NAME_COLUMNS = 56, IMAGE_COLUMNS = 22 };

/* Prints a text of a dump, made safe for a terminal: '?' stands for each character that may not be
 * shown (text_next_shown) and each byte that is not UTF-8. Returns the number of columns, one for
 * each printed character. */
static size_t put_safe_text(struct sink *out, const char *text) {
    size_t len = strlen(text), columns = 0;
    for (size_t i = 0; i < len; columns++) {
        uint32_t c;
        size_t n = text_next_shown(text + i, len - i, &c);
        sink_write(out, c == 0xfffd ? "?" : text + i, c == 0xfffd ? 1 : n);
        i += n;
    }
    return columns;
}

static void pad(struct sink *out, size_t have, size_t want) {
    for (; have < want; have++) {
        sink_char(out, ' ');
    }
}

/* Prints a duration as "850 ms", "2.61 s" or, from 10 s on, "12.3 s", with integer arithmetic only.
 */
static void put_duration(struct sink *out, int64_t ms) {
    if (ms >= 10000) {
        sink_printf(out, "%" PRId64 ".%" PRId64 " s", ms / 1000, ms % 1000 / 100);
    } else if (ms >= 1000) {
        sink_printf(out, "%" PRId64 ".%02" PRId64 " s", ms / 1000, ms % 1000 / 10);
    } else {
        sink_printf(out, "%" PRId64 " ms", ms);
    }
}

static void put_part(struct sink *out, const char *before, const char *text) {
    if (text && *text) {
        sink_str(out, before);
        put_safe_text(out, text);
    }
}

static void put_duration_part(struct sink *out, const char *before, int64_t ms) {
    if (ms >= 0) {
        sink_str(out, before);
        put_duration(out, ms);
    }
}

/* Prints the name of a slow action, and the thread that used the processor most in a CPU stall. */
static void put_culprit(const struct dump *d, struct sink *out) {
    if (d->stall.action) {
        put_part(out, "Action  ", d->stall.action);
        sink_char(out, '\n');
    }
    if (d->stall.top_thread >= 0) {
        sink_printf(out, "CPU     most by thread %" PRId64, d->stall.top_thread);
        put_part(out, " ", d->stall.top_thread_name);
        sink_char(out, '\n');
    }
}

static void put_header(const struct dump *d, struct sink *out) {
    sink_str(out, "Stall   ");
    bool open_ended = d->stall.fatal || !d->stall.ended;
    int64_t duration = d->stall.duration_ms >= 0 ? d->stall.duration_ms : dump_span_ms(d);
    sink_str(out, open_ended ? "≥ " : "");
    put_duration(out, duration);
    put_part(out, "  ", d->stall.kind);
    if (d->stall.fatal) {
        sink_str(out, ", fatal");
    } else if (!d->stall.ended) {
        sink_str(out, ", not ended");
    }
    put_part(out, "  (", d->stall.detector);
    if (d->stall.detector) {
        put_duration_part(out, ", threshold ", d->stall.threshold_ms);
        sink_char(out, ')');
    }
    put_part(out, "  ", d->stall.activity);
    put_part(out, "  in mode ", d->stall.mode);
    sink_char(out, '\n');
    put_culprit(d, out);
    sink_str(out, "Dump    ");
    put_safe_text(out, d->id ? d->id : "(no id)");
    put_part(out, "  ", d->time);
    if (d->stall.seq > 0) {
        sink_printf(out, "  number %" PRId64 " of its stall", d->stall.seq);
    }
    put_duration_part(out, ", taken at ", d->stall.at_ms);
    put_duration_part(out, ", share ", d->stall.span_ms);
    if (d->stall.suppressed > 0) {
        sink_printf(out, ", %" PRId64 " like it suppressed", d->stall.suppressed);
    }
    sink_char(out, '\n');
    if (d->app.id) {
        put_part(out, "App     ", d->app.id);
        put_part(out, " ", d->app.version);
        put_part(out, " (", d->app.build);
        sink_str(out, d->app.build ? ")\n" : "\n");
    }
    if (d->lack) {
        put_part(out, "Lack    ", d->lack);
        sink_char(out, '\n');
    }
    if (d->device.model || d->device.os) {
        sink_str(out, "Device  ");
        put_safe_text(out, d->device.model ? d->device.model : "?");
        put_part(out, ", ", d->device.os);
        put_part(out, " (", d->device.os_build);
        sink_str(out, d->device.os_build ? ")" : "");
        put_part(out, ", ", d->device.arch);
        if (d->stall.cpu_permille >= 0) {
            sink_printf(out, ", CPU %" PRId64 ".%" PRId64 " %%", d->stall.cpu_permille / 10,
                        d->stall.cpu_permille % 10);
        }
        sink_char(out, '\n');
    }
}

static void put_image_verdicts(const struct dump *d, struct sink *out) {
    if (d->image_count > 0) {
        sink_str(out, "\nImages\n");
    }
    for (size_t i = 0; i < d->image_count; i++) {
        const struct dump_image *image = &d->images[i];
        char id[IMAGE_ID_TEXT];
        const char *verdict = dump_symbols_text(image->symbols);
        sink_str(out, "  ");
        pad(out, put_safe_text(out, *verdict ? verdict : "-"), 14);
        sink_char(out, ' ');
        pad(out, put_safe_text(out, image->name ? image->name : "?"), 20);
        sink_char(out, ' ');
        put_safe_text(out, image_id_text(&image->id, id));
        bool other = image->symbols == DUMP_SYMBOLS_UUID_MISMATCH ||
                     image->symbols == DUMP_SYMBOLS_ARCH_MISMATCH;
        put_part(out, other ? "  nearest: " : "  ", image->symbols_file);
        sink_char(out, '\n');
    }
}

/* Prints the name of a frame's function ("?" if its line has none); without a line its start if
 * that is known, else the frame's address, which for a caller is the return address; in an image
 * both as offsets, with "+". Returns the width in columns. */
static size_t put_frame_name(const struct dump_location *l, const struct dump_line *line,
                             uint64_t address, struct sink *out) {
    if (line) {
        return put_safe_text(out, line->function ? line->function : "?");
    }
    char at[32];
    uint64_t shown = dump_location_has_start(l) ? l->start : address;
    snprintf(at, sizeof at, "%s0x%" PRIx64, l->image >= 0 ? "+" : "", shown);
    return put_safe_text(out, at);
}

/* Prints one line of a frame: its number (only in the frame's first line), function, image, place.
 * exact: the frame's address is no return address. */
static void put_frame_line(const struct dump *d, const struct dump_location *l, bool exact,
                           size_t line_index, size_t number, struct sink *out) {
    const struct dump_line *line = line_index < l->line_count ? &l->lines[line_index] : NULL;
    bool inlined = line_index + 1 < l->line_count;
    uint64_t at = l->offset + (exact ? 0 : 1);
    if (line_index == 0) {
        sink_printf(out, "  %3zu  ", number);
    } else {
        sink_str(out, "       ");
    }
    size_t width = put_frame_name(l, line, at, out);
    pad(out, width, NAME_COLUMNS);
    sink_char(out, ' ');
    width = put_safe_text(out, l->image >= 0 && d->images[l->image].name ? d->images[l->image].name
                                                                         : "-");
    if (line && line->file) {
        pad(out, width, IMAGE_COLUMNS);
        sink_char(out, ' ');
        put_safe_text(out, path_name(line->file));
        if (line->line > 0) {
            sink_printf(out, ":%" PRIu32, line->line);
        }
    } else if ((line && line_index + 1 == l->line_count) || dump_location_has_start(l)) {
        pad(out, width, IMAGE_COLUMNS);
        /* A cold part of a function may lie below its start. */
        bool below = at < l->start;
        sink_printf(out, " %c %" PRIu64, below ? '-' : '+', below ? l->start - at : at - l->start);
    }
    sink_str(out, inlined ? "  [inlined]\n" : "\n");
}

static void put_stack_frames(const struct dump *d, const struct dump_stack *s, struct sink *out) {
    if (s->frame_count == 0) {
        sink_str(out, "       (no frames)\n");
    }
    for (size_t i = 0; i < s->frame_count; i++) {
        struct dump_location raw = {.image = -1, .offset = s->frames[i], .start = s->frames[i]};
        const struct dump_location *l = s->locations ? &d->locations[s->locations[i]] : &raw;
        for (size_t k = 0; k < l->line_count || k == 0; k++) {
            put_frame_line(d, l, !s->locations || dump_frame_exact(s, i), k, i, out);
        }
    }
    if (s->incomplete) {
        sink_str(out, "       (its callers are not known)\n");
    }
}

static bool same_stack(const struct dump_stack *a, const struct dump_stack *b) {
    return a->frame_count == b->frame_count && a->frame_count > 0 &&
           memcmp(a->frames, b->frames, a->frame_count * sizeof *a->frames) == 0;
}

static void put_thread_title(const struct dump *d, const struct dump_thread *t, struct sink *out) {
    sink_printf(out, "\n%s %" PRId64, t->main ? "Main thread" : "Thread", t->id);
    put_part(out, " \"", t->name);
    sink_str(out, t->name && *t->name ? "\"" : "");
    put_part(out, ", ", t->state);
    if (t->cpu_ms >= 0) {
        sink_printf(out, ", %" PRId64 " ms of CPU", t->cpu_ms);
    }
    if (t->cpu_permille >= 0) {
        sink_printf(out, ", %" PRId64 ".%" PRId64 " %% of a processor meanwhile",
                    t->cpu_permille / 10, t->cpu_permille % 10);
    }
    if (t->waits_for.kind) {
        put_part(out, ", waits for ", t->waits_for.kind);
        if (t->waits_for.address > 0) {
            sink_printf(out, " 0x%" PRIx64, t->waits_for.address);
        }
        if (t->waits_for.owner >= 0) {
            bool ending = strcmp(t->waits_for.kind, "thread") == 0;
            const struct dump_thread *owner = dump_thread_by_id(d, t->waits_for.owner);
            sink_str(out, ending ? "" : " held by thread");
            sink_printf(out, " %" PRId64, t->waits_for.owner);
            put_part(out, " \"", owner ? owner->name : NULL);
            sink_str(out, owner && owner->name && *owner->name ? "\"" : "");
        }
    }
    sink_char(out, '\n');
}

static uint64_t samples_taken(const struct dump *d) {
    uint64_t n = 0;
    for (size_t i = 0; i < d->sample_count; i++) {
        n += d->samples[i].count;
    }
    return n;
}

static bool waits_for_another(const struct dump_thread *t) {
    return t && t->waits_for.kind && t->waits_for.owner >= 0;
}

/* Returns the name of the function, not of a call inlined into it, of the innermost frame in the
 * app that has lines; NULL: there is no such frame, or its function has no name. */
static const char *app_function(const struct dump *d, const struct dump_stack *s) {
    for (size_t i = 0; s->locations && i < s->frame_count; i++) {
        const struct dump_location *l = &d->locations[s->locations[i]];
        bool in_app = l->image >= 0 ? d->images[l->image].in_app : l->in_app;
        if (in_app && l->line_count > 0) {
            return l->lines[l->line_count - 1].function;
        }
    }
    return NULL;
}

/* Prints the chain of waits that begins with the main thread, if that waits for another thread:
 * "main → mutex of 771 worker, which is running in sync_cart". A chain that comes back to a thread
 * in it is a deadlock. */
static void put_wait_chain(const struct dump *d, const struct dump_thread *main_thread,
                           struct sink *out) {
    struct dump_waits w;
    if (!waits_for_another(main_thread)) {
        return;
    }
    dump_waits(d, main_thread, &w);
    sink_str(out, "\nWaits   main");
    for (size_t i = 0; i < w.count && waits_for_another(w.threads[i]); i++) {
        const struct dump_wait *wait = &w.threads[i]->waits_for;
        const struct dump_thread *owner = dump_waits_owner(&w, i);
        sink_str(out, " → ");
        put_safe_text(out, strcmp(wait->kind, "thread") == 0 ? "the end" : wait->kind);
        sink_printf(out, " of %" PRId64, wait->owner);
        if (owner) {
            put_part(out, " ", owner == main_thread ? "main" : owner->name);
        }
    }
    const struct dump_thread *last = w.threads[w.count - 1];
    if (w.back != SIZE_MAX) {
        sink_str(out, ": deadlock");
    } else if (!waits_for_another(last)) {
        put_part(out, ", which is ", last->state);
        put_part(out, " in ", last->state ? app_function(d, &last->stack) : NULL);
    }
    sink_char(out, '\n');
}

void symbolize_report(const struct dump *d, struct sink *out) {
    const struct dump_thread *main_thread = dump_main_thread(d);
    put_header(d, out);
    put_wait_chain(d, main_thread, out);
    put_image_verdicts(d, out);
    const struct dump_stack *heaviest = dump_heaviest(d);
    if (main_thread) {
        put_thread_title(d, main_thread, out);
    } else if (heaviest) {
        sink_str(out, "\nMain thread\n");
    }
    bool sampled = heaviest && (!main_thread || heaviest != &main_thread->stack);
    if (sampled) {
        /* The recorder counts samples with the same innermost function together, although their
         * outer frames may differ. */
        uint64_t of = samples_taken(d);
        uint64_t top = d->heaviest_repeats > 0 ? (uint64_t)d->heaviest_repeats : heaviest->count;
        sink_printf(out, "  heaviest stack, its top function in %" PRIu64 " of %" PRIu64 " samples",
                    top, of > top ? of : top);
        put_duration_part(out, ", one each ", d->sample_interval_ms);
        sink_char(out, '\n');
        put_stack_frames(d, heaviest, out);
    }
    if (main_thread && sampled && same_stack(heaviest, &main_thread->stack)) {
        sink_str(out, "  the same when the dump was taken\n");
    } else if (main_thread && main_thread->stack.frame_count > 0) {
        sink_str(out, sampled ? "  when the dump was taken\n" : "");
        put_stack_frames(d, &main_thread->stack, out);
    }
    for (size_t i = 0; i < d->thread_count; i++) {
        if (&d->threads[i] != main_thread) {
            put_thread_title(d, &d->threads[i], out);
            put_stack_frames(d, &d->threads[i].stack, out);
        }
    }
}
