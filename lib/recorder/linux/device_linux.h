/* Reads the description of the machine and the program for dumps. */
#ifndef STALLREC_DEVICE_LINUX_H
#define STALLREC_DEVICE_LINUX_H

#include <stddef.h>
#include <stdint.h>

#include "core/about.h"

struct device_linux {
    char model[128], os[128], os_build[128], arch[32], program[128];
    uint32_t cpus;
};

/* Reads the machine and the program from uname, os-release, the firmware's product name and glibc;
 * a text that cannot be read is empty. */
void device_linux_read(struct device_linux *d);

/* Points the members of *about that describe the device into *d, and app_id if it is NULL. */
void device_linux_describe(const struct device_linux *d, struct rec_about *about);

/* Copies the value of `key` in the text of os-release(5) to out[0 .. room), NUL-terminated and cut
 * to fit. A backslash stands for the character after it; quotes that follow no backslash are left
 * out. out is "" if the text has no such key. */
void device_linux_os_value(const char *text, const char *key, char *out, size_t room);

#endif
