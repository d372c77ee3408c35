/* Builds an index: units are read and flattened by several threads, and encoded in their order by
 * one, so that the bytes do not depend on the threads. */
#include "index/build.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "index/encode.h"
#include "index/pieces.h"

/* JOBS_PER_THREAD: jobs in flight per thread; a job reads compilation units. The number is large
 * because compilation units differ in size by a factor of a thousand, and the results of a job must
 * wait for those of the job before. */
enum { THREADS_MAX = 256, JOBS_PER_THREAD = 16 };

/* Small units share a job: waking a thread for each would cost more than reading it. */
enum {
    UNITS_PER_JOB = 16,
    /* maximum bytes of debug info in a job of several units; one unit may have more */
    JOB_BYTES = 16 << 10
};

struct index_build_run {
    const struct index_source *source;
    struct own_symbols own;
    struct debug *debug; /* NULL = the source has no DWARF */
    bool incomplete; /* files with functions of its units were not found or are of another build */
    struct build_worker *workers;
    unsigned threads;
    struct pool *pool;
    struct unit_code *units; /* by the unit's index */
    size_t unit_count;
    struct debug_claim *claims;
    size_t claim_count;
    struct encoder encoder;
    struct piece_vec pieces;
    struct build_job *done; /* finished jobs, to be used again */
    pthread_mutex_t lock;   /* guards the members below */
    struct err failure;     /* the first error, in the order of units */
};

/* The state that a thread keeps from unit to unit. */
struct build_worker {
    struct debug *debug; /* clone of index_build_run.debug; NULL = not made yet, or not needed */
    struct err why;      /* the clone's complaint about the current job */
    struct flat_scratch scratch;
};

/* A job for the pool: some units, or a side job. */
struct build_job {
    /* next finished job; finished jobs are kept, with their memory, for further units */
    struct build_job *next;
    struct side_job *side; /* side job that is run in place of units; NULL = none */
    size_t first, count;
    unsigned worker; /* number of the worker that read the units */
    bool read;       /* the units were read */
    struct flat_records records[UNITS_PER_JOB];
    struct err why; /* the first error in the units */
};

static void fail_build(struct index_build_run *b, const struct err *why) {
    pthread_mutex_lock(&b->lock);
    err_set(&b->failure, why->code, "%s", why->text);
    pthread_mutex_unlock(&b->lock);
}

static bool build_failed(struct index_build_run *b) {
    pthread_mutex_lock(&b->lock);
    bool is = err_is(&b->failure);
    pthread_mutex_unlock(&b->lock);
    return is;
}

/* Makes damage in the DWARF an error of the build: live look-ups report it when an address needs
 * the damaged unit, which an index cannot do later. */
static void complain_unit_damage(void *ctx, const char *file, uint64_t unit_offset,
                                 const struct err *why) {
    struct err e = *why;
    (void)file;
    (void)unit_offset;
    fail_build(ctx, &e);
}

static void free_jobs(struct index_build_run *b) {
    for (struct build_job *job = b->done, *next; job; job = next) {
        next = job->next;
        for (size_t i = 0; i < UNITS_PER_JOB; i++) {
            flat_records_release(&job->records[i]);
        }
        free(job);
    }
}

/* ---- on the workers ---- */

/* The work that another thread may do while the DWARF is opened: reading the symbols, and inflating
 * sections if there are several threads. */
struct side_job {
    struct index_build_run *b;
    enum st symbols; /* status of own_symbols_open */
    struct err damage, e;
};

/* Callback that keeps the first complaint in ctx, a struct err that only one thread uses. */
static void keep_first(void *ctx, const char *file, uint64_t unit_offset, const struct err *why) {
    (void)file;
    (void)unit_offset;
    (void)err_copy(ctx, why);
}

static void open_beside(struct side_job *side) {
    const struct index_source *s = side->b->source;
    if (side->b->threads > 1) {
        debug_open_ahead(s->slice);
    }
    side->symbols =
        own_symbols_open(&side->b->own, s->slice, s->paired, keep_first, &side->damage, &side->e);
}

static enum st clone_debug(struct index_build_run *b, struct build_worker *w, struct err *e) {
    return w->debug ? ST_OK : debug_clone(&w->debug, b->debug, keep_first, &w->why, e);
}

static enum st read_job(struct index_build_run *b, struct build_job *job, unsigned worker,
                        struct err *e) {
    struct build_worker *w = &b->workers[worker];
    err_clear(&w->why);
    enum st st = clone_debug(b, w, e);
    for (size_t i = 0; i < job->count && st == ST_OK; i++) {
        st = flat_records_read(&job->records[i], w->debug, job->first + i, &b->own, &w->scratch, e);
    }
    job->why = w->why;
    job->worker = worker;
    return st;
}

