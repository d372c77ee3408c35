/* Why a stall's main thread did not get on. */
#ifndef STALLKIT_CLASSIFY_CAUSE_H
#define STALLKIT_CLASSIFY_CAUSE_H

/* Of two that explain as much the first is named. */
enum stall_cause {
    STALL_UNKNOWN = 0,
    STALL_DEADLOCK, /* threads that wait for each other */
    STALL_LOCK,     /* another thread holds what it needs */
    STALL_DISK,
    STALL_NETWORK,
    STALL_IPC, /* another process was asked */
    STALL_RENDER,
    STALL_COMPUTE, /* it ran: at least COMPUTE_PERMILLE of the stall on a processor */
    STALL_STARVED, /* it could have run, and got too little of a processor */
    STALL_SLEEP,
    STALL_LAUNCH, /* the loader, static initialisers */
    STALL_IDLE,   /* the loop that waits for work: no stall, set apart */
    STALL_CAUSES
};

/* "deadlock", "lock" …; "unknown". */
const char *stall_cause_text(enum stall_cause c);

#endif
