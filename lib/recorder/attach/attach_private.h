/* An attached process, as the files of the recording share it. */
#ifndef STALLREC_ATTACH_PRIVATE_H
#define STALLREC_ATTACH_PRIVATE_H

#include "attach/attach.h"
#include "attach/attach_watch.h"
#include "core/about.h"
#include "core/context.h"
#include "files/dumpfile.h"
#include "files/policy.h"
#include "linux/device_linux.h"
#include "spool/spool.h"

struct attach {
    struct stallrec_config config;
    struct remote_process process;
    struct perf_tracing tracing;
    struct remote_unwinder unwinder;
    struct lock_layout locks;
    struct attach_others others;
    struct attach_watch watch;
    void *core_memory, *file_memory;
    struct rec_core *core;
    struct rec_dumpfile *file;
    struct rec_context context;
    struct rec_policy policy;
    struct rec_spool spool;
    struct device_linux device;
    struct rec_about about;
    uint64_t began_ns, looked_ns, told_ns, ended_ns;
    uint64_t watched_ns;
    uint64_t named_place; /* the place whose name totals.loop_at is */
    bool fatal;           /* a signal ended the process */
    bool untidy;          /* files were written since the limits were enforced */
    struct attach_totals totals;
};

#endif
