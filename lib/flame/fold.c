/* Dumps -> weighted stacks. */
#include "flame/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "flame/folded.h"
#include "flame/frame_name.h"
#include "flame/weigh.h"

const char *fold_weight_text(enum fold_weight w) {
    return w == FOLD_SAMPLES ? "samples" : w == FOLD_STALLS ? "stalls" : "ms";
}

/* ---- the text of a stack ---- */

static void add_name(struct fold *f, const char *module, const char *name, bool inlined) {
    strbuf_clear(&f->name);
    frame_name_join(&f->name, f->options.modules ? module : NULL, name, inlined);
    if (f->line.len > 0) {
        strbuf_addc(&f->line, ';');
    }
    folded_escape(&f->line, strbuf_cstr(&f->name), f->name.len, f->line.len == 0);
    f->line.failed |= f->name.failed;
}

static const char *image_name(const struct dump *d, int32_t image) {
    if (image < 0) {
        return NULL;
    }
    const char *name = d->images[image].name ? d->images[image].name : d->images[image].path;
    const char *slash = name ? strrchr(name, '/') : NULL;
    return slash && slash[1] ? slash + 1 : name;
}

static void add_unresolved(struct fold *f, const char *module, uint64_t offset, uint64_t address) {
    struct strbuf text = {0};
    if (module) {
        strbuf_addf(&text, "%s+", module);
    }
    strbuf_addf(&text, "0x%llx", (unsigned long long)(module ? offset : address));
    add_name(f, NULL, strbuf_cstr(&text), false);
    f->line.failed |= text.failed;
    strbuf_release(&text);
}

static void add_location(struct fold *f, const struct dump *d, const struct dump_location *l,
                         uint64_t address) {
    const char *module = image_name(d, l->image);
    const struct dump_line *real = l->line_count ? &l->lines[l->line_count - 1] : NULL;
    if (real && real->function) {
        add_name(f, module, real->function, false);
    } else {
        add_unresolved(f, module, l->start, address);
    }
    for (size_t i = l->line_count; !f->options.no_inlines && i > 1; i--) {
        const char *name = l->lines[i - 2].function;
        add_name(f, module, name ? name : "[unknown]", true);
    }
}

static int compare_address(const void *key, const void *name) {
    uint64_t address = *(const uint64_t *)key, other = ((const struct dump_name *)name)->address;
    return (address > other) - (address < other);
}

/* A frame of a dump that was not symbolicated: the device may have named it. */
static void add_address(struct fold *f, const struct dump *d, uint64_t address) {
    int32_t image = dump_image_at(d, address);
    const char *module = image_name(d, image);
    const struct dump_name *name = NULL;
    if (d->name_count > 0) {
        name = bsearch(&address, d->names, d->name_count, sizeof *d->names, compare_address);
    }
    if (name && name->symbol) {
        add_name(f, module, name->symbol, false);
    } else {
        add_unresolved(f, module, module ? address - d->images[image].load : 0, address);
    }
}

/* Leaves the stack's text in f->line. */
static void make_line(struct fold *f, const struct dump *d, const struct dump_stack *s) {
    strbuf_clear(&f->line);
    for (size_t i = s ? s->frame_count : 0; i > 0; i--) {
        if (s->locations && d->locations) {
            add_location(f, d, &d->locations[s->locations[i - 1]], s->frames[i - 1]);
        } else {
            add_address(f, d, s->frames[i - 1]);
        }
    }
    if (f->line.len == 0) {
        add_name(f, NULL, "[unavailable]", false);
    }
}

/* ---- weights ---- */

/* Fills f->shares with the sample counts of the dump's stacks and returns their sum, 0 if there are
 * none or it passes 64 bits. */
static enum st sample_counts(struct fold *f, const struct dump *d, uint64_t *sum, struct err *e) {
    f->shares.len = 0;
    *sum = 0;
    if (!VEC_RESERVE(&f->shares, d->sample_count + 1)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        f->shares.data[f->shares.len++] = d->samples[i].count;
        if (!checked_add_u64(*sum, d->samples[i].count, sum)) {
            return err_set(e, ERR_LIMIT, "the sum of the sample counts passes 64 bits");
        }
    }
    return ST_OK;
}

