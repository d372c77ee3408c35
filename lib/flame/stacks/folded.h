/* Reads and writes folded stacks, the text that flame-graph tools exchange: a line per stack,
 * frames from the outermost to the innermost with ';' between them, a space, a count.
 *
 *     main;handle_event;parse 12
 *
 * The count, a whole or decimal number, stands after the last space, so names may hold spaces.
 * Lines that are empty or begin with '#' are comments. CRLF is accepted.
 *
 * Names may hold any byte. In text, ';' and the bytes of what may not be shown (utf8_is_printable)
 * or is no UTF-8 are written as \x and two lower-case hex digits: "operator;" is operator\x3b. So
 * is a '#' at the start of a line, and a backslash, but only where it would be read as such an
 * escape; every other backslash stands for itself, as other tools write it (App\Http\Kernel). Text
 * in which exactly that is escaped is called canonical: equal names have equal canonical text. */
#ifndef STALLKIT_FLAME_FOLDED_H
#define STALLKIT_FLAME_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/gz.h"
#include "base/sink.h"
#include "base/strbuf.h"
#include "flame/stacks/stack_tree.h"

/* Appends a name as a frame of canonical text; first: the frame begins its line. */
void folded_escape(struct strbuf *out, const char *name, size_t len, bool first);
/* Appends the name that a frame's canonical text stands for. */
void folded_unescape(struct strbuf *out, const char *frame, size_t len);

/* The counts of a reader. A line is bad if it has no stack, no count, a count that is no number, a
 * count with which the sum of all counts passes 64 bits, or more than STACK_TEXT_MAX bytes. */
struct folded_stats {
    uint64_t lines;     /* all lines, even comments */
    uint64_t stacks;    /* lines added, even with a count of 0 */
    uint64_t bad;       /* bad lines, which were left out */
    uint64_t first_bad; /* number of the first bad line, from 1 */
    /* Reason why the first bad line is bad, as static text; NULL = no line was bad. */
    const char *reason;
    uint64_t rounded; /* number of added lines whose counts have more than STACK_DECIMALS_MAX
                         decimal places, not counting zeros at the end */
    bool unended;     /* the last line has no '\n', so that its count may lack digits */
    bool foreign; /* the input is suspicious and its first line that is no comment was bad: nothing
                     was added */
};

/* Reads folded text in pieces of any size and adds it to a tree. Zero-initialise, then set tree. */
struct folded_reader {
    struct stack_tree *tree; /* borrowed */
    struct folded_stats stats;
    struct line_cutter lines; /* private, as the next member is */
    struct strbuf canonical;  /* scratch */
    /* Set by the caller for a file that was found in a folder rather than named: if its first line
     * that is no comment is bad, the file is some other text, and nothing of the file is added. */
    bool suspicious;
};

/* Takes the next bytes of the input. Bad lines are counted and left out; ST_ERR: ERR_NOMEM. */
enum st folded_feed(struct folded_reader *r, const char *bytes, size_t len,
                    struct err *e) BASE_MUST_USE;
/* Ends the input: a last line without '\n' is read, too. ST_ERR: ERR_NOMEM. The reader can then
 * read another input, once the caller has taken and cleared stats. */
enum st folded_end(struct folded_reader *r, struct err *e) BASE_MUST_USE;
void folded_release(struct folded_reader *r);

/* Could the first bytes of an input be folded text rather than JSON? After a byte order mark and
 * white space, only '{' or '[' is taken for JSON, and only if white space and then '"', '{', '}',
 * '[', ']' or the end of the bytes follows. */
bool folded_recognise(const char *bytes, size_t len);

/* Writes the tree as canonical folded text, siblings in stack_node_order (of an ordered tree:
 * stacks in the order of adding), so that equal trees give equal bytes. Write errors stick to the
 * sink; ST_ERR: ERR_NOMEM. */
enum st folded_write(const struct stack_tree *t, struct sink *out, struct err *e) BASE_MUST_USE;

/* Appends a weight, in units of 10^-decimals, as text without zeros after its last decimal place:
 * "12", "3.25". */
void folded_weight(struct strbuf *out, uint64_t weight, unsigned decimals);

#endif
