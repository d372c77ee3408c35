/* Makes the rows that the gate compares: all stalls, the buckets of both levels, and pools of
 * small buckets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "classify/gate/gate_private.h"
#include "classify/stats/sum.h"

#define NO_ROW SIZE_MAX

static struct gate_row *new_row(struct gate *g, char level, const struct bucket *b) {
    return VEC_PUSH(&g->rows,
                    ((struct gate_row){.level = level, .bucket = b, .pools = {NO_ROW, NO_ROW}}))
               ? &g->rows.data[g->rows.len - 1]
               : NULL;
}

static bool add_tally(struct gate_row *row, size_t run, const struct tally *t) {
    sum_add(&row->stalls[run], t->stalls);
    sum_add(&row->length_unknown[run], tally_length_unknown(t));
    return clusters_merge(&row->events[run], &t->clusters) &&
           distinct_merge(&row->who[run], &t->users);
}

static bool add_row(struct gate_row *pool, size_t run, const struct gate_row *row) {
    sum_add(&pool->stalls[run], row->stalls[run]);
    sum_add(&pool->length_unknown[run], row->length_unknown[run]);
    return clusters_merge(&pool->events[run], &row->events[run]) &&
           distinct_merge(&pool->who[run], &row->who[run]);
}

/* ---- buckets ---- */

/* The rows of the buckets of one level while they are made; level 0 has the level-1 buckets. */
struct level_rows {
    struct gate *g;
    const struct gate_match *match;
    size_t level;
    size_t *row[RATES_RUNS]; /* for each bucket the index of its row; NO_ROW = none yet */
};

static const struct bucket_set *rows_set(const struct level_rows *l, size_t run) {
    return &l->g->run[run]->level[l->level];
}

/* Does a level-2 bucket get a row of its own? Only if its level-1 bucket has several level-2
 * buckets in one of the runs, or one in each run and these two do not match. */
static bool tells_more(const struct level_rows *l, size_t run, const struct bucket *b) {
    const struct bucket_set *parents = &l->g->run[run]->level[0];
    const struct bucket *parent = parents->buckets.data[b->parent];
    uint32_t other = l->match->other[run][0][b->parent];
    if (parent->children.len > 1 || other == NO_INDEX) {
        return parent->children.len > 1;
    }
    const struct bucket *same = l->g->run[!run]->level[0].buckets.data[other];
    return same->children.len > 1 || l->match->other[run][1][b->index] != same->children.data[0];
}

/* Adds a bucket's counts to a row; row NO_ROW: to a new row. False: out of memory. */
static bool count_in(struct level_rows *l, size_t row, size_t run, const struct bucket *b) {
    if (row == NO_ROW) {
        row = l->g->rows.len;
        if (!new_row(l->g, rows_set(l, run)->level, b)) {
            return false;
        }
    }
    l->row[run][b->index] = row;
    return add_tally(&l->g->rows.data[row], run, b->tally);
}

/* Adds the counts of the bucket of the other run with which b is compared to b's row. False: out of
 * memory. */
static bool count_match(struct level_rows *l, size_t run, const struct bucket *b, uint32_t other) {
    const struct bucket *match = rows_set(l, !run)->buckets.data[other];
    size_t row = l->row[run][b->index];
    if (run == RATES_NOW && strcmp(b->id, match->id) != 0) {
        l->g->rows.data[row].was = match;
    }
    return count_in(l, row, !run, match);
}

/* Adds rows for those buckets of a run that have none yet (on level 2, only those for which
 * tells_more is true). A row also has the buckets with which the bucket is compared. each_other:
 * buckets whose match has another match are left out. False: out of memory. */
static bool add_run(struct level_rows *l, size_t run, bool each_other) {
    const struct bucket_set *set = rows_set(l, run);
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        uint32_t other = l->match->other[run][l->level][b->index];
        bool mutual = other == NO_INDEX || l->match->other[!run][l->level][other] == b->index;
        if (l->row[run][b->index] != NO_ROW || (each_other && !mutual) ||
            (l->level == 1 && !tells_more(l, run, b))) {
            continue;
        }
        size_t row = other == NO_INDEX ? NO_ROW : l->row[!run][other];
        if (!count_in(l, row, run, b)) {
            return false;
        }
        if (other != NO_INDEX && row == NO_ROW && !count_match(l, run, b, other)) {
            return false;
        }
    }
    return true;
}

