/* Prints the facts about a bucket that a history has, for people and for programs. */
#include "classify/print/bucket_note.h"

#include <stddef.h>
#include <string.h>

#include "classify/print/triage_text.h"

static bool is_said(const char *text) {
    return text && *text;
}

static void add_clause(struct strbuf *b, const char *before, const char *word, const char *text) {
    if (is_said(text)) {
        strbuf_addstr(b, b->len ? before : "");
        strbuf_addstr(b, word);
        text_add_clean(b, text);
    }
}

void bucket_note_add(struct strbuf *b, const struct bucket_note *n) {
    bool alone = is_said(n->back_alone) && !is_said(n->back_in);
    add_clause(b, "", "back again in ", n->back_in);
    add_clause(b, "", "perhaps back again, by the only dump of ", alone ? n->back_alone : NULL);
    add_clause(b, ", ", "marked as fixed in ", n->fixed_in);
    bool returned = is_said(n->returned_in);
    bool again = !returned && is_said(n->again_in);
    bool told = returned && is_said(n->back_in) && strcmp(n->back_in, n->returned_in) == 0;
    add_clause(b, "; ", "came back in ", told ? NULL : n->returned_in);
    add_clause(b, returned ? ", " : "; ",
               returned || again ? "gone since " : "by the counts fixed in ", n->gone_in);
    add_clause(b, ", ", "too few to say whether it came back: seen again in ",
               again && !is_said(n->back_in) ? n->again_in : NULL);
    add_clause(b, ", ", "though less than 90 % of the time was watched in ", n->unwatched_in);
    add_clause(b, "; ", "seen since ", n->first_day);
    add_clause(b, is_said(n->first_day) ? " in " : "; ",
               is_said(n->first_day) ? "" : "seen since version ", n->first_version);
    add_clause(b, ", ", "last ", n->last_day);
    add_clause(b, is_said(n->last_day) ? " in " : ", ", is_said(n->last_day) ? "" : "last in ",
               n->last_version);
    add_clause(b, "; ", "owner ", n->owner);
    bool ever = is_said(n->ignore) && strcmp(n->ignore, "ever") == 0;
    add_clause(b, "; ", ever ? "" : "ignored until ", ever ? "ignored" : n->ignore);
    add_clause(b, "; ", "", n->note);
    add_clause(b, "; ", "", n->link);
}

void bucket_note_json(struct jsonw *w, const struct bucket_note *n) {
    const struct {
        const char *name, *text;
    } rows[] = {{"first_day", n->first_day},
                {"first_version", n->first_version},
                {"last_day", n->last_day},
                {"last_version", n->last_version},
                {"gone_in", n->gone_in},
                {"returned_in", n->returned_in},
                {"again_in", n->again_in},
                {"unwatched_in", n->unwatched_in},
                {"fixed_in", n->fixed_in},
                {"back_in", n->back_in},
                {"back_alone", n->back_alone},
                {"owner", n->owner},
                {"note", n->note},
                {"link", n->link},
                {"ignore", n->ignore}};
    jsonw_member_object(w, "history");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (is_said(rows[i].text)) {
            jsonw_member_cstr(w, rows[i].name, rows[i].text);
        }
    }
    jsonw_end_object(w);
}
