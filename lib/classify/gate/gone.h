/* Finds, from the counts of one triage, since which version a bucket is gone and in which version
 * it returned.
 *
 * A bucket is gone if later versions do not have it, and the 95 % interval of the gate's exact test
 * (rates.h), of their rate relative to the versions before, ends below one half: with n events
 * before, in the exposure E, and none in the exposure F, it ends at (E / F) (0.025^(-phi / n) - 1),
 * see Clopper and Pearson, 1934. It returned in a later version if it has at least two
 * independent events from there on, and, by the same test, its rate there is higher than in all
 * versions since it was gone, or more than one hundredth of its rate before: a stray dump of a
 * fixed bucket is no return. Exposure is time in the foreground if it is known for a version, else
 * the number of all dumps. A version without such time, or with many stalls of days without it
 * (usage_rated_ms), tells then nothing if it lacks the bucket; if it has it, the versions before do
 * not tell that the bucket was gone. Versions are taken to have the same devices.
 *
 * A bucket is new if, of the versions that carry a trend, only the newest has it, no dump of it is
 * of an earlier version or of none, and by the same test those before would have shown it. */
#ifndef STALLKIT_CLASSIFY_GONE_H
#define STALLKIT_CLASSIFY_GONE_H

#include "classify/stats/triage.h"

/* The versions in which a bucket of level 1 was gone and returned, or is new; texts are borrowed
 * from the triage. */
struct gone_bucket {
    uint64_t id; /* the bucket's id, as the number that its 12 hex digits write */
    /* First version without the bucket, of the last period in which it was gone; NULL = it never
     * was, and the next three are NULL. */
    const char *gone_in;
    /* First version with the bucket after that period; NULL = it is still gone. */
    const char *returned_in;
    /* First version with the bucket after that period, if all its dumps after it are too few to
     * tell a return; NULL = there is none. */
    const char *again_in;
    /* Lowest of the versions from `gone_in` on that lack the bucket and of whose time less than
     * USAGE_WATCHED_PERMILLE was watched, if the other versions do not tell the same without all
     * such versions: that it is gone, or came back, may be luck; NULL = there is none. */
    const char *unwatched_in;
    const char *new_in; /* version in which the bucket is new; NULL = it is not */
};
/* A version of the app, and what a bucket has of it. */
struct gone_version {
    const char *text;
    double exposure; /* 0 = not known: the version's dumps of a bucket make no rate */
    double dumps;
    bool unwatched; /* less than USAGE_WATCHED_PERMILLE of its time was watched */
};
/* Sets the versions of *out, which are texts of `versions`, or NULL. versions: ascending. weight:
 * number of independent events that a dump stands for, at most 1. */
void gone_judge(const struct gone_version *versions, size_t count, double weight,
                struct gone_bucket *out);
/* Is it significant, as above, that the exposure `without` had no event, beside `events`
 * independent events in the exposure `with`? */
bool gone_is_told(double events, double with, double without);
enum {
    GONE_RATED_MS = 600000, /* time in the foreground, in ms, below which no rate is told */
    GONE_DUMPS_LEAST = 10
};
/* Is what is known of a version enough to compare it with others? has: its time in the foreground,
 * if that of any version is known (rated), and then it is at least GONE_RATED_MS, else its dumps,
 * at least GONE_DUMPS_LEAST; and it is at least one hundredth of `most`, what the version has that
 * has most. */
bool gone_version_carries(uint64_t has, uint64_t most, bool rated);
/* A callback that takes one bucket; ST_ERR ends the list. */
typedef enum st (*gone_visit)(void *ctx, const struct gone_bucket *b, struct err *e);
/* Calls visit for each bucket of level 1 that is gone, was gone and returned, or is new; t is
 * finished. A triage with fewer than two versions has none, and the bucket "other" is left out.
 * ST_ERR: from visit, or out of memory. */
enum st gone_each(const struct triage *t, gone_visit visit, void *ctx, struct err *e) BASE_MUST_USE;

#endif