static bool add_level(struct gate *g, const struct gate_match *match, size_t level) {
    struct level_rows l = {.g = g, .match = match, .level = level};
    bool ok = true;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        size_t count = rows_set(&l, run)->buckets.len;
        l.row[run] = calloc(count + 1, sizeof *l.row[run]);
        ok = ok && l.row[run];
        for (size_t i = 0; l.row[run] && i < count; i++) {
            l.row[run][i] = NO_ROW;
        }
    }
    ok = ok && add_run(&l, RATES_NOW, true) && add_run(&l, RATES_NOW, false) &&
         add_run(&l, RATES_BASE, false);
    free(l.row[RATES_BASE]);
    free(l.row[RATES_NOW]);
    return ok;
}

/* Adds the row of all stalls if exposure is known. Without exposure there is no such row, because
 * shares of all stalls are compared. False: out of memory. */
static bool add_all(struct gate *g) {
    struct gate_row *row = g->rates ? new_row(g, '*', NULL) : NULL;
    for (size_t run = 0; row && run < RATES_RUNS; run++) {
        if (!add_tally(row, run, &g->run[run]->total)) {
            return false;
        }
    }
    return row || !g->rates;
}

static void count_users(struct gate *g, size_t from) {
    for (size_t i = from; i < g->rows.len; i++) {
        for (size_t run = 0; run < RATES_RUNS; run++) {
            g->rows.data[i].users[run] = distinct_count(&g->rows.data[i].who[run]);
        }
    }
}

bool gate_add_rows(struct gate *g) {
    struct gate_match match;
    bool ok = gate_match_buckets(&match, g->run, g->options.key_functions, g->exposure) &&
              add_all(g) && add_level(g, &match, 0) && add_level(g, &match, 1);
    gate_match_release(&match);
    count_users(g, 0);
    return ok;
}

/* ---- pools ---- */

double gate_row_error(const struct gate_row *row) {
    double stalls = row->by[RATES_COUNT].error, users = row->by[GATE_USERS].error;
    return stalls < users ? stalls : users;
}

/* Is the row so small that, when there is no rise, its confidence interval excludes a rise by
 * regressed_percent with a chance of less than 80 %? The size is that of both runs together, so
 * that a rise does not influence it. */
static bool is_small(const struct gate *g, const struct gate_row *row) {
    const double sure = 1.645, mostly = 0.842; /* normal deviates of 95 % and 80 % */
    return (sure + mostly) * gate_row_error(row) > log1p(g->options.regressed_percent / 100.0);
}

/* The level and the name of a pool: a cause or a framework. */
struct pool_key {
    char level;
    const char *name;
};

static struct pool_key pool_of(const struct gate_row *row, size_t kind) {
    const struct bucket *b = row->bucket;
    unsigned confidence;
    if (kind == 0) {
        return (struct pool_key){'c', rule_cause_text(tally_cause(b->tally, &confidence))};
    }
    bool entered = b->frame_count && !b->frames[0]->function[0];
    return (struct pool_key){'f', entered ? b->frames[0]->image : ""};
}

/* Returns the index of the pool of this key among the rows from `from` on; if it is new, its row is
 * appended. NO_ROW: out of memory. */
static size_t put_pool(struct gate *g, size_t from, struct pool_key key) {
    for (size_t i = from; i < g->rows.len; i++) {
        const struct gate_row *row = &g->rows.data[i];
        if (row->level == key.level && strcmp(row->pool, key.name) == 0) {
            return i;
        }
    }
    struct gate_row *row = new_row(g, key.level, NULL);
    if (!row) {
        return NO_ROW;
    }
    row->pool = key.name;
    return g->rows.len - 1;
}

/* Frees what a row owns. */
static void release_row(struct gate_row *row) {
    for (size_t run = 0; run < RATES_RUNS; run++) {
        clusters_release(&row->events[run]);
        distinct_release(&row->who[run]);
    }
    VEC_RELEASE(&row->members);
}

/* Removes the pools, which are the rows from `from` on, that have fewer than two buckets: such a
 * bucket has a row of its own, with the same counts. False: out of memory. */
