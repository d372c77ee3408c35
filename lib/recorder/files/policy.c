/* Policy: the share of users, the day's quota, retention, and the session's counts. */
#include "files/policy.h"

#include <string.h>
#include <unistd.h>

#include "support/rec_text.h"
#include "files/retention.h"
#include "support/share.h"

enum {
    EPOCH_TEXT = 256,
    GROW_MS = 1000 /* least ms between two updates of the session file by a stall's age */
};

static bool whitelisted(const struct rec_policy *policy) {
    return (policy->config.flags & STALLREC_WHITELISTED) != 0;
}

static uint32_t share(const struct rec_policy *policy) {
    return policy->config.user_share_ppm != 0 ? policy->config.user_share_ppm : REC_SHARE_ALL;
}

/* ---- users ---- */

static void epoch_text(const struct stallrec_config *config, int64_t wall_ms,
                       char text[EPOCH_TEXT]) {
    const char *parts[] = {config->app_version, config->app_build};
    size_t len = 0;
    if (config->epoch == STALLREC_EPOCH_DAY) {
        char stamp[REC_STAMP_TEXT];
        rec_stamp_text(wall_ms, stamp);
        memcpy(text, stamp, 8); /* the date: "20261121" */
        text[8] = '\0';
        return;
    }
    for (size_t i = 0; i < 2; i++) { /* a text that does not fit is cut, so that of very long
                                        versions only the beginning counts */
        size_t part = parts[i] != NULL ? strlen(parts[i]) : 0;
        part = part < EPOCH_TEXT / 2 - 1 ? part : EPOCH_TEXT / 2 - 1;
        if (part > 0) {
            memcpy(text + len, parts[i], part);
        }
        len += part;
        text[len++] = i == 0 ? ' ' : '\0';
    }
}

/* Is this user recorded? An installation without a user's name counts as a user of its own, which
 * is the same at each start. */
static bool sampled(const struct rec_policy *policy, int64_t wall_ms) {
    char epoch[EPOCH_TEXT], install[2 * REC_INSTALL_SIZE + 1];
    if (whitelisted(policy) || share(policy) == REC_SHARE_ALL) {
        return true;
    }
    const char *user = policy->config.user;
    if (user == NULL || user[0] == '\0') {
        user = rec_hex_text(policy->state.install, REC_INSTALL_SIZE, install);
    }
    epoch_text(&policy->config, wall_ms, epoch);
    return rec_share_has(user, epoch, share(policy));
}

enum stallrec_error rec_policy_open(struct rec_policy *policy, const struct stallrec_config *config,
                                    const char *directory, int64_t wall_ms,
                                    void (*random)(void *ctx, uint8_t *out, size_t len),
                                    void *ctx) {
    *policy = (struct rec_policy){.config = *config, .file = {.fd = REC_FD_NONE}};
    if (!rec_folder_open(&policy->folder, directory)) {
        return STALLREC_ERR_DIRECTORY;
    }
    uint8_t install[REC_INSTALL_SIZE];
    random(ctx, install, sizeof install);
    rec_state_open(rec_folder_fd(&policy->folder), &policy->state, install);
    random(ctx, policy->session.id, REC_UUID_SIZE);
    if (!sampled(policy, wall_ms)) {
        rec_policy_close(policy);
        return STALLREC_ERR_NOT_SAMPLED;
    }
    return STALLREC_OK;
}

/* ---- the session ---- */

static void bring_up_to_date(struct rec_policy *policy, bool ended) {
    struct rec_session session = policy->session;
    uint64_t now = policy->clock_ns();
    uint64_t foreground =
        policy->context != NULL ? rec_context_foreground_ns(policy->context, now) : UINT64_MAX;
    session.length_ms = (now - policy->start_ns) / 1000000;
    session.foreground_ms = foreground != UINT64_MAX ? foreground / 1000000 : session.length_ms;
    session.suppressed += policy->suppressed_alone;
    session.ended = ended;
    if (policy->stalled > 0) {
        /* If the process dies now, it dies of this stall, unless it is in the background, where
         * the system may end it at any time. */
        bool background =
            policy->context != NULL && rec_context_app_now(policy->context) == REC_APP_BACKGROUND;
        struct rec_tier *tier = ended || background ? &session.hang : &session.fatal;
        tier->stalls += policy->stalled;
        tier->stalled_ms += policy->stalled_ms;
    }
    int dir = rec_folder_fd(&policy->folder);
    if (ended) {
        rec_session_close(&policy->file, dir, &session, &policy->about);
    } else {
        rec_session_update(&policy->file, dir, &session, &policy->about);
    }
}

