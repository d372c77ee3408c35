/* The frames of a thread that runs Python, read as data from the process's memory: nothing of the
 * interpreter is called. What is read may change meanwhile and may be anything. */
#ifndef STALLREC_PYTHON_FRAMES_H
#define STALLREC_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/code_text.h"
#include "linux/python_layout.h"

/* A process with an interpreter in it. */
struct python_process {
    const struct python_layout *layout;
    uint64_t runtime;              /* address of _PyRuntime */
    uint64_t code_type, text_type; /* of PyCode_Type and PyUnicode_Type */
    void *arg;
    /* Copies memory of the process, or what it was when the thread was copied; false: there is
     * none. */
    bool (*read_async)(void *arg, uint64_t address, void *to, size_t size);
};

struct python_frame {
    uint64_t instruction; /* address of the bytecode instruction that runs */
    uint64_t code;        /* the code object */
    uint64_t stamp;       /* of it: another one at its address has another */
    bool entry;           /* the interpreter's loop was called for it */
};

/* A thread, by its kernel's id, or for versions without that by pthread_self() of it. */
struct python_thread {
    int64_t id;
    uint64_t self; /* 0 = not known */
};

/* The address of the thread's state, 0 if it has none. `last`: what was found before, which is
 * tried first; 0 = nothing. */
uint64_t python_thread_state_async(const struct python_process *p,
                                   const struct python_thread *thread, uint64_t last);

/* Fills frames[0 .. result), innermost first, at most `max`. */
size_t python_frames_async(const struct python_process *p, uint64_t state,
                           struct python_frame *frames, size_t max);

/* Fills in name, file and line of a frame of this code object at this instruction. False: the
 * code object is no longer there. */
bool python_name_async(const struct python_process *p, const struct python_frame *frame,
                       struct code_text *text, struct rec_code_name *name);

#endif
