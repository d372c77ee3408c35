/* Reads the frames of a thread that runs Python, as data in the process's memory; no function of
 * the interpreter is called. The data may change meanwhile and is untrusted. */
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
    uint64_t code_type, text_type; /* addresses of PyCode_Type and PyUnicode_Type */
    void *arg;
    /* Copies memory of the process, or of the thread's stack at the time of its copy; false: it
     * cannot be read. */
    bool (*read_async)(void *arg, uint64_t address, void *to, size_t size);
};

struct python_frame {
    uint64_t instruction; /* address of the bytecode instruction that is executed */
    uint64_t code;        /* address of the code object */
    uint64_t stamp;       /* differs between code objects that were at the same address */
    bool entry;           /* the interpreter's loop was called for this frame */
};

/* A thread, by its kernel id, or, for versions that store no kernel ids, by its pthread_self(). */
struct python_thread {
    int64_t id;
    uint64_t self; /* 0 = not known */
};

/* Returns the address of the thread's PyThreadState; 0: it has none, it is not among the first 4096
 * thread states of the first 16 interpreters, or these cannot be read. last: the address that was
 * found before, which is tried first; 0 = none. */
uint64_t python_thread_state_async(const struct python_process *p,
                                   const struct python_thread *thread, uint64_t last);

/* Reads the Python frames of the thread whose PyThreadState is `state` into frames[0 .. result),
 * innermost first, at most `max`, up to the first that cannot be read. */
size_t python_frames_async(const struct python_process *p, uint64_t state,
                           struct python_frame *frames, size_t max);

/* Sets symbol, offset, file, line and in_app of *name for a frame. False: the frame's code object
 * is no longer there, its name cannot be read or has no room in *text, or the frame's instruction
 * lies before the bytecode; name->symbol is then unchanged or NULL, and name->file must not be used
 * if it is NULL. */
bool python_name_async(const struct python_process *p, const struct python_frame *frame,
                       struct code_text *text, struct rec_code_name *name);

#endif
