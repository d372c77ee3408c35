/* What the recorder uses of <sys/sysctl.h>, which Linux lacks. */
#ifndef STANDIN_SYSCTL_H
#define STANDIN_SYSCTL_H

#include <stddef.h>
#include <sys/time.h>

#define CTL_KERN      1
#define KERN_PROC     14
#define KERN_PROC_PID 1

struct kinfo_proc {
    struct {
        struct timeval p_starttime;
    } kp_proc;
};

#define sysctl standin_sysctl
int sysctl(const int *name, unsigned count, void *old, size_t *old_size, void *value, size_t size);
int sysctlbyname(const char *name, void *old, size_t *old_size, void *value, size_t size);

#endif
