/* Prints in stallclassify's formats, finds the table's width and colours, and makes the page. */
#include "classify_output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/parse.h"
#include "classify/stats/usage.h"
#include "classify/summary/summary.h"
#include "flame/stacks/folded.h"
#include "flame/stacks/frame_name.h"
#include "flame/svg/svg.h"
#include "classify/summary/shown_bytes.h"
#include "page/page.h"

enum { WIDTH_DEFAULT = 100, TOP_DEFAULT = 20 };

const char *const classify_colours[] = {"auto", "always", "never", NULL};

const char *const classify_by_words[] = {"bucket", "holder", "day",  "version", "os",
                                         "device", "cause",  "kind", NULL};

const char *const classify_weights[] = {"ms", "stalls", NULL};

static unsigned clamp_width(uint64_t width) {
    if (width < CLASSIFY_WIDTH_MIN) {
        return CLASSIFY_WIDTH_MIN;
    }
    return width > CLASSIFY_WIDTH_MAX ? CLASSIFY_WIDTH_MAX : (unsigned)width;
}

static unsigned width_of(const struct classify_output *o, bool terminal) {
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    uint64_t width;
    if (o->width) {
        return clamp_width(o->width);
    }
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) {
        return clamp_width(size.ws_col);
    }
    if (columns && parse_u64(columns, strlen(columns), UINT32_MAX, &width) && width) {
        return clamp_width(width);
    }
    return WIDTH_DEFAULT;
}

/* Are colours wanted? If --color leaves it open: on a terminal whose TERM is set and not "dumb",
 * unless NO_COLOR (https://no-color.org) has a value that is not empty. */
static bool wants_colour(const struct classify_output *o, bool terminal) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (o->colour != COLOUR_AUTO) {
        return o->colour == COLOUR_ALWAYS;
    }
    return terminal && (!no || !*no) && term && strcmp(term, "dumb") != 0;
}

bool classify_wants_colour(const struct classify_output *o) {
    return wants_colour(o, !o->path && isatty(STDOUT_FILENO) == 1);
}

bool classify_read_facets(struct classify_output *o, const char *words, const char **wrong) {
    if (!words) {
        o->facets = (1u << USAGE_FACETS) - 1;
        return true;
    }
    for (const char *word = words;; word++) {
        size_t len = strcspn(word, ","), f = 0;
        while (f < USAGE_FACETS && !parse_is(word, len, usage_facet_words[f])) {
            f++;
        }
        if (f == USAGE_FACETS) {
            *wrong = word;
            return false;
        }
        o->facets |= 1u << f;
        word += len;
        if (!*word) {
            return true;
        }
    }
}

bool classify_prints_nothing(const struct classify_output *o) {
    const struct print_format *format = &print_formats[o->format];
    return !format->page && !format->triage;
}

void classify_print(const struct triage *t, const struct value_table *values,
                    const struct classify_output *o, struct cli_failures *failures) {
    const struct print_format *format = &print_formats[o->format];
    bool terminal = !o->path && isatty(STDOUT_FILENO) == 1;
    struct triage_view view = {.top = format->for_people && !values ? TOP_DEFAULT : 0,
                               .width = width_of(o, terminal),
                               .colour = wants_colour(o, terminal),
                               .note = o->note,
                               .note_ctx = o->note_ctx,
                               .facets = o->facets,
                               .raw_csv = o->raw_csv};
    if (o->top != UINT64_MAX) {
        view.top = (size_t)o->top;
    }
    struct cli_output output;
    if (!cli_output_open(&output, o->path, failures)) {
        return;
    }
    if (values) {
        format->values(values, t, &view, &output.sink);
    } else {
        (o->by == BY_HOLDER ? format->holders : format->triage)(t, &view, &output.sink);
    }
    cli_output_close(&output, true, failures);
}

/* ---- the page ---- */

/* Sizes of a flame graph in the page, which is small and as wide as the text: width and row in
 * pixels, depth and stem in frames. */
enum {
    GRAPH_WIDTH = 960,
    GRAPH_ROW = 16,
    GRAPH_DEPTH = 40,
    GRAPH_STEM = 4,
    GRAPH_LEAST = 150 /* least share of a frame that is drawn, in 1/100 % */
};

/* ---- flame graphs ---- */

struct graph_texts {
    struct strbuf module, name, line; /* scratch */
};

static bool is_same_frame(const struct page_frame *a, const struct page_frame *b) {
    return a->inlined == b->inlined && strcmp(a->function, b->function) == 0 &&
           strcmp(a->image, b->image) == 0;
}

