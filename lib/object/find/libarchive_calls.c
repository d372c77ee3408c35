/* Loads libarchive at run time. */
#include "object/find/libarchive_calls.h"

#include <dlfcn.h>
#include <string.h>

/* File name of all versions of libarchive 3. dlopen(3) looks first in the system's folders, then in
 * the folder that held libarchive when the project was built (macOS does not search Homebrew's
 * folder). */
#ifdef __APPLE__
#define FILE_NAME "libarchive.dylib"
#else
#define FILE_NAME "libarchive.so.13"
#endif
static const char *const file_names[] = {FILE_NAME, STALLKIT_LIBARCHIVE_DIR "/" FILE_NAME};

/* Opens libarchive, which is never unloaded, because libraries that it uses keep thread-local data.
 */
static void *open_library(struct err *e) {
    const char *why = NULL;
    for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++) {
        void *library = dlopen(file_names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library) {
            return library;
        }
        why = dlerror();
        (void)err_set(e, ERR_UNSUPPORTED, "%s",
                      why ? why : "no " FILE_NAME); /* *e keeps the first error */
    }
    return NULL;
}

enum st libarchive_calls_load(struct libarchive_calls *out, struct err *e) {
    struct err why = {0};
    void *library = open_library(&why);
    if (!library) {
        return err_copy(e, &why);
    }
    struct libarchive_calls calls;
    const char *missing = NULL;
    void *at; /* ISO C forbids the cast from an object pointer to a function pointer; POSIX allows
                 to copy its bytes */
#define FIND(name)                                                                                 \
    at = dlsym(library, "archive_" #name);                                                         \
    missing = at ? missing : "archive_" #name;                                                     \
    memcpy(&calls.f_##name, &at, sizeof at);
    LIBARCHIVE_CALLS(FIND)
#undef FIND
    (void)dlclose(library);
    if (missing) {
        return err_set(e, ERR_UNSUPPORTED, "%s has no %s", FILE_NAME, missing);
    }
    *out = calls;
    return ST_OK;
}
