/* Reads the machine's description by sysctl, and the app's from its bundle. */
#include "darwin/device_darwin.h"

#include <TargetConditionals.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>

#include "support/rec_text.h"

#if TARGET_OS_VISION
#define OS_NAME "visionOS"
#elif TARGET_OS_TV
#define OS_NAME "tvOS"
#elif TARGET_OS_WATCH
#define OS_NAME "watchOS"
#elif TARGET_OS_IPHONE && !TARGET_OS_MACCATALYST
#define OS_NAME "iOS"
#else
#define OS_NAME "macOS"
#endif

/* Reads a text of sysctl; `out` becomes "" if there is no such text, or it does not fit. */
static void read_sysctl(const char *name, char *out, size_t room) {
    size_t size = room - 1;
    if (sysctlbyname(name, out, &size, NULL, 0) != 0) {
        size = 0;
    }
    out[size] = '\0';
}

static void read_machine(struct device_darwin *d) {
    char version[32];
    int32_t cpus = 0;
    size_t size = sizeof cpus;
    /* On iOS hw.machine is the model ("iPhone13,3"); on a Mac it is the processor, and hw.model is
     * the model. */
    read_sysctl(TARGET_OS_IPHONE && !TARGET_OS_MACCATALYST ? "hw.machine" : "hw.model", d->model,
                sizeof d->model);
    read_sysctl("kern.osproductversion", version, sizeof version);
    read_sysctl("kern.osversion", d->os_build, sizeof d->os_build);
    char *end = rec_put_text(d->os, OS_NAME);
    if (version[0] != '\0') {
        rec_put_text(rec_put_text(end, " "), version);
    }
#if defined(__arm64e__)
    rec_put_text(d->arch, "arm64e");
#elif defined(__arm64__)
    rec_put_text(d->arch, "arm64");
#else
    rec_put_text(d->arch, "x86_64");
#endif
    if (sysctlbyname("hw.ncpu", &cpus, &size, NULL, 0) == 0 && cpus > 0) {
        d->cpus = (uint32_t)cpus;
    }
}

/* ---- the bundle: CoreFoundation's public C functions, if the program has them loaded ---- */

struct bundle_api {
    void *(*main_bundle)(void);
    const void *(*value)(void *bundle, const void *key);
    const void *(*identifier)(void *bundle);
    const void *(*make_string)(const void *allocator, const char *text, uint32_t encoding);
    unsigned char (*get_text)(const void *string, char *out, long room, uint32_t encoding);
    unsigned long (*type)(const void *object);
    unsigned long (*string_type)(void);
    void (*release)(const void *object);
};

#define UTF8 UINT32_C(0x08000100) /* kCFStringEncodingUTF8 */

/* Stores the address of the function `name` in the pointer at `function`; false: there is none.
 * POSIX lets dlsym return functions as object pointers. */
static bool look_up(void *function, const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool find_api(struct bundle_api *api) {
    return look_up(&api->main_bundle, "CFBundleGetMainBundle") &&
           look_up(&api->value, "CFBundleGetValueForInfoDictionaryKey") &&
           look_up(&api->identifier, "CFBundleGetIdentifier") &&
           look_up(&api->make_string, "CFStringCreateWithCString") &&
           look_up(&api->get_text, "CFStringGetCString") && look_up(&api->type, "CFGetTypeID") &&
           look_up(&api->string_type, "CFStringGetTypeID") && look_up(&api->release, "CFRelease");
}

static void copy_string(const struct bundle_api *api, const void *string, char *out, size_t room) {
    if (string == NULL || api->type(string) != api->string_type() ||
        !api->get_text(string, out, (long)room, UTF8)) {
        out[0] = '\0';
    }
}

static void copy_value(const struct bundle_api *api, void *bundle, const char *name, char *out,
                       size_t room) {
    const void *key = api->make_string(NULL, name, UTF8);
    if (key != NULL) {
        copy_string(api, api->value(bundle, key), out, room);
        api->release(key);
    }
}

static void read_bundle(struct device_darwin *d) {
    struct bundle_api api;
    void *bundle = find_api(&api) ? api.main_bundle() : NULL;
    if (bundle != NULL) {
        copy_string(&api, api.identifier(bundle), d->app_id, sizeof d->app_id);
        copy_value(&api, bundle, "CFBundleShortVersionString", d->app_version,
                   sizeof d->app_version);
        copy_value(&api, bundle, "CFBundleVersion", d->app_build, sizeof d->app_build);
    }
    if (d->app_id[0] == '\0') { /* the program has no bundle, or that has no id */
        const char *program = getprogname();
        size_t size = strnlen(program, sizeof d->app_id - 1);
        memcpy(d->app_id, program, size);
        d->app_id[size] = '\0';
    }
}

void device_darwin_read(struct device_darwin *d) {
    memset(d, 0, sizeof *d);
    read_machine(d);
    read_bundle(d);
}

static const char *or_null(const char *text) {
    return text[0] != '\0' ? text : NULL;
}

void device_darwin_describe(const struct device_darwin *d, struct rec_about *about) {
    about->model = or_null(d->model);
    about->os = or_null(d->os);
    about->os_build = or_null(d->os_build);
    about->arch = or_null(d->arch);
    about->cpus = d->cpus;
    about->app_id = about->app_id ? about->app_id : or_null(d->app_id);
    about->app_version = about->app_version ? about->app_version : or_null(d->app_version);
    about->app_build = about->app_build ? about->app_build : or_null(d->app_build);
}
