/* The machine and the program that a dump describes. */
#ifndef STALLREC_DEVICE_DARWIN_H
#define STALLREC_DEVICE_DARWIN_H

#include <stdint.h>

#include "core/about.h"

struct device_darwin {
    char model[64], os[64], os_build[32], arch[16];
    char app_id[128], app_version[64], app_build[64];
    uint32_t cpus;
};

/* Reads it from sysctl and, if the program has CoreFoundation, from the main bundle's Info.plist;
 * what cannot be had is empty. Thermal state and low power mode have no C interface on iOS: an app
 * that wants them in its dumps sets them as context. */
void device_darwin_read(struct device_darwin *d);

/* Points *about's device members into *d, and those of the app that are NULL. */
void device_darwin_describe(const struct device_darwin *d, struct rec_about *about);

#endif
