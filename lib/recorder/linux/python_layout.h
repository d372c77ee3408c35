/* The offsets in CPython's structs that are needed to read stacks, by version. Up to 3.12 they are
 * those of its own headers (pycore_runtime.h, pycore_interp.h, cpython/pystate.h, pycore_frame.h,
 * frameobject.h, cpython/code.h) on 64-bit systems, for builds that are neither free-threaded nor
 * debug builds; 3.13 holds them itself, at the start of _PyRuntime (struct _Py_DebugOffsets). */
#ifndef STALLREC_PYTHON_LAYOUT_H
#define STALLREC_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum python_frames {
    PYTHON_FRAME_OBJECTS, /* up to 3.10: a linked list of objects, one for each call of the
                             interpreter's loop */
    PYTHON_FRAMES_OF_C,   /* 3.11, 3.12: the loop has a struct on the C stack that points to them */
    PYTHON_FRAMES         /* since 3.13: the thread state points to the innermost frame */
};

enum python_lines {
    PYTHON_LNOTAB,   /* up to 3.9: Objects/lnotab_notes.txt */
    PYTHON_LINES,    /* 3.10: Objects/lnotab_notes.txt of that version */
    PYTHON_LOCATIONS /* since 3.11: Objects/locations.md */
};

/* Offsets of members in CPython's structs, in bytes, for one version. */
struct python_layout {
    uint16_t version; /* 0x030b is 3.11 */
    uint8_t frames;   /* enum python_frames */
    uint8_t lines;    /* enum python_lines */
    struct {
        uint16_t interpreters; /* offset of the pointer to the first interpreter */
    } runtime;
    struct {
        uint32_t next, threads;
    } interpreter;
    struct {
        uint16_t next, thread_id, native_id; /* native_id 0: there is no such member */
        uint16_t frame; /* offset of the pointer to the innermost frame, or to the struct on the C
                           stack */
    } thread;
    struct {
        uint16_t current; /* offset of the innermost frame in the struct on the C stack
                             (PYTHON_FRAMES_OF_C) */
        uint16_t code, previous, instruction;
        uint16_t owner; /* 0: there is no such member; the value FRAME_OWNED_BY_CSTACK marks a call
                           of the loop */
        uint16_t entry; /* 0: there is no such member; the value true: the loop was called for this
                           frame */
    } frame;
    struct {
        uint16_t qualname, filename, first_line, lines,
            bytes; /* bytes: offset of the bytecode itself, or of a pointer to it */
    } code;
    uint16_t text; /* size of PyASCIIObject, after which the characters of an ASCII str are */
    uint16_t wide; /* size of PyCompactUnicodeObject; the characters of strs that are not ASCII
                      follow it */
};

enum {
    PYTHON_TYPE = 8,           /* PyObject.ob_type */
    PYTHON_SIZE = 16,          /* PyVarObject.ob_size, PyASCIIObject.length */
    PYTHON_STATE = 32,         /* PyASCIIObject.state */
    PYTHON_BYTES = 32,         /* PyBytesObject.ob_sval */
    PYTHON_FRAME_BYTES = 112,  /* bytes of a frame that are read, enough for all layouts */
    PYTHON_CODE_BYTES = 160,   /* bytes of a code object that are read, enough for all layouts */
    PYTHON_OFFSETS_SIZE = 1024 /* bytes of _PyRuntime that are read for python_layout_read_async,
                                  more than it needs */
};

/* Returns the layout of a version from 3.9 to 3.12; NULL for any other version. */
const struct python_layout *python_layout_of_async(uint16_t version);

/* Reads the layout from the first `size` bytes of _PyRuntime of 3.13. False: they hold no layout,
 * or one that is not supported. */
bool python_layout_read_async(const unsigned char *runtime, size_t size, uint16_t version,
                              struct python_layout *out);

#endif
