/* Finds the owner of a lock by the arguments of its waiter's system call. */
#include "darwin/xnu_wait.h"

enum {
    /* Numbers of system calls, without the class that x86-64 has in the high byte. */
    PSYNCH_MUTEXWAIT = 301,
    ULOCK_WAIT = 515,
    ULOCK_WAIT2 = 544,
    NUMBER_MASK = 0xffffff,
    CLASS_SHIFT = 24,
    CLASS_UNIX = 2,
    UNFAIR_LOCK = 2,    /* UL_UNFAIR_LOCK */
    OPCODE_MASK = 0xff, /* UL_OPCODE_MASK */
    PORT_LOW_BITS = 3 /* these bits are set in every port name, so the lock uses them for itself */
};

static struct xnu_wait unfair_async(const struct memory *memory, const struct xnu_call *call) {
    uint8_t raw[4];
    uint64_t address = call->args[1];
    if ((call->args[0] & OPCODE_MASK) != UNFAIR_LOCK ||
        !memory->read_async(memory->arg, address, raw, sizeof raw)) {
        return (struct xnu_wait){.kind = REC_WAIT_NONE};
    }
    uint32_t value =
        memory_u32_async(raw); /* the lock's present word, as the argument has an earlier value */
    /* A lock with a waiter has one of the PORT_LOW_BITS cleared. pthread_join waits on a word that
     * is the port name itself, which becomes MACH_PORT_DEAD. */
    bool join = (call->args[2] & PORT_LOW_BITS) == PORT_LOW_BITS;
    return (struct xnu_wait){.kind = join ? REC_WAIT_THREAD : REC_WAIT_MUTEX,
                             .address = join ? 0 : address,
                             .owner_port = value == 0 ? 0 : value | PORT_LOW_BITS};
}

struct xnu_wait xnu_wait_async(const struct memory *memory, const struct xnu_call *call) {
    uint64_t class = call->number >> CLASS_SHIFT;
    if (class != 0 && class != CLASS_UNIX) {
        /* The call is a Mach trap, whose number is negative on arm64. */
        return (struct xnu_wait){.kind = REC_WAIT_NONE};
    }
    switch (call->number & NUMBER_MASK) {
    case ULOCK_WAIT:
    case ULOCK_WAIT2:
        return unfair_async(memory, call);
    case PSYNCH_MUTEXWAIT:
        return (struct xnu_wait){
            .kind = REC_WAIT_MUTEX, .address = call->args[0], .owner_id = call->args[3]};
    default:
        return (struct xnu_wait){.kind = REC_WAIT_NONE};
    }
}
