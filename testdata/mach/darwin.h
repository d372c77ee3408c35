/* What Darwin's C library has and Linux's lacks; included before all other headers. */
#ifndef STANDIN_DARWIN_H
#define STANDIN_DARWIN_H

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#ifndef RTLD_DEFAULT
#define RTLD_DEFAULT ((void *)0)
#endif

#define CLOCK_UPTIME_RAW 8
uint64_t clock_gettime_nsec_np(clockid_t clock);

/* Functions that Linux's C library may have, too, with other parameters. */
#define pthread_setname_np standin_setname
#define arc4random_buf     standin_random
#define getprogname        standin_progname
int standin_setname(const char *name);
void standin_random(void *to, size_t size);
const char *standin_progname(void);

typedef struct {
    uint32_t fst_flags;
    int fst_posmode;
    off_t fst_offset, fst_length, fst_bytesalloc;
} fstore_t;
#define F_SETPROTECTIONCLASS 64
#define F_PREALLOCATE        42
#define F_ALLOCATEALL        4
#define F_PEOFPOSMODE        3
int standin_fcntl(int fd, int command, ...);
#ifdef STANDIN_FCNTL
#define fcntl standin_fcntl
#endif
int minherit(void *address, size_t size, int inherit);

#define QOS_CLASS_USER_INTERACTIVE 0x21
int pthread_set_qos_class_self_np(unsigned qos, int priority);
int pthread_main_np(void);
unsigned pthread_mach_thread_np(pthread_t thread);

#endif
