/* Prints the news of stalls that recorders in running programs report. */
#include <string.h>

#include "cli.h"
#include "record/recorder_answers.h"
#include "recorder/preload/preload.h"

#define TOOL "stallrec"

/* Reads the news item `number` from the report. False: the item is being written, or a later one
 * has overwritten it. */
static bool read_news(const struct preload_report *report, uint64_t number,
                      struct preload_news *out) {
    const struct preload_news *news = &report->news[(number - 1) % PRELOAD_NEWS];
    if (__atomic_load_n(&news->number, __ATOMIC_ACQUIRE) != number) {
        return false;
    }
    memcpy(out, news, sizeof *out);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    out->what[sizeof out->what - 1] = '\0';
    return __atomic_load_n(&news->number, __ATOMIC_RELAXED) == number;
}

void recorder_say_news(const struct preload_report *report, uint64_t *heard, uint64_t now_ns) {
    uint64_t told = __atomic_load_n(&report->told, __ATOMIC_ACQUIRE);
    if (told - *heard > PRELOAD_NEWS) {
        *heard = told - PRELOAD_NEWS;
    }
    while (*heard < told) {
        struct preload_news news;
        if (!read_news(report, ++*heard, &news)) {
            continue;
        }
        if (news.kind == PRELOAD_STALL_TAKEN_BACK) {
            recorder_say_taken_back(now_ns, news.age_ms);
        } else {
            recorder_say_stall(now_ns, news.what, news.age_ms, news.kind == PRELOAD_STALL_ENDS);
        }
    }
}
