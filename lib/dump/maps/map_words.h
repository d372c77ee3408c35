/* Reads the words of a map's lines, for its parser. Functions with "take" in their name move past
 * the words that they read. ST_NONE: a fault was reported. ST_ERR: out of memory. */
#ifndef STALLKIT_DUMP_MAP_WORDS_H
#define STALLKIT_DUMP_MAP_WORDS_H

#include "dump/maps/map_private.h"

/* A word of a line. A word in quotes is never a keyword or a mark. */
struct map_word {
    const char *text; /* the word without the quotes around it */
    size_t len;
    bool quoted;
};

struct map_parse {
    struct report_maps *maps;
    struct report_map *map;
    const char *file;
    uint32_t line;
    VEC(struct map_word) words;
    size_t at; /* index of the next word */
    /* numbers of the lines that set a field and the order; 0 = not set */
    uint32_t set_in[MAP_FIELDS], order_in;
    report_map_on_fault on_fault;
    void *ctx;
    bool named; /* a statement 'map' was read, with or without faults, or a fault says that the map
                   does not begin with one */
    bool faulty;
    struct err *e;
};

/* Reports a fault of the line, with the word w if that is not NULL; the map is then not used.
 * Returns ST_NONE. */
enum st map_fault(struct map_parse *p, const char *what, const struct map_word *w);

/* Splits a line into p->words; outside quotes and brackets, =, |, + and the comma are words by
 * themselves, and # ends the line. */
enum st map_split_line(struct map_parse *p, const char *s, size_t len) BASE_MUST_USE;
/* Takes the next word; NULL at the end of the line. */
const struct map_word *map_next_word(struct map_parse *p);
/* Returns the next word without taking it; NULL at the end of the line. */
const struct map_word *map_peek_word(const struct map_parse *p);
/* Is the word this keyword or mark? w may be NULL. */
bool map_word_is(const struct map_word *w, const char *text);
/* Takes the next word if it is this keyword or mark. */
bool map_take_word(struct map_parse *p, const char *text);
/* Returns a copy of the word in the set's arena; NULL: out of memory. */
const char *map_copy_word(struct map_parse *p, const struct map_word *w);
/* Takes a word that is a value, not a mark; *out is a copy in the set's arena. what: the fault to
 * report if there is no value. */
enum st map_take_value(struct map_parse *p, const char *what, const char **out) BASE_MUST_USE;
enum st map_take_path(struct map_parse *p, struct member_path *out) BASE_MUST_USE;
/* Takes a path and appends it to the list. */
enum st map_take_one_path(struct map_parse *p, struct map_paths *paths) BASE_MUST_USE;
/* Takes PATH [| PATH]... and appends the paths to the list. */
enum st map_take_paths(struct map_parse *p, struct map_paths *paths) BASE_MUST_USE;
/* Takes the values after "is", at least one, up to a mark or the end of the line, and appends them
 * to the list. */
enum st map_take_texts(struct map_parse *p, struct map_texts *list) BASE_MUST_USE;
/* Reports a fault if a word is left on the line. */
enum st map_end_line(struct map_parse *p) BASE_MUST_USE;

#endif
