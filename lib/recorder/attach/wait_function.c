/* Tells by their symbols the functions of the C library that wait in futex(2). */
#include "attach/wait_function.h"

#include <string.h>

/* Is the function, which has no symbol, near one that waits for a semaphore? glibc's functions that
 * wait for a semaphore jump to a static function of their source file. */
static bool is_of_semaphores(const struct remote_images *images, uint64_t function) {
    enum { NEAR = 1024, COUNT = 3 };
    struct dynamic_symbol waits[COUNT] = {
        {.name = "sem_wait"}, {.name = "sem_timedwait"}, {.name = "sem_clockwait"}};
    bool near = false;
    remote_images_symbols(images, waits, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        near |= waits[i].address != 0 && function + NEAR - waits[i].address < 2 * (uint64_t)NEAR;
    }
    return near;
}

enum wait_function wait_function_find(struct wait_functions *known,
                                      const struct remote_images *images, uint64_t function) {
    static const struct {
        const char *name;
        enum wait_function what;
    } functions[] = {
        {"pthread_cond_wait", WAIT_FUNCTION_CONDITION},
        {"pthread_cond_timedwait", WAIT_FUNCTION_CONDITION},
        {"pthread_cond_clockwait", WAIT_FUNCTION_CONDITION},
        {"cnd_wait", WAIT_FUNCTION_CONDITION},
        {"cnd_timedwait", WAIT_FUNCTION_CONDITION},
        {"sem_wait", WAIT_FUNCTION_LOCK},
        {"sem_timedwait", WAIT_FUNCTION_LOCK},
        {"sem_clockwait", WAIT_FUNCTION_LOCK},
    };
    struct wait_function_found *one = &known->at[function / 16 % WAIT_FUNCTIONS];
    char name[sizeof "pthread_cond_clockwait" + 1];
    if (one->function == function) {
        return one->what;
    }
    *one = (struct wait_function_found){.function = function};
    remote_images_symbol(images, function, name, sizeof name);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(name, functions[i].name) == 0) {
            one->what = functions[i].what;
        }
    }
    if (*name == '\0' && is_of_semaphores(images, function)) {
        one->what = WAIT_FUNCTION_LOCK;
    }
    return one->what;
}