/* Returns how many outer frames all stacks share, not counting the GRAPH_STEM innermost of them,
 * which are drawn; 0 if that number would be less than 2. */
static size_t count_shared(const struct page_stack *stacks, size_t count) {
    size_t shared = count ? stacks[0].count : 0;
    for (size_t i = 1; i < count; i++) {
        size_t same = 0;
        while (same < shared && same < stacks[i].count &&
               is_same_frame(&stacks[0].frames[same], &stacks[i].frames[same])) {
            same++;
        }
        shared = same;
    }
    return shared > GRAPH_STEM + 1 ? shared - GRAPH_STEM : 0;
}

/* Adds a stack to the tree; its first `shared` frames become one frame that names their number. */
static enum st draw_stack(struct stack_tree *tree, struct graph_texts *g,
                          const struct page_stack *stack, size_t shared, struct err *e) {
    strbuf_clear(&g->line);
    if (shared) {
        strbuf_addf(&g->line, "%zu outer frames, which all stacks share", shared);
    }
    for (size_t i = shared; i < stack->count; i++) {
        const struct page_frame *f = &stack->frames[i];
        strbuf_clear(&g->module);
        strbuf_clear(&g->name);
        if (*f->image) {
            frame_name_module(&g->module, f->image);
        }
        frame_name_join(&g->name, *f->image ? strbuf_cstr(&g->module) : NULL, f->function,
                        f->inlined);
        if (g->line.len) {
            strbuf_addc(&g->line, ';');
        }
        folded_escape(&g->line, strbuf_cstr(&g->name), g->name.len, g->line.len == 0);
    }
    if (strbuf_check(&g->module, e) != ST_OK || strbuf_check(&g->name, e) != ST_OK ||
        strbuf_check(&g->line, e) != ST_OK) {
        return ST_ERR;
    }
    return stack_tree_add(tree, strbuf_cstr(&g->line), g->line.len, stack->ms, 0, e);
}

static enum st draw_stacks(void *ctx, const struct page_stack *stacks, size_t count,
                           struct sink *out, struct err *e) {
    (void)ctx;
    const struct svg_options o = {.unit = "ms",
                                  .width = GRAPH_WIDTH,
                                  .row = GRAPH_ROW,
                                  .min_width = GRAPH_LEAST,
                                  .min_is_share = true,
                                  .max_depth = GRAPH_DEPTH,
                                  .inverted = true,
                                  .element = true};
    struct stack_tree tree = {0};
    struct graph_texts g = {0};
    enum st st = ST_OK;
    size_t shared = count_shared(stacks, count);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        st = draw_stack(&tree, &g, &stacks[i], shared, e);
    }
    if (st == ST_OK && stack_tree_total(&tree) > 0) {
        st = svg_write(&tree, &o, out, e);
    }
    strbuf_release(&g.module);
    strbuf_release(&g.name);
    strbuf_release(&g.line);
    stack_tree_release(&tree);
    return st;
}

static void write_style(void *ctx, struct sink *out) {
    (void)ctx;
    svg_write_style(out);
}

/* Appends a word of a shell's command line, in single quotes if it needs them. */
static void add_quoted_word(struct strbuf *b, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./,:=@+";
    if (*word && word[strspn(word, plain)] == '\0') {
        strbuf_addstr(b, word);
        return;
    }
    strbuf_addc(b, '\'');
    for (; *word; word++) {
        if (*word == '\'') {
            strbuf_addstr(b, "'\\''");
        } else {
            strbuf_addc(b, *word);
        }
    }
    strbuf_addc(b, '\'');
}

static void add_option(struct strbuf *b, const char *option, const char *value) {
    strbuf_addf(b, "%s%s ", b->len ? " " : "", option);
    add_quoted_word(b, value);
}

/* Appends the operands other than "-", which can be read again, with the values of -d and --where;
 * nothing if there are no such operands, or if they are partials, which have no dumps. */
static void add_inputs(struct strbuf *b, const struct classify_page_inputs *in) {
    size_t named = 0;
    for (size_t i = 0; !in->partials && i < in->operand_count; i++) {
        named += strcmp(in->operands[i], "-") != 0;
    }
    for (size_t i = 0; named && i < in->symbol_count; i++) {
        add_option(b, "-d", in->symbols[i]);
    }
    if (named && *in->where) {
        add_option(b, "--where", in->where);
    }
    for (size_t i = 0; named && i < in->operand_count; i++) {
        if (strcmp(in->operands[i], "-") != 0) {
            strbuf_addstr(b, b->len ? " " : "");
            add_quoted_word(b, in->operands[i]);
        }
    }
}

