/* Undoes the changes that a text went through between the tool that wrote it and this reader:
 * quoting in replies, empty lines between the lines, line numbers, prefixes of loggers
 * (line_prefix.h), indentation, lists and tags of Markdown and HTML, changed characters
 * (text_characters.h), and the JSON around each line of a container's log. */
#ifndef STALLKIT_DUMP_TEXT_MEND_H
#define STALLKIT_DUMP_TEXT_MEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "dump/input/line_prefix.h"
#include "dump/json/span_private.h"

/* The changes that were made to the lines of a text after the tool wrote it, such as prefixes,
 * which are undone. */
struct text_mend {
    size_t quoted; /* marks '>' in front of each line */
    bool wrapped; /* each line is a JSON object of Docker's json-file driver, {"log":"…\n",…} */
    struct line_prefix prefix; /* the prefix of a logger in front of each line */
    bool doubled;              /* an empty line follows each line */
    size_t numbered; /* number of characters between the number in front of each line and the line
                        itself; 0 = the lines have no numbers */
    size_t head;     /* bytes in front of the first line: tags, backticks, or a list's mark */
    bool tagged;     /* head has tags of HTML */
    size_t indent;   /* blanks in front of the first line; up to as many are cut off each line */
    bool listed; /* the indent was made by a list: the first line has the mark "- " in its place */
    /* private */
    bool dropped;    /* the last line was dropped */
    bool begun;      /* the first line was taken */
    uint64_t number; /* number of the next line */
};

/* Does the line begin with JSON, rather than with a logger's "[2026-11-20 …]" or "{braces}"? */
bool text_begins_json(struct span line);
/* Is the line a JSON object of Docker's json-file driver, whose first member is "log", and which
 * has a "stream" that begins with "std"? */
bool text_is_wrapped(struct span line);
/* Finds how the lines of a text that begins with these bytes were changed. whole: the bytes are the
 * whole text. *more is set if further bytes would change the answer, *soon if they would change
 * only the answer about a logger's prefix; otherwise the two are not written. */
struct text_mend text_mend_of(struct span text, bool whole, bool *more, bool *soon);

/* Could mending, apart from the indent, change the first two lines of the text? */
bool text_mend_is_needed(const struct text_mend *m, struct span text);

enum text_mended {
    TEXT_KEPT,    /* the line needed no change */
    TEXT_MENDED,  /* the line was changed; it never gets longer */
    TEXT_DROPPED, /* an empty line that was added between lines of the text */
    TEXT_OTHER,   /* the line lacks the characters that were added to the lines of the text, so the
                     text ends before it */
};
/* Removes the added characters from the text's next line, which has no line feed. *out becomes the
 * line; it lies in *room if characters within it were decoded or replaced, else it is a part of
 * `line`. *room is marked failed if memory runs out. */
enum text_mended text_mend_line(struct text_mend *m, struct span line, struct strbuf *room,
                                struct span *out);
/* Sets *room to the mended form of the lines in the first `most` bytes of a text; *room is marked
 * failed if memory runs out. */
void text_mend_head(struct text_mend m, struct span text, size_t most, struct strbuf *room);

#endif
