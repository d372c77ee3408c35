/* The lines of tables that people read: columns, bars, and text that is wrapped. */
#ifndef STALLKIT_CLASSIFY_TEXT_TABLE_H
#define STALLKIT_CLASSIFY_TEXT_TABLE_H

#include "base/strbuf.h"
#include "classify/print/print_formats.h"

#define TABLE_BOLD  "\x1b[1m"
#define TABLE_DIM   "\x1b[2m"
#define TABLE_PLAIN "\x1b[0m"

enum {
    TABLE_SHARE_COLUMNS = 6,
    TABLE_STALLED_COLUMNS = 9, /* these with a space before them */
    TABLE_COUNT_COLUMNS = 8,
    TABLE_USERS_COLUMNS = 7,
    TABLE_DETAIL_INDENT = 7, /* of the lines below a row */
    TABLE_WIDE = 110         /* columns from which on a table is wide */
};

struct text_table {
    const struct triage *t;
    const struct triage_view *v;
    struct sink *out;
    struct strbuf text; /* a line, before it is wrapped */
    size_t column;      /* of the line that is being printed */
};

/* A colour for what kind of work a cause is: waiting for others, for devices, running, own fault.
 */
const char *table_colour_of(enum rule_cause cause);
/* Writes an escape sequence, if the table has colours. */
void table_style(struct text_table *tb, const char *code);

void table_put(struct text_table *tb, const char *s);
void table_spaces(struct text_table *tb, size_t n);
/* Right-aligned and left-aligned in `width` columns. */
void table_right(struct text_table *tb, const char *s, size_t width);
void table_left(struct text_table *tb, const char *s, size_t width);
void table_end_line(struct text_table *tb);
/* Prints tb->text from the current column on, wrapped to the width, later lines two columns further
 * in. */
void table_wrap(struct text_table *tb);
/* Columns of a bar; 0 in a narrow table. */
size_t table_bar_columns(const struct text_table *tb);
/* A bar of eighths of a column; `longest` fills all of them. */
void table_bar(struct text_table *tb, uint64_t ms, uint64_t longest);

#endif
