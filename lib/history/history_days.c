/* Converts days, see base/parse.h. */
#include "base/parse.h"
#include "history/history_private.h"

_Static_assert((int)HISTORY_DAY_SIZE == (int)DAY_SIZE, "the text of a day");

bool history_day_parse(const char *text, size_t len, int32_t *day) {
    return parse_day(text, len, day);
}

bool history_day_is_one(int64_t day) {
    return day_is_one(day);
}

const char *history_day_text(int32_t day, char out[HISTORY_DAY_SIZE]) {
    return day_text(day, out);
}
