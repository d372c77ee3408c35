/* A report format: how it is recognised, and its reader. Each has one row in report_formats. */
#ifndef STALLKIT_DUMP_REPORT_FORMAT_PRIVATE_H
#define STALLKIT_DUMP_REPORT_FORMAT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "dump/json/span_private.h"
#include "dump/reports/report_take.h"

/* A document of a known format, and who gets its dumps. */
struct report_document {
    struct span text; /* as it was; not empty */
    report_take take;
    void *ctx;
};

enum { REPORT_MEMBERS_MAX = 32 };

struct report_format {
    /* JSON: names of members by which an object is known, NULL behind the last one. NULL: text. */
    const char *const *members;
    /* Is an object that has these members (bit i: members[i]) of this format? */
    bool (*recognise)(unsigned present);
    /* Text: how its first line begins, NULL behind the last one. NULL: JSON. */
    const char *const *heads;
    /* As report_convert. */
    enum st (*read)(const struct report_document *d, struct err *e);
};

/* The names of an object's members that the list has, as recognise takes them. An object with a
 * member "format" is a dump, or another record of ours, and has none. */
unsigned report_members(struct span object, const char *const *names);

extern const struct report_format report_kscrash_format;
extern const struct report_format report_metrickit_format;
extern const struct report_format report_ips_format;
extern const struct report_format report_text_format;

/* Is the document the first line of an .ips, which has its body behind it? */
bool report_is_ips_header(struct span text);
/* Reads an .ips that stands in another document. */
enum st report_read_ips(const struct report_document *d, struct err *e) BASE_MUST_USE;

#endif
