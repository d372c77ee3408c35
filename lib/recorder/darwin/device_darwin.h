/* Reads the description of the machine and the program for dumps. */
#ifndef STALLREC_DEVICE_DARWIN_H
#define STALLREC_DEVICE_DARWIN_H

#include <stdint.h>

#include "core/about.h"

struct device_darwin {
    char model[64], os[64], os_build[32], arch[16];
    char app_id[128], app_version[64], app_build[64];
    uint32_t cpus;
};

/* Reads the description from sysctl and, if the program has CoreFoundation, from the main bundle's
 * Info.plist; members that cannot be read are empty or 0, except app_id, which is then the
 * program's name. Thermal state and low power mode have no C interface on iOS, so an app that wants
 * them in its dumps sets them as context. */
void device_darwin_read(struct device_darwin *d);

/* Points the texts of *about that describe the device into *d, and those that describe the app if
 * they are NULL; a text that *d lacks becomes NULL. *d must outlive *about. */
void device_darwin_describe(const struct device_darwin *d, struct rec_about *about);

#endif
