/* From what a stack and its dump tell to the cause of a stall. */
#include "classify/cause.h"

const char *stall_cause_text(enum stall_cause c) {
    static const char *const texts[STALL_CAUSES] = {"unknown", "deadlock", "lock",   "disk",
                                                    "network", "ipc",      "render", "compute",
                                                    "starved", "sleep",    "launch", "idle"};
    return c < STALL_CAUSES ? texts[c] : "";
}
