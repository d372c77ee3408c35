/* stallclassify's formats, and the width and colours of its table. */
#include "classify_output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/parse.h"
#include "classify/stats/usage.h"

enum { WIDTH_DEFAULT = 100, TOP_DEFAULT = 20 };

const char *const classify_colours[] = {"auto", "always", "never", NULL};

const char *const classify_by_words[] = {"bucket", "holder", NULL};

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

/* https://no-color.org: any value but an empty one. */
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

void classify_print(const struct triage *t, const struct classify_output *o,
                    struct cli_failures *failures) {
    const struct print_format *format = &print_formats[o->format];
    bool terminal = !o->path && isatty(STDOUT_FILENO) == 1;
    struct triage_view view = {.top = format->for_people ? TOP_DEFAULT : 0,
                               .width = width_of(o, terminal),
                               .colour = wants_colour(o, terminal),
                               .facets = o->facets};
    if (o->top != UINT64_MAX) {
        view.top = (size_t)o->top;
    }
    struct cli_output output;
    if (cli_output_open(&output, o->path, failures)) {
        (o->by == BY_HOLDER ? format->holders : format->triage)(t, &view, &output.sink);
        cli_output_close(&output, true, failures);
    }
}