static void read_units(void *ctx, void *item, unsigned worker) {
    struct index_build_run *b = ctx;
    struct build_job *job = item;
    struct err e = {0};
    if (job->side) {
        open_beside(job->side);
        return;
    }
    if (build_failed(b)) {
        return;
    }
    job->read = read_job(b, job, worker, &e) == ST_OK;
    if (!job->read) {
        (void)err_set(&job->why, e.code, "%s", e.text);
    }
}

/* ---- in order ---- */

static enum st keep_code(struct unit_code *out, const struct flat_records *f, struct err *e) {
    const struct span_vec *owned = &f->unit->owned;
    out->owned = calloc(owned->len + 1, sizeof *out->owned);
    out->rows = calloc(f->row_count + 1, sizeof *out->rows);
    if (!out->owned || !out->rows) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < owned->len; i++) {
        const struct code_span *s = &owned->data[i];
        const struct flat_record *r = &f->records[s->owner];
        out->owned[i] = (struct owned_code){s->low, s->high, r->low, r->high, r->offset};
    }
    out->owned_count = owned->len;
    if (f->row_count > 0) {
        memcpy(out->rows, f->rows, f->row_count * sizeof *out->rows);
    }
    out->row_count = f->row_count;
    return ST_OK;
}

static enum st encode_records(struct index_build_run *b, struct build_job *job, size_t i,
                              struct err *e) {
    encode_unit(&b->encoder, &job->records[i], job->worker);
    if (encode_check(&b->encoder, e) != ST_OK) {
        return ST_ERR;
    }
    return keep_code(&b->units[job->first + i], &job->records[i], e);
}

static void encode_job(void *ctx, void *item) {
    struct index_build_run *b = ctx;
    struct build_job *job = item;
    struct err e = {0};
    if (job->side) {
        return;
    }
    if (err_is(&job->why)) {
        fail_build(b, &job->why);
    }
    bool sound = job->read && !build_failed(b);
    for (size_t i = 0; i < job->count && sound; i++) {
        sound = encode_records(b, job, i, &e) == ST_OK;
    }
    if (err_is(&e)) {
        fail_build(b, &e);
    }
    for (size_t i = 0; i < job->count; i++) {
        flat_records_clear(&job->records[i]);
    }
    job->next = b->done;
    b->done = job;
}

/* Returns the number of units that make a job, from unit `first` on. */
static size_t units_of_job(const struct index_build_run *b, size_t first) {
    struct debug *d = b->debug;
    uint64_t bytes = debug_unit_size(d, first);
    size_t count = 1;
    while (count < UNITS_PER_JOB && first + count < b->unit_count) {
        bytes += debug_unit_size(d, first + count);
        if (bytes > JOB_BYTES) {
            break;
        }
        count++;
    }
    return count;
}

/* Returns a job for the units from `first` on: a finished one, which is used again, if there is
 * any. NULL: out of memory. */
static struct build_job *take_job(struct index_build_run *b, size_t first) {
    struct build_job *job = b->done;
    if (job) {
        b->done = job->next;
    } else {
        job = calloc(1, sizeof *job);
    }
    if (job) {
        job->first = first;
        job->count = units_of_job(b, first);
        job->read = false;
        err_clear(&job->why);
    }
    return job;
}

/* ---- the whole ---- */

static enum st read_all_units(struct index_build_run *b, struct err *e) {
    enum st st = ST_OK;
    b->units = calloc(b->unit_count + 1, sizeof *b->units);
    if (!b->units) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < b->unit_count && st == ST_OK;) {
        struct build_job *job = take_job(b, i);
        if (job) {
            i += job->count;
            pool_put(b->pool, job);
        } else {
            st = err_nomem(e);
        }
    }
    pool_finish(b->pool);
    return st;
}

static uint64_t info_size(const struct index_build_run *b) {
    uint64_t size = 0;
    for (size_t i = 0; i < b->unit_count; i++) {
        size += debug_unit_size(b->debug, i);
    }
    return size;
}

static unsigned quantum_of(const struct object_slice *s) {
    const char *arch = object_slice_arch(s);
    if (strncmp(arch, "arm64", 5) == 0 || strcmp(arch, "aarch64") == 0) {
        return 4;
    }
    return object_slice_is_arm32(s) ? 2 : 1;
}