static void on_begin(void *user, const struct stallrec_stall *stall) {
    struct rec_policy *policy = user;
    policy->stalled++;
    policy->stalled_ms = stall->at_ms;
    bring_up_to_date(policy, false);
    if (policy->config.callbacks.stall_begin != NULL) {
        policy->config.callbacks.stall_begin(policy->config.user_data, stall);
    }
}

void rec_policy_grow(struct rec_policy *policy, uint64_t age_ms) {
    bool grown = policy->stalled_ms == 0 || age_ms >= policy->stalled_ms + GROW_MS;
    if (policy->stalled > 0 && grown) {
        policy->stalled_ms = age_ms;
        bring_up_to_date(policy, false);
    }
}

void rec_policy_seen(struct rec_policy *policy, const struct rec_totals *totals,
                     uint64_t events_dropped, const struct rec_watched *watched) {
    policy->suppressed_alone = totals->suppressed_alone;
    policy->session.low_rates = totals->low_rates;
    policy->session.events_dropped = events_dropped;
    policy->session.watched = *watched;
}

/* Counts one stall less that continues. Which of the others is now the latest is not known here, so
 * their age is 0 until rec_policy_grow gives it. */
static void stall_is_over(struct rec_policy *policy) {
    policy->stalled -= policy->stalled > 0;
    policy->stalled_ms = 0;
}

static struct rec_tier *policy_tier(struct rec_policy *policy, uint64_t stalled_ms) {
    uint32_t limit = policy->config.severe_ms;
    bool severe = limit != 0 && stalled_ms >= limit;
    return severe ? &policy->session.severe : &policy->session.hang;
}

void rec_policy_take_back(struct rec_policy *policy, bool ended, uint64_t was_ms) {
    if (ended) {
        struct rec_tier *tier = policy_tier(policy, was_ms);
        tier->stalls -= tier->stalls > 0;
        tier->stalled_ms -= tier->stalled_ms < was_ms ? tier->stalled_ms : was_ms;
    } else {
        stall_is_over(policy);
    }
    bring_up_to_date(policy, false);
}

static void on_end(void *user, const struct stallrec_stall *stall) {
    struct rec_policy *policy = user;
    struct rec_tier *tier =
        policy->fatal ? &policy->session.fatal : policy_tier(policy, stall->at_ms);
    stall_is_over(policy);
    tier->stalls++;
    tier->stalled_ms += stall->at_ms;
    bring_up_to_date(policy, false);
    if (policy->config.callbacks.stall_end != NULL) {
        policy->config.callbacks.stall_end(policy->config.user_data, stall);
    }
}

static void policy_on_lost(void *user, const char *path, enum stallrec_error why) {
    struct rec_policy *policy = user;
    policy->session.lost++;
    if (policy->config.callbacks.dump_lost != NULL) {
        policy->config.callbacks.dump_lost(policy->config.user_data, path, why);
    }
}

static void policy_describe(const struct rec_policy *policy, struct rec_about *about) {
    about->home = policy->config.home;
    about->user_share_ppm = share(policy);
    about->policy_known = true;
    about->whitelisted = whitelisted(policy);
}

void rec_policy_begin(struct rec_policy *policy, struct stallrec_config *config,
                      struct rec_about *about, const struct rec_context *context, int64_t wall_ms,
                      uint64_t (*clock_ns)(void)) {
    uint8_t *id = policy->session.id; /* set to a UUID of version 4: RFC 9562, section 5.4 */
    id[6] = (uint8_t)((id[6] & 0x0f) | 0x40);
    id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
    policy_describe(policy, about);
    policy->about = *about;
    policy->context = context;
    policy->clock_ns = clock_ns;
    policy->start_ns = clock_ns();
    policy->session.start_ms = wall_ms;
    policy->session.launches = 1;
    config->callbacks.stall_begin = on_begin;
    config->callbacks.stall_end = on_end;
    config->callbacks.dump_lost = policy_on_lost;
    config->user_data = policy;
    /* Unfinished files and sessions of dead processes are handled before this process makes its own
     * files. A process does not see its own locks, so it would take its own files for those of a
     * dead process. */
    int dir = rec_folder_fd(&policy->folder);
    rec_retention_remove_junk(dir);
    rec_session_recover(dir);
    rec_session_open(&policy->file, dir, policy->config.file_mode, &policy->session,
                     &policy->about);
}

