/* The kinds of JSON value that the readers of this folder distinguish. */
#ifndef STALLKIT_DUMP_VALUE_KIND_H
#define STALLKIT_DUMP_VALUE_KIND_H

enum value_kind {
    VALUE_NULL,
    VALUE_FALSE,
    VALUE_TRUE,
    VALUE_INTEGER,
    VALUE_REAL,
    VALUE_STRING,  /* a string whose bytes need no decoding */
    VALUE_DIGITS,  /* a number with 19 or more digits or with an exponent, which counts as a string
                      of its text */
    VALUE_ESCAPED, /* a string with escapes, or with bytes to repair */
    VALUE_ARRAY,
    VALUE_OBJECT
};

#endif