static enum st open_both(struct index_build_run *b, enum st *symbols, struct err *e) {
    const struct index_source *s = b->source;
    struct side_job side = {.b = b};
    struct build_job job = {.side = &side};
    struct err why = {0};
    const struct debug_others others = {.alt = s->alt, .split = s->split};
    pool_put(b->pool, &job);
    pool_poll(b->pool);
    enum st dwarf = debug_open(&b->debug, s->slice, &others, complain_unit_damage, b, &why);
    pool_finish(b->pool);
    /* If both symbols and DWARF have errors, that of the symbols is reported, so that the message
     * does not depend on the threads. */
    if (err_is(&side.damage)) {
        b->failure = side.damage;
    }
    *symbols = side.symbols;
    if (*symbols == ST_ERR || dwarf == ST_ERR) {
        const struct err *first = *symbols == ST_ERR ? &side.e : &why;
        return err_copy(e, first);
    }
    return dwarf;
}

/* Notes units whose files were not found or are of another build. ST_NONE: no object file of the
 * debug map can be used, and b->debug is closed, so that only symbols are left. */
static enum st drop_lost_files(struct index_build_run *b, struct err *e) {
    if (debug_compare_objects(b->debug, e) != ST_OK) {
        return ST_ERR;
    }
    struct debug_map_files map = debug_map_files(b->debug);
    if (b->source->map_files) {
        *b->source->map_files = map;
    }
    b->incomplete = debug_split_units(b->debug) > 0;
    if (!debug_map_is_lost(&map)) {
        return ST_OK;
    }
    debug_close(b->debug);
    b->debug = NULL;
    return ST_NONE;
}

static enum st open_source(struct index_build_run *b, struct err *e) {
    enum st symbols, dwarf = open_both(b, &symbols, e);
    dwarf = dwarf == ST_OK ? drop_lost_files(b, e) : dwarf;
    if (dwarf == ST_OK) {
        b->unit_count = debug_unit_count(b->debug);
        return debug_claims(b->debug, &b->claims, &b->claim_count, e);
    }
    if (dwarf == ST_NONE && symbols == ST_NONE && b->own.function_count > 0) {
        return ST_OK;
    }
    return dwarf == ST_ERR ? ST_ERR : symbols;
}

/* ---- the file ---- */

static void add_u32(struct strbuf *b, uint32_t v) {
    char bytes[4] = {(char)v, (char)(v >> 8), (char)(v >> 16), (char)(v >> 24)};
    strbuf_add(b, bytes, sizeof bytes);
}

static void put_padding(struct sink *out, uint64_t size) {
    static const char zeros[INDEX_ALIGN];
    sink_write(out, zeros, (size_t)(-size % INDEX_ALIGN));
}

static void lay_out(struct index_header *h, const struct strbuf *const *sections) {
    uint64_t at = INDEX_PROLOGUE;
    for (size_t i = 0; i < INDEX_SECTIONS; i++) {
        at += -at % INDEX_ALIGN;
        h->sections[i] = (struct index_extent){at, sections[i]->len};
        at += sections[i]->len;
    }
    h->size = at + -at % INDEX_ALIGN;
}

static void fill_header(struct index_build_run *b, struct index_header *h) {
    const struct object_slice *s = b->source->slice;
    *h = (struct index_header){.format = INDEX_FORMAT,
                               .builder = INDEX_BUILDER,
                               .base = object_slice_base(s),
                               .text_end = object_slice_text_end(s),
                               .fingerprint = b->source->fingerprint,
                               .id = *object_slice_id(s),
                               .quantum = (uint8_t)b->encoder.quantum};
    const struct debug *d = b->debug;
    h->flags =
        (uint8_t)((d ? INDEX_DWARF : 0) | (object_slice_is_arm32(s) ? INDEX_ARM32 : 0) |
                  (d && debug_is_lineless(d) ? INDEX_LINELESS : 0) |
                  (b->incomplete ? INDEX_SPLIT : 0) |
                  (d && debug_dieless_units(d) > 0 ? INDEX_DIELESS : 0) |
                  (b->own.hidden ? INDEX_HIDDEN : 0) | (b->own.names_cut ? INDEX_NAMES_CUT : 0) |
                  (!d && b->own.symbol_count == 0 ? INDEX_NAMELESS : 0));
    snprintf(h->arch, sizeof h->arch, "%s", object_slice_arch(s));
    h->name = names_string(&b->encoder.names, b->source->name);
    h->origin = b->pieces.len > 0 ? b->pieces.data[0].at : 0;
}

