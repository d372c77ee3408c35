/* Reads CPython's thread states and frames. */
#include "linux/python_frames.h"

#include <string.h>

#include "linux/python_lines.h"

enum {
    INTERPRETERS_MAX = 16,
    THREADS_MAX = 4096,
    FRAME_BYTES = PYTHON_FRAME_BYTES,
    CODE_BYTES = PYTHON_CODE_BYTES,
    LINES_BYTES = 8192,
    OWNED_BY_C = 3 /* FRAME_OWNED_BY_CSTACK */
};

static uint64_t python_long_async(const unsigned char *at) {
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static bool read_long_async(const struct python_process *p, uint64_t address, uint64_t *value) {
    return address != 0 && p->read_async(p->arg, address, value, sizeof *value);
}

/* ---- threads ---- */

static bool is_thread_async(const struct python_process *p, uint64_t state,
                            const struct python_thread *thread) {
    const struct python_layout *l = p->layout;
    uint64_t id = 0;
    bool native = l->thread.native_id != 0;
    return state != 0 && (native || thread->self != 0) &&
           read_long_async(p, state + (native ? l->thread.native_id : l->thread.thread_id), &id) &&
           id == (native ? (uint64_t)thread->id : thread->self);
}

uint64_t python_thread_state_async(const struct python_process *p,
                                   const struct python_thread *thread, uint64_t last) {
    const struct python_layout *l = p->layout;
    uint64_t interpreter = 0, state = 0, left = THREADS_MAX;
    if (is_thread_async(p, last, thread)) {
        return last;
    }
    read_long_async(p, p->runtime + l->runtime.interpreters, &interpreter);
    for (unsigned i = 0; i < INTERPRETERS_MAX && interpreter != 0; i++) {
        if (!read_long_async(p, interpreter + l->interpreter.threads, &state)) {
            return 0;
        }
        for (; state != 0 && left > 0; left--) {
            if (is_thread_async(p, state, thread)) {
                return state;
            }
            if (!read_long_async(p, state + l->thread.next, &state)) {
                return 0;
            }
        }
        if (!read_long_async(p, interpreter + l->interpreter.next, &interpreter)) {
            return 0;
        }
    }
    return 0;
}

/* ---- frames ---- */

/* Sets *instruction to the address of a frame object's instruction, from its index in the code's
 * bytes, which Python 3.10 counts in units of two bytes. */
static bool object_instruction_async(const struct python_process *p, uint64_t code, int32_t index,
                                     uint64_t *instruction) {
    uint64_t bytes;
    if (!read_long_async(p, code + p->layout->code.bytes, &bytes)) {
        return false;
    }
    uint64_t offset = index > 0 ? (uint64_t)index : 0;
    *instruction = bytes + PYTHON_BYTES + offset * (p->layout->lines == PYTHON_LINES ? 2 : 1);
    return true;
}

/* Reads the start of a code object. *stamp differs if another code object is at the same address
 * later. False: there is no code object. */
static bool read_code_async(const struct python_process *p, uint64_t address,
                            unsigned char code[CODE_BYTES], uint64_t *stamp) {
    const struct python_layout *l = p->layout;
    if (address == 0 || !p->read_async(p->arg, address, code, CODE_BYTES) ||
        python_long_async(code + PYTHON_TYPE) != p->code_type) {
        return false;
    }
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    *stamp = python_long_async(code + l->code.qualname);
    *stamp = *stamp * odd ^ python_long_async(code + l->code.filename);
    *stamp = *stamp * odd ^ python_long_async(code + l->code.lines);
    return true;
}

size_t python_frames_async(const struct python_process *p, uint64_t state,
                           struct python_frame *frames, size_t max) {
    const struct python_layout *l = p->layout;
    unsigned char bytes[FRAME_BYTES], code[CODE_BYTES];
    uint64_t at;
    size_t n = 0;
    if (!read_long_async(p, state + l->thread.frame, &at) ||
        (l->frames == PYTHON_FRAMES_OF_C &&
         (at == 0 || !read_long_async(p, at + l->frame.current, &at)))) {
        return 0;
    }
    for (size_t steps = 0; at != 0 && n < max && steps < 2 * max; steps++) {
        struct python_frame frame = {.entry = l->frames == PYTHON_FRAME_OBJECTS};
        if (!p->read_async(p->arg, at, bytes, sizeof bytes)) {
            break;
        }
        at = python_long_async(bytes + l->frame.previous);
        if (l->frame.owner != 0 && bytes[l->frame.owner] == OWNED_BY_C) {
            if (n > 0) {
                frames[n - 1].entry = true;
            }
            continue;
        }
        frame.code = python_long_async(bytes + l->frame.code);
        frame.instruction = python_long_async(bytes + l->frame.instruction);
        if (l->frame.entry != 0) {
            frame.entry = bytes[l->frame.entry] != 0;
        }
        int32_t index;
        memcpy(&index, bytes + l->frame.instruction, sizeof index);
        if (!read_code_async(p, frame.code, code, &frame.stamp) ||
            (l->frames == PYTHON_FRAME_OBJECTS &&
             !object_instruction_async(p, frame.code, index, &frame.instruction))) {
            break;
        }
        frames[n++] = frame;
    }
    return n;
}

/* ---- names ---- */

/* Writes a code point as UTF-8; returns the number of bytes. */
static size_t put_utf8_async(char *to, uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | (c >> 18 & 7));
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Returns the text of a str object as UTF-8, cut to 255 characters; NULL if the object is no
 * compact str, cannot be read, or has no room in *text. The characters have 1, 2 or 4 bytes each;
 * those of an ASCII str begin at a lower offset. */
static const char *read_text_async(const struct python_process *p, uint64_t object,
                                   struct code_text *text) {
    enum { CHARACTERS = 255, COMPACT = 1u << 5, ASCII = 1u << 6 };
    unsigned char raw[4 * CHARACTERS];
    char utf8[4 * CHARACTERS];
    uint64_t type, length;
    uint32_t state;
    if (!read_long_async(p, object + PYTHON_TYPE, &type) || type != p->text_type ||
        !read_long_async(p, object + PYTHON_SIZE, &length) ||
        !p->read_async(p->arg, object + PYTHON_STATE, &state, sizeof state)) {
        return NULL;
    }
    unsigned kind = state >> 2 & 7;
    bool ascii = (state & ASCII) != 0;
    if ((state & COMPACT) == 0 || (kind != 1 && kind != 2 && kind != 4)) {
        return NULL;
    }
    size_t count = length < CHARACTERS ? (size_t)length : CHARACTERS, used = 0;
    if (!p->read_async(p->arg, object + (ascii ? p->layout->text : p->layout->wide), raw,
                       count * kind)) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t c = 0;
        memcpy(&c, raw + i * kind, kind);
        used += put_utf8_async(utf8 + used, c);
    }
    return code_text_keep_async(text, utf8, used);
}