/* ---- dumps ---- */

void rec_policy_count(struct rec_policy *policy, struct rec_about *about, int64_t wall_ms) {
    bool again = policy->spare && wall_ms / 86400000 <= policy->state.day;
    uint32_t quota = policy->config.upload_per_day;
    if (again && !policy->remembered) {
        /* Uncounts the dump that was not written, so that its number is used again. */
        policy->state.dumps -= policy->state.dumps > 0;
    }
    if (!again || !policy->remembered) {
        policy->remembered =
            rec_state_count(rec_folder_fd(&policy->folder), &policy->state, wall_ms);
    }
    about->seq_today = policy->state.dumps;
    /* If the count cannot be stored, the quota counts as used up, as each start would otherwise
     * begin at 0 again. */
    about->over_quota =
        quota != 0 && !whitelisted(policy) && (policy->state.dumps > quota || !policy->remembered);
}

/* Remembers the file of a dump in place of the one that was remembered longest; does nothing if
 * path is NULL or its last part does not fit. */
static void policy_keep_file(struct rec_policy *policy, const struct rec_dump *dump,
                             const struct rec_about *about, const char *path) {
    struct rec_policy_file *file = &policy->files[policy->next_file];
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    size_t size = slash != NULL ? strlen(slash + 1) : 0;
    if (size == 0 || size >= sizeof file->name) {
        return;
    }
    memcpy(file->id, dump->id, sizeof file->id);
    memcpy(file->name, slash + 1, size + 1);
    file->suppressed = dump->stall.suppressed;
    file->over_quota = about->over_quota;
    policy->next_file = (policy->next_file + 1) % REC_POLICY_FILES;
}

bool rec_policy_withdraw(struct rec_policy *policy, const uint8_t id[REC_UUID_SIZE]) {
    for (uint32_t i = 0; i < REC_POLICY_FILES; i++) {
        struct rec_policy_file *file = &policy->files[i];
        if (file->name[0] == '\0' || memcmp(file->id, id, sizeof file->id) != 0) {
            continue;
        }
        bool removed = unlinkat(rec_folder_fd(&policy->folder), file->name, 0) == 0;
        if (removed) {
            policy->session.written--;
            policy->session.suppressed -= file->suppressed;
            policy->session.over_quota -= file->over_quota;
            bring_up_to_date(policy, false);
        }
        file->name[0] = '\0';
        return removed;
    }
    return false;
}

void rec_policy_wrote(struct rec_policy *policy, const struct rec_dump *dump,
                      const struct rec_about *about, const char *path, enum stallrec_error st) {
    policy->spare = st != STALLREC_OK;
    if (st != STALLREC_OK) {
        return;
    }
    policy->session.suppressed += dump->stall.suppressed;
    policy->session.written++;
    policy->session.over_quota += about->over_quota;
    policy_keep_file(policy, dump, about, path);
    bring_up_to_date(policy, false);
    if (policy->config.callbacks.dump_written != NULL) {
        policy->config.callbacks.dump_written(policy->config.user_data, path);
    }
}

void rec_policy_lost(struct rec_policy *policy, const struct rec_dump *dump, const char *path) {
    policy->session.suppressed += dump->stall.suppressed;
    policy_on_lost(policy, path, STALLREC_ERR_WRITE);
    bring_up_to_date(policy, false);
}

void rec_policy_tidy(struct rec_policy *policy, int64_t wall_ms) {
    struct rec_retention limits = {policy->config.keep_days, policy->config.keep_bytes,
                                   policy->config.keep_files};
    if (limits.days != 0 || limits.bytes != 0 || limits.files != 0) {
        rec_retention_apply(rec_folder_fd(&policy->folder), &limits, wall_ms, NULL);
    }
}

void rec_policy_close(struct rec_policy *policy) {
    if (policy->clock_ns != NULL) {
        bring_up_to_date(policy, true);
        policy->clock_ns = NULL;
    }
    rec_folder_close(&policy->folder);
}
