/* The machine and the program that a dump describes. */
#ifndef STALLREC_DEVICE_LINUX_H
#define STALLREC_DEVICE_LINUX_H

#include <stddef.h>
#include <stdint.h>

#include "core/about.h"

struct device_linux {
    char model[128], os[128], os_build[128], arch[32], program[128];
    uint32_t cpus;
};

/* Reads it from uname, os-release, the firmware's product name and /proc; what cannot be had is
 * empty. */
void device_linux_read(struct device_linux *d);

/* Points *about's device members, and app_id if it is NULL, into *d. */
void device_linux_describe(const struct device_linux *d, struct rec_about *about);

/* The value of `key` in os-release(5) text (quotes and backslashes removed) into out[0 .. room),
 * NUL-terminated and cut to fit; empty if it is not there. */
void device_linux_os_value(const char *text, const char *key, char *out, size_t room);

#endif