static uint32_t read_line_async(const struct python_process *p, uint64_t table, uint64_t offset,
                                uint32_t first_line) {
    uint8_t bytes[LINES_BYTES];
    uint64_t size;
    if (!read_long_async(p, table + PYTHON_SIZE, &size)) {
        return 0;
    }
    size = size < sizeof bytes ? size : sizeof bytes;
    return p->read_async(p->arg, table + PYTHON_BYTES, bytes, (size_t)size)
               ? python_line_async((enum python_lines)p->layout->lines, bytes, (size_t)size,
                                   first_line, offset)
               : 0;
}

/* Is the file the app's own, and not one of the system, of the interpreter's library or of an
 * installed package? A relative path is the app's, and so is a name such as "<string>" that does
 * not begin with "<frozen". */
static bool is_own_file_async(const char *file) {
    if (file[0] == '<') {
        return strncmp(file, "<frozen", 7) != 0;
    }
    return !code_text_has_async(file, "/lib/python") &&
           (file[0] != '/' || code_text_is_app_file_async(file));
}

bool python_name_async(const struct python_process *p, const struct python_frame *frame,
                       struct code_text *text, struct rec_code_name *name) {
    const struct python_layout *l = p->layout;
    unsigned char code[CODE_BYTES];
    uint64_t bytes = frame->code + l->code.bytes;
    uint64_t stamp;
    uint32_t first_line, before = text->used;
    if (!read_code_async(p, frame->code, code, &stamp) || stamp != frame->stamp) {
        return false;
    }
    if (l->frames == PYTHON_FRAME_OBJECTS) {
        bytes = python_long_async(code + l->code.bytes) + PYTHON_BYTES;
    }
    memcpy(&first_line, code + l->code.first_line, sizeof first_line);
    name->symbol = read_text_async(p, python_long_async(code + l->code.qualname), text);
    name->file = read_text_async(p, python_long_async(code + l->code.filename), text);
    if (!name->symbol || frame->instruction < bytes) {
        name->symbol = NULL;
        text->used = before;
        return false;
    }
    name->offset = frame->instruction - bytes;
    name->line =
        read_line_async(p, python_long_async(code + l->code.lines), name->offset, first_line);
    name->in_app = name->file && is_own_file_async(name->file);
    return true;
}