/* Writes what is kept of the page; a buffer stays empty if its part cannot be kept. */
static enum st write_kept(const struct summary *s, const struct classify_page_inputs *in,
                          struct err *e) {
    enum st st = summary_write_rows(s, CLASSIFY_KEPT_DETAIL, &in->gone, in->rows, e);
    if (st == ST_NONE) {
        strbuf_reset(in->rows);
        return ST_OK;
    }
    st = st == ST_OK ? shown_write(s, in->shown_number, in->shown, e) : st;
    if (st == ST_NONE) {
        strbuf_reset(in->shown);
        return ST_OK;
    }
    return st;
}

/* ---- what is gone ---- */

/* The buckets that are gone by the counts of one triage. */
struct page_gone {
    struct map by_id; /* key: id as a number; value: index in `buckets` */
    VEC(struct gone_bucket) buckets;
};

static enum st note_page_gone(void *ctx, const struct gone_bucket *b, struct err *e) {
    struct page_gone *list = ctx;
    return map_put(&list->by_id, &b->id, sizeof b->id, list->buckets.len, NULL) &&
                   VEC_PUSH(&list->buckets, *b)
               ? ST_OK
               : err_nomem(e);
}

static bool is_page_gone(void *ctx, const char *id, struct gone_bucket *out) {
    const struct page_gone *list = ctx;
    uint64_t number;
    const struct map_entry *entry = list->buckets.len && parse_hex(id, strlen(id), &number)
                                        ? map_get(&list->by_id, &number, sizeof number)
                                        : NULL;
    if (entry) {
        *out = list->buckets.data[entry->value];
    }
    return entry != NULL;
}

/* ---- the document ---- */

static enum st write_page(const struct classify_page *page, const struct classify_page_inputs *in,
                          struct sink *out, struct err *e) {
    struct summary summary = {0};
    struct strbuf inputs = {0};
    struct page_gone gone = {0};
    struct strbuf history = {0};
    add_inputs(&inputs, in);
    if (in->history) {
        add_quoted_word(&history, in->history);
    }
    const struct page_options o = {.narrowed = in->narrowed,
                                   .history = strbuf_cstr(&history),
                                   .detail = (size_t)page->detail,
                                   .top = in->top,
                                   .source_url = page->source_url,
                                   .inputs = strbuf_cstr(&inputs),
                                   .keyer = in->keyer,
                                   .note = in->note,
                                   .is_marked = in->is_marked,
                                   .is_back = in->is_back,
                                   .is_gone = in->is_gone ? in->is_gone : is_page_gone,
                                   .gone_ctx = in->is_gone ? in->note_ctx : &gone,
                                   .fails_back = in->fails_back,
                                   .note_ctx = in->note_ctx,
                                   .drawing = {.stacks = draw_stacks, .style = write_style}};
    enum st st = strbuf_check(&inputs, e);
    st = st == ST_OK ? strbuf_check(&history, e) : st;
    if (st == ST_OK && !in->is_gone) {
        st = gone_each(in->triage, note_page_gone, &gone, e);
    }
    if (st == ST_OK) {
        st = summary_make(&summary, in->triage, in->gate, o.detail, e);
    }
    if (st == ST_OK && in->add_rows) {
        st = in->add_rows(in->rows_ctx, &summary, e);
    }
    if (st == ST_OK && in->rows) {
        st = summary_explain_first(&summary, o.detail, in->keyer, e);
    }
    if (st == ST_OK) {
        st = page_write(&summary, &o, out, e);
    }
    if (st == ST_OK && in->rows) {
        st = write_kept(&summary, in, e);
    }
    summary_release(&summary);
    map_release(&gone.by_id);
    VEC_RELEASE(&gone.buckets);
    strbuf_release(&history);
    strbuf_release(&inputs);
    return st;
}

void classify_print_page(const struct classify_page *page, const struct classify_page_inputs *in,
                         const char *path, struct cli_failures *failures) {
    struct cli_output output;
    struct err e = {0};
    if (!cli_output_open(&output, path, failures)) {
        return;
    }
    enum st st = write_page(page, in, &output.sink, &e);
    if (st != ST_OK) {
        cli_fail(failures, NULL, &e);
    }
    cli_output_close(&output, st == ST_OK, failures);
}
