/* Prints the lines of tables that people read: columns, bars, and wrapped text. */
#ifndef STALLKIT_CLASSIFY_TEXT_TABLE_H
#define STALLKIT_CLASSIFY_TEXT_TABLE_H

#include "base/strbuf.h"
#include "classify/print/print_formats.h"

#define TABLE_BOLD  "\x1b[1m"
#define TABLE_DIM   "\x1b[2m"
#define TABLE_PLAIN "\x1b[0m"

enum {
    /* The widths of columns, in character cells, with the space before them: */
    TABLE_SHARE_COLUMNS = 6,
    TABLE_STALLED_COLUMNS = 9,
    TABLE_COUNT_COLUMNS = 8,
    TABLE_USERS_COLUMNS = 7,
    TABLE_DETAIL_INDENT = 7, /* columns in front of the lines below a row */
    TABLE_WIDE = 110         /* a table is wide from this number of columns on */
};

struct text_table {
    const struct triage *t;
    const struct triage_view *v;
    struct sink *out;
    struct strbuf text; /* text to be wrapped */
    size_t column;      /* current column of the line that is being printed */
};

/* Returns the colour of a cause, by its kind: the thread waits for threads; it waits for a device,
 * a process or input; it runs; it sleeps or gets no processor; none of these. */
const char *table_colour_of(enum rule_cause cause);
/* Writes an escape sequence if the table has colours. */
void table_style(struct text_table *tb, const char *code);

void table_put(struct text_table *tb, const char *s);
void table_spaces(struct text_table *tb, size_t n);
/* Write a text right-aligned or left-aligned in `width` columns; a wider text is not cut. */
void table_right(struct text_table *tb, const char *s, size_t width);
void table_left(struct text_table *tb, const char *s, size_t width);
void table_end_line(struct text_table *tb);
/* Prints tb->text from the current column on, wrapped to the table's width, and ends the last line;
 * later lines begin two columns further in. */
void table_wrap(struct text_table *tb);
/* Returns the columns of a bar; 0 in a table without bars. */
size_t table_bar_columns(const struct text_table *tb);
/* Writes a bar of ms in eighths of a column; `longest` fills all columns. */
void table_bar(struct text_table *tb, uint64_t ms, uint64_t longest);

#endif
