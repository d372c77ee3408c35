/* Prints the lines of tables that people read. */
#include "classify/print/text_table.h"

#include <string.h>

#include "base/utf8.h"

enum {
    WRAP_MIN = 12, /* fewest columns of wrapped text */
    BAR_MIN = 8,   /* columns of the bar in a narrow table */
    BAR_WIDE = 16, /* columns of the bar in a wide table */
    BAR_FROM = 80  /* smallest width, in columns, of a table that has a bar */
};

const char *table_colour_of(enum rule_cause cause) {
    switch (cause) {
    case CAUSE_DEADLOCK:
    case CAUSE_LOCK:
        return "\x1b[31m";
    case CAUSE_DISK:
    case CAUSE_NETWORK:
    case CAUSE_IO:
    case CAUSE_IPC:
    case CAUSE_INPUT:
        return "\x1b[34m";
    case CAUSE_COMPUTE:
    case CAUSE_RENDER:
    case CAUSE_LAUNCH:
        return "\x1b[33m";
    case CAUSE_SLEEP:
    case CAUSE_STARVED:
        return "\x1b[35m";
    default:
        return TABLE_PLAIN;
    }
}

void table_style(struct text_table *tb, const char *code) {
    if (tb->v->colour) {
        sink_str(tb->out, code);
    }
}

void table_put(struct text_table *tb, const char *s) {
    sink_str(tb->out, s);
    tb->column += utf8_text_columns(s, strlen(s));
}

void table_spaces(struct text_table *tb, size_t n) {
    sink_printf(tb->out, "%*s", (int)n, "");
    tb->column += n;
}

void table_right(struct text_table *tb, const char *s, size_t width) {
    size_t columns = utf8_text_columns(s, strlen(s));
    table_spaces(tb, columns < width ? width - columns : 0);
    table_put(tb, s);
}

void table_left(struct text_table *tb, const char *s, size_t width) {
    size_t columns = utf8_text_columns(s, strlen(s));
    table_put(tb, s);
    table_spaces(tb, columns < width ? width - columns : 0);
}

void table_end_line(struct text_table *tb) {
    sink_char(tb->out, '\n');
    tb->column = 0;
}

/* Returns the index at which a text longer than `width` columns is broken: between frames or
 * clauses if possible, else at a space, else at the width. */
static size_t break_at(const char *s, size_t len, size_t width) {
    size_t clause = 0, space = 0, columns = 0;
    for (size_t i = 0, n; i < len; i += n) {
        uint32_t c;
        n = utf8_decode(s + i, len - i, &c);
        columns += n ? utf8_columns(c) : 1;
        n += n == 0;
        if (columns > width) {
            if (clause || space) {
                return clause ? clause : space;
            }
            return i ? i : n;
        }
        if (s[i] == ' ') {
            space = i + 1;
            bool arrow = i >= 3 && memcmp(s + i - 3, "\xe2\x86\x90", 3) == 0;
            clause = arrow || (i > 0 && s[i - 1] == ',') ? i + 1 : clause;
        }
    }
    return len;
}

void table_wrap(struct text_table *tb) {
    const char *s = strbuf_cstr(&tb->text);
    size_t len = tb->text.len, at = tb->column;
    size_t width = tb->v->width > at + WRAP_MIN ? tb->v->width - at : WRAP_MIN;
    while (utf8_text_columns(s, len) > width) {
        size_t n = break_at(s, len, width), shown = n;
        while (shown > 0 && s[shown - 1] == ' ') {
            shown--;
        }
        sink_write(tb->out, s, shown);
        table_end_line(tb);
        table_spaces(tb, at + 2);
        s += n;
        len -= n;
        width = tb->v->width > at + WRAP_MIN + 2 ? tb->v->width - at - 2 : WRAP_MIN;
    }
    sink_write(tb->out, s, len);
    table_end_line(tb);
}

size_t table_bar_columns(const struct text_table *tb) {
    if (tb->v->width < BAR_FROM) {
        return 0;
    }
    return tb->v->width < TABLE_WIDE ? BAR_MIN : BAR_WIDE;
}

void table_bar(struct text_table *tb, uint64_t ms, uint64_t longest) {
    size_t columns = table_bar_columns(tb);
    size_t eighths =
        longest ? (size_t)(((unsigned __int128)ms * columns * 8 + longest / 2) / longest) : 0;
    for (size_t i = 0; i < columns; i++, eighths -= eighths < 8 ? eighths : 8) {
        char block[] = "\xe2\x96\x88"; /* U+2588 … U+258F: a block of eight eighths … of one */
        block[2] = (char)(block[2] + (eighths < 8 ? 8 - (int)eighths : 0));
        table_put(tb, eighths ? block : " ");
    }
}
