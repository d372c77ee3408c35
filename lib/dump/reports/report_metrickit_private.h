/* What MetricKit says about a diagnostic besides its stacks, also in the structure of iOS 27, as
 * Swift's JSONEncoder writes a DiagnosticReport: timeRange, environment, and a member for the one
 * diagnostic, whose callStackTree has callStackThreads with rootFrames, and binaryInfo with the
 * names of images. https://developer.apple.com/documentation/metrickit/diagnosticreport */
#ifndef STALLKIT_DUMP_REPORT_METRICKIT_PRIVATE_H
#define STALLKIT_DUMP_REPORT_METRICKIT_PRIVATE_H

#include "dump/reports/report_private.h"

/* Returns a tree's stacks, in either structure; NULL: it has none. */
static inline const json_t *metrickit_stacks(const json_t *tree) {
    const json_t *stacks = json_object_get(tree, "callStacks");
    return stacks ? stacks : json_object_get(tree, "callStackThreads");
}

/* Returns a stack's root frames, in either structure; NULL: it has none. */
static inline const json_t *metrickit_roots(const json_t *stack) {
    const json_t *roots = json_object_get(stack, "callStackRootFrames");
    return roots ? roots : json_object_get(stack, "rootFrames");
}

/* Returns the names of images in the tree's binaryInfo, which is an object or an array, by the
 * images' UUIDs, for metrickit_name; the caller owns the result. NULL: the tree has no binaryInfo,
 * or memory ran out. If memory runs out, r->no_memory is set. */
json_t *metrickit_names(struct report *r, const json_t *tree);
/* Returns the name of the image with this UUID, of upper or lower case, borrowed from names; NULL:
 * none. */
const json_t *metrickit_name(const json_t *names, const json_t *uuid);
/* Returns the diagnostic of a DiagnosticReport, and sets *kind to its kind in stall-dump(5); NULL:
 * the object is not a DiagnosticReport. */
const json_t *metrickit_result(const json_t *root, const char **kind);
/* Reads the environment and the time of a DiagnosticReport. */
void metrickit_environment(struct report *r, const json_t *root);
/* Returns a measurement of time in milliseconds. value: a number, or an object of value and unit; a
 * number without a unit is in seconds. -1: the value has neither form, its unit is not known, or
 * the result is negative, or 10^12 or more. */
int64_t metrickit_measurement(const json_t *value);
/* Returns the object that holds a diagnostic's meta data: since iOS 27 the diagnostic itself. */
const json_t *metrickit_meta(const json_t *diagnostic);
/* Returns the kind of a diagnostic by its meta data; NULL: the meta data do not hold it. */
const char *metrickit_kind_of(const json_t *meta);
/* Reads the meta data into the draft. Members that are missing leave the draft's values as they
 * are, except duration and processor time, which become -1. Then the draft's reason is read as by
 * report_kill, which may set the kind. */
void metrickit_read_meta(struct report *r, const json_t *meta);

#endif