static enum st write_file(struct index_build_run *b, struct sink *out, struct err *e) {
    struct index_header h;
    struct strbuf addresses = {0}, records = {0}, files = {0}, sums = {0};
    uint8_t prologue[INDEX_PROLOGUE];
    encode_end(&b->encoder);
    fill_header(b, &h);
    for (size_t i = 0; i < b->pieces.len; i++) {
        add_u32(&addresses, (uint32_t)(b->pieces.data[i].at - h.origin));
        add_u32(&records, b->pieces.data[i].record);
    }
    for (size_t i = 0; i < b->encoder.names.files.len; i++) {
        add_u32(&files, b->encoder.names.files.data[i]);
    }
    const struct strbuf *sections[INDEX_SECTIONS] = {
        [INDEX_ADDR] = &addresses,
        [INDEX_RECO] = &records,
        [INDEX_DATA] = &b->encoder.data,
        [INDEX_NAME] = &b->encoder.names.names,
        [INDEX_FILE] = &files,
        [INDEX_STRS] = &b->encoder.names.strings,
        [INDEX_SUMS] = &sums,
    };
    enum st st = encode_check(&b->encoder, e);
    if (st == ST_OK && !addresses.failed && !records.failed && !files.failed) {
        index_sums_write(sections, &sums);
    }
    if (st == ST_OK && (addresses.failed || records.failed || files.failed || sums.failed)) {
        st = err_nomem(e);
    }
    if (st == ST_OK) {
        lay_out(&h, sections);
        index_header_write(&h, prologue);
        sink_write(out, prologue, sizeof prologue);
        put_padding(out, sizeof prologue);
        for (size_t i = 0; i < INDEX_SECTIONS; i++) {
            sink_write(out, sections[i]->data, sections[i]->len);
            put_padding(out, sections[i]->len);
        }
        st = err_is(&out->err) ? err_copy(e, &out->err) : ST_OK;
    }
    strbuf_release(&addresses);
    strbuf_release(&records);
    strbuf_release(&files);
    strbuf_release(&sums);
    return st;
}

static enum st check_extent(const struct index_build_run *b, struct err *e) {
    const struct piece_vec *p = &b->pieces;
    if (p->len > 0 && p->data[p->len - 1].at - p->data[0].at > UINT32_MAX) {
        return err_set(e, ERR_UNSUPPORTED, "code spans more than 4 GiB");
    }
    return ST_OK;
}

static enum st run_build(struct index_build_run *b, struct sink *out, struct err *e) {
    enum st st = pool_open(&b->pool, b->threads, (size_t)b->threads * JOBS_PER_THREAD, read_units,
                           encode_job, b, e);
    if (st == ST_OK) {
        st = open_source(b, e);
    }
    if (st != ST_OK) {
        return st;
    }
    size_t file_size;
    object_slice_file(b->source->slice, &file_size);
    encode_begin(&b->encoder, &b->own, quantum_of(b->source->slice), b->threads, info_size(b),
                 file_size);
    st = read_all_units(b, e);
    if (st == ST_OK && build_failed(b)) {
        st = err_copy(e, &b->failure);
    }
    if (st == ST_OK) {
        st = pieces_cut(&b->pieces, &b->encoder, b->units, b->claims, b->claim_count, e);
    }
    if (st == ST_OK) {
        st = check_extent(b, e);
    }
    return st == ST_OK ? write_file(b, out, e) : st;
}

enum st index_build(const struct index_source *source, unsigned threads, struct sink *out,
                    struct err *e) {
    struct index_build_run b = {.source = source,
                                .threads = threads > THREADS_MAX ? THREADS_MAX : threads};
    if (pthread_mutex_init(&b.lock, NULL) != 0) {
        return err_nomem(e);
    }
    b.workers = calloc(b.threads, sizeof *b.workers);
    enum st st = b.workers ? run_build(&b, out, e) : err_nomem(e);
    pool_close(b.pool);
    free_jobs(&b);
    for (unsigned i = 0; b.workers && i < b.threads; i++) {
        debug_close(b.workers[i].debug);
        flat_scratch_release(&b.workers[i].scratch);
    }
    for (size_t i = 0; b.units && i < b.unit_count; i++) {
        free(b.units[i].owned);
        free(b.units[i].rows);
    }
    free(b.units);
    free(b.workers);
    debug_close(b.debug);
    free(b.claims);
    encode_release(&b.encoder);
    free(b.pieces.data);
    pthread_mutex_destroy(&b.lock);
    return st;
}