static enum st add_stack(struct fold *f, const struct dump *d, const struct dump_stack *s,
                         uint64_t weight, struct err *e) {
    if (weight == 0) {
        return ST_OK;
    }
    make_line(f, d, s);
    if (f->line.failed) {
        return err_nomem(e);
    }
    return stack_tree_add(f->tree, strbuf_cstr(&f->line), f->line.len, weight, 0, e);
}

static void count_dump(struct fold *f, const struct dump *d, uint64_t span, uint64_t samples) {
    struct fold_stats *s = &f->stats;
    uint64_t interval = d->sample_interval_ms > 0 ? (uint64_t)d->sample_interval_ms : 0;
    uint64_t sampled;
    if (!checked_mul_u64(interval, samples, &sampled) || sampled > span) {
        sampled = span;
    }
    s->dumps++;
    s->stalls += d->stall.seq <= 1;
    s->untimed += span == 0;
    s->total_ms += span; /* fold_add has checked it */
    s->sampled_ms += sampled;
}

/* Adds the dump's samples with f->shares as weights. */
static enum st add_samples(struct fold *f, const struct dump *d, struct err *e) {
    for (size_t i = 0; i < d->sample_count; i++) {
        if (add_stack(f, d, &d->samples[i], f->shares.data[i], e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

enum st fold_add(struct fold *f, const struct dump *d, struct err *e) {
    if (d->stall.kind && strcmp(d->stall.kind, "crash") == 0) {
        f->stats.crashes++;
        return ST_OK;
    }
    int64_t known = dump_span_ms(d);
    uint64_t span = known > 0 ? (uint64_t)known : 0;
    uint64_t samples, sum;
    enum st st = sample_counts(f, d, &samples, e);
    if (st != ST_OK) {
        return st;
    }
    enum fold_weight weight = f->options.weight;
    uint64_t added = weight == FOLD_MS ? span : weight == FOLD_STALLS ? 1 : samples ? samples : 1;
    if (!checked_add_u64(f->stats.total_ms, span, &sum) ||
        !checked_add_u64(stack_tree_total(f->tree), added, &sum)) {
        return err_set(e, ERR_LIMIT, "the sum of all weights passes 64 bits");
    }
    if (weight == FOLD_STALLS) {
        st = add_stack(f, d, dump_heaviest(d), d->stall.seq <= 1, e);
    } else if (samples == 0) {
        st = add_stack(f, d, dump_heaviest(d), added, e);
    } else {
        if (weight == FOLD_MS) {
            st = weigh_split(span, f->shares.data, f->shares.len, f->shares.data, e);
        }
        st = st == ST_OK ? add_samples(f, d, e) : st;
    }
    if (st == ST_OK) {
        count_dump(f, d, span, samples);
    }
    return st;
}

void fold_release(struct fold *f) {
    strbuf_release(&f->line);
    strbuf_release(&f->name);
    VEC_RELEASE(&f->shares);
}

/* ---- words ---- */

/* "840 ms", "12.4 s", "3 min 20 s", "2 h 5 min". */
static void add_duration(struct strbuf *out, uint64_t ms) {
    unsigned long long v = ms, s = v / 1000;
    if (v < 1000) {
        strbuf_addf(out, "%llu ms", v);
    } else if (s < 120) {
        strbuf_addf(out, "%llu.%llu s", s, v % 1000 / 100);
    } else if (s < 7200) {
        strbuf_addf(out, "%llu min %llu s", s / 60, s % 60);
    } else {
        strbuf_addf(out, "%llu h %llu min", s / 3600, s / 60 % 60);
    }
}

static void add_plural(struct strbuf *out, uint64_t n, const char *what) {
    strbuf_addf(out, "%llu %s%s", (unsigned long long)n, what, n == 1 ? "" : "s");
}

void fold_describe(const struct fold_stats *s, struct strbuf *out) {
    add_duration(out, s->total_ms);
    strbuf_addstr(out, " stalled in ");
    if (s->stalls == s->dumps) {
        add_plural(out, s->stalls, "stall");
    } else {
        add_plural(out, s->dumps, "dump");
        strbuf_addstr(out, " of ");
        add_plural(out, s->stalls, "stall");
    }
    if (s->total_ms > 0) {
        strbuf_addf(out, ", %llu %% of it sampled",
                    (unsigned long long)weigh_muldiv(s->sampled_ms, 100, s->total_ms, NULL));
    }
    if (s->untimed > 0) {
        strbuf_addstr(out, ", ");
        strbuf_addu64(out, s->untimed);
        strbuf_addstr(out, " without a duration");
    }
}
