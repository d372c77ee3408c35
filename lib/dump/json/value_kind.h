/* What a value of JSON is, as the readers here tell values apart. */
#ifndef STALLKIT_DUMP_VALUE_KIND_H
#define STALLKIT_DUMP_VALUE_KIND_H

enum value_kind {
    VALUE_NULL,
    VALUE_FALSE,
    VALUE_TRUE,
    VALUE_INTEGER,
    VALUE_REAL,
    VALUE_STRING,  /* its bytes are its text, as they are */
    VALUE_DIGITS,  /* a number whose text counts as a string */
    VALUE_ESCAPED, /* a string with escapes, or with bytes to repair */
    VALUE_ARRAY,
    VALUE_OBJECT
};

#endif
