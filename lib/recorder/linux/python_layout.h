/* Where CPython keeps what a stack is made of, version by version. Up to 3.12 the offsets are those
 * of its own headers (pycore_runtime.h, pycore_interp.h, cpython/pystate.h, pycore_frame.h,
 * frameobject.h, cpython/code.h) on 64-bit systems without a GIL-free or a debug build; 3.13 tells
 * them itself, at the start of _PyRuntime (struct _Py_DebugOffsets). */
#ifndef STALLREC_PYTHON_LAYOUT_H
#define STALLREC_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum python_frames {
    PYTHON_FRAME_OBJECTS, /* up to 3.10: a linked list of objects, one for each call of the loop */
    PYTHON_FRAMES_OF_C,   /* 3.11, 3.12: what the loop has on the C stack leads to them */
    PYTHON_FRAMES         /* since 3.13: the thread state leads to them */
};

enum python_lines {
    PYTHON_LNOTAB,   /* up to 3.9: Objects/lnotab_notes.txt */
    PYTHON_LINES,    /* 3.10: Objects/lnotab_notes.txt of that version */
    PYTHON_LOCATIONS /* since 3.11: Objects/locations.md */
};

/* Offsets in bytes. */
struct python_layout {
    uint16_t version; /* 0x030b is 3.11 */
    uint8_t frames;   /* enum python_frames */
    uint8_t lines;    /* enum python_lines */
    struct {
        uint16_t interpreters; /* of the runtime: the first interpreter */
    } runtime;
    struct {
        uint32_t next, threads;
    } interpreter;
    struct {
        uint16_t next, thread_id, native_id; /* native_id 0: there is none */
        uint16_t frame;                      /* the innermost, or what leads to it */
    } thread;
    struct {
        uint16_t current; /* of what PYTHON_FRAMES_OF_C leads through */
        uint16_t code, previous, instruction;
        uint16_t owner; /* 0: none; FRAME_OWNED_BY_CSTACK is a call of the loop */
        uint16_t entry; /* 0: none; true: the loop was called for it */
    } frame;
    struct {
        uint16_t qualname, filename, first_line, lines, bytes; /* bytes: inline, or the object */
    } code;
    uint16_t text; /* size of PyASCIIObject */
    uint16_t wide; /* size of PyCompactUnicodeObject */
};

enum {
    PYTHON_TYPE = 8,           /* PyObject.ob_type */
    PYTHON_SIZE = 16,          /* PyVarObject.ob_size, PyASCIIObject.length */
    PYTHON_STATE = 32,         /* PyASCIIObject.state */
    PYTHON_BYTES = 32,         /* PyBytesObject.ob_sval */
    PYTHON_FRAME_BYTES = 112,  /* as much of a frame as any layout needs */
    PYTHON_CODE_BYTES = 160,   /* of a code object, but for its bytes */
    PYTHON_OFFSETS_SIZE = 1024 /* as much of _PyRuntime as python_layout_read_async wants */
};

/* The layout of this version; NULL: it is not known. */
const struct python_layout *python_layout_of_async(uint16_t version);

/* The layout that _PyRuntime, whose first bytes these are, tells. False: it tells none, or one that
 * is not known. */
bool python_layout_read_async(const unsigned char *runtime, size_t size, uint16_t version,
                              struct python_layout *out);

#endif