static bool drop_pools_of_one(struct gate *g, size_t from) {
    size_t kept = from, *moved = calloc(g->rows.len - from + 1, sizeof *moved);
    if (!moved) {
        return false;
    }
    for (size_t at = from; at < g->rows.len; at++) {
        bool keep = g->rows.data[at].members.len > 1;
        moved[at - from] = keep ? kept : NO_ROW;
        if (keep) {
            g->rows.data[kept++] = g->rows.data[at];
        } else {
            release_row(&g->rows.data[at]);
        }
    }
    for (size_t i = 0; i < from * GATE_POOLS; i++) {
        size_t *pool = &g->rows.data[i / GATE_POOLS].pools[i % GATE_POOLS];
        *pool = *pool == NO_ROW ? NO_ROW : moved[*pool - from];
    }
    g->rows.len = kept;
    free(moved);
    return true;
}

/* Adds a bucket's row to a pool. False: out of memory. */
static bool pool_row(struct gate *g, const struct gate_row *row, size_t at) {
    struct gate_row *pool = &g->rows.data[at];
    bool ok = VEC_PUSH(&pool->members, row->bucket);
    for (size_t run = 0; ok && run < RATES_RUNS; run++) {
        ok = add_row(pool, run, row);
    }
    return ok;
}

bool gate_add_pools(struct gate *g) {
    size_t from = g->rows.len;
    for (size_t i = 0; i < from; i++) {
        const struct gate_row *small = &g->rows.data[i];
        if (small->level != '1' || small->platform || !is_small(g, small)) {
            continue;
        }
        for (size_t kind = 0; kind < GATE_POOLS; kind++) {
            size_t at = put_pool(g, from, pool_of(&g->rows.data[i], kind));
            if (at == NO_ROW || !pool_row(g, &g->rows.data[i], at)) {
                return false;
            }
            g->rows.data[i].pools[kind] = at;
        }
    }
    if (!drop_pools_of_one(g, from)) {
        return false;
    }
    count_users(g, from);
    return true;
}

/* Empties a pool, so that its members can be added anew. */
static void empty_pool(struct gate_row *pool) {
    release_row(pool);
    for (size_t run = 0; run < RATES_RUNS; run++) {
        pool->events[run] = (struct clusters){0};
        pool->who[run] = (struct distinct){0};
        pool->stalls[run] = pool->length_unknown[run] = 0;
    }
    pool->apart = 0;
    pool->trimmed = true;
}

/* Empties those pools that fail and have a bucket that fails. */
static bool empty_failing_pools(struct gate *g, size_t from, gate_fails fails) {
    bool any = false;
    for (size_t i = 0; i < from; i++) {
        bool member = g->rows.data[i].pools[0] != NO_ROW || g->rows.data[i].pools[1] != NO_ROW;
        for (size_t kind = 0; member && fails(g, &g->rows.data[i]) && kind < GATE_POOLS; kind++) {
            size_t at = g->rows.data[i].pools[kind];
            if (at != NO_ROW && !g->rows.data[at].trimmed && fails(g, &g->rows.data[at])) {
                empty_pool(&g->rows.data[at]);
                any = true;
            }
        }
    }
    return any;
}

bool gate_trim_pools(struct gate *g, size_t from, gate_fails fails, bool *trimmed) {
    *trimmed = empty_failing_pools(g, from, fails);
    for (size_t i = 0; *trimmed && i < from; i++) {
        for (size_t kind = 0; kind < GATE_POOLS; kind++) {
            size_t at = g->rows.data[i].pools[kind];
            if (at == NO_ROW || !g->rows.data[at].trimmed) {
                continue;
            }
            if (fails(g, &g->rows.data[i])) {
                g->rows.data[at].apart++;
                g->rows.data[i].pools[kind] = NO_ROW;
            } else if (!pool_row(g, &g->rows.data[i], at)) {
                return false;
            }
        }
    }
    if (*trimmed && !drop_pools_of_one(g, from)) {
        return false;
    }
    count_users(g, *trimmed ? from : g->rows.len);
    return true;
}

void gate_release_rows(struct gate *g) {
    for (size_t i = 0; i < g->rows.len; i++) {
        release_row(&g->rows.data[i]);
    }
    VEC_RELEASE(&g->rows);
}
