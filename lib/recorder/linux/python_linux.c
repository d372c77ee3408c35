/* Finds CPython in the process and joins its frames with the native ones. */
#include "linux/python_linux.h"

#include <string.h>
#include <sys/mman.h>

#include "linux/python_frames.h"

enum { FRAMES_MAX = 1024, SEEN = 4096, WAYS = 8, LACK_TEXT = 64 };

enum { RUNTIME, EVAL, CODE_TYPE, TEXT_TYPE, VERSION, SYMBOLS };

struct python_linux {
    struct python_host host;
    pid_t main_tid;
    uint64_t main_self;
    uint64_t generation; /* generation of the modules that were searched for the interpreter;
                            UINT64_MAX: none were searched */
    struct dynamic_symbol symbols[SYMBOLS];
    struct python_layout told; /* layout read from the interpreter itself, if it has one (3.13) */
    struct python_process process; /* layout NULL: there is no interpreter that can be read */
    const struct cfi_stack
        *stack; /* copied stack of the thread that is being read; NULL otherwise */
    uint64_t main_state;
    char lack[LACK_TEXT];
    struct python_frame frames[FRAMES_MAX];
    struct unwind_frame joined[FRAMES_MAX];
    struct python_frame
        seen[SEEN]; /* frames that dumps may need names for, by hash of the instruction */
    struct code_text text;
};

/* Reads the process's memory. A read that lies wholly in the copied stack is served from the copy,
 * as it was when the thread was sampled; one that only reaches into it is not. */
static bool python_read_async(void *arg, uint64_t address, void *to, size_t size) {
    const struct python_linux *py = arg;
    const struct cfi_stack *stack = py->stack;
    if (stack && address >= stack->lo && address < stack->hi && size <= stack->hi - address) {
        memcpy(to, stack->copy + (address - stack->lo), size);
        return true;
    }
    return py->host.read_async(py->host.arg, address, to, size);
}

struct python_linux *python_linux_new(const struct python_host *host, pid_t main_tid,
                                      uint64_t main_self) {
    struct python_linux *py = mmap(NULL, sizeof *py, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (py == MAP_FAILED) {
        return NULL;
    }
    py->host = *host;
    py->main_tid = main_tid;
    py->main_self = main_self;
    py->generation = UINT64_MAX;
    py->process.arg = py;
    py->process.read_async = python_read_async;
    return py;
}

void python_linux_free(struct python_linux *py) {
    if (py) {
        munmap(py, sizeof *py);
    }
}

/* ---- the interpreter ---- */

/* Returns the version in a file name: 0x030b for "libpython3.11.so.1.0" or "python3.11", 0 for any
 * other name. */
static uint16_t version_of_name_async(const char *name) {
    static const char python[] = "python3.";
    for (; *name; name++) {
        if (strncmp(name, python, sizeof python - 1) == 0) {
            unsigned minor = 0;
            for (name += sizeof python - 1; *name >= '0' && *name <= '9' && minor < 100; name++) {
                minor = minor * 10 + (unsigned)(*name - '0');
            }
            return (uint16_t)(minor < 256 ? 0x0300 | minor : 0);
        }
    }
    return 0;
}

/* Finds the interpreter's version by its symbol Py_Version, which exists since 3.11, or else by
 * its image's name; 0 = not known. */
static uint16_t find_version_async(struct python_linux *py) {
    uint64_t version = 0;
    struct rec_image image;
    if (py->symbols[VERSION].address != 0 &&
        python_read_async(py, py->symbols[VERSION].address, &version, sizeof version)) {
        return (uint16_t)(version >> 16);
    }
    if (!py->host.image_async(py->host.arg, py->symbols[RUNTIME].address, &image)) {
        return 0;
    }
    const char *slash = strrchr(image.path, '/');
    return version_of_name_async(slash ? slash + 1 : image.path);
}

static char *put_text_async(char *at, const char *text) {
    size_t size = strlen(text);
    memcpy(at, text, size + 1);
    return at + size;
}

static void tell_lack_async(struct python_linux *py, uint16_t version, const char *known) {
    char number[4], *at = put_text_async(py->lack, "python ");
    unsigned minor = version & 0xff;
    if (version != 0) {
        size_t n = 0;
        at = put_text_async(at, version >> 8 == 3 ? "3." : "?.");
        for (unsigned value = minor; n == 0 || value > 0; value /= 10) {
            number[n++] = (char)('0' + value % 10);
        }
        while (n > 0) {
            *at++ = number[--n];
        }
        *at = '\0';
    }
    put_text_async(at, version != 0 ? known : "of unknown version");
}

static void find_interpreter_async(struct python_linux *py, uint64_t generation) {
    static const char *const names[SYMBOLS] = {
        [RUNTIME] = "_PyRuntime",    [EVAL] = "_PyEval_EvalFrameDefault",
        [CODE_TYPE] = "PyCode_Type", [TEXT_TYPE] = "PyUnicode_Type",
        [VERSION] = "Py_Version",
    };
    unsigned char head[PYTHON_OFFSETS_SIZE];
    py->generation = generation;
    py->process.layout = NULL;
    py->lack[0] = '\0';
    for (unsigned i = 0; i < SYMBOLS; i++) {
        py->symbols[i] = (struct dynamic_symbol){.name = names[i]};
    }
    if (!py->host.symbols_async(py->host.arg, py->symbols, SYMBOLS) ||
        py->symbols[EVAL].address == 0) {
        return;
    }
    uint16_t version = find_version_async(py);
    py->process.runtime = py->symbols[RUNTIME].address;
    py->process.code_type = py->symbols[CODE_TYPE].address;
    py->process.text_type = py->symbols[TEXT_TYPE].address;
    if (python_read_async(py, py->process.runtime, head, sizeof head) &&
        python_layout_read_async(head, sizeof head, version, &py->told)) {
        py->process.layout = &py->told;
    } else {
        py->process.layout = python_layout_of_async(version);
    }
    if (!py->process.layout) {
        tell_lack_async(py, version, ", whose frames are not known");
    } else if (py->process.layout->thread.native_id == 0 && py->main_self == 0) {
        py->process.layout = NULL;
        tell_lack_async(py, version, ", whose threads are not known from outside");
    }
}

/* ---- joining ---- */

static bool is_loop_async(const struct python_linux *py, const struct unwind_frame *frame) {
    const struct dynamic_symbol *eval = &py->symbols[EVAL];
    return frame->function - eval->address < (eval->size > 0 ? eval->size : 1);
}

/* Returns the set of WAYS entries of `seen` that may hold a frame with this instruction. */
static struct python_frame *seen_async(struct python_linux *py, uint64_t instruction) {
    uint64_t hash = instruction * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return py->seen + hash % (SEEN / WAYS) * WAYS;
}

/* Puts the frame at the front of its set; the frame that was not seen for longest is dropped. */
static void remember_async(struct python_linux *py, const struct python_frame *frame) {
    struct python_frame *way = seen_async(py, frame->instruction);
    size_t at = 0;
    while (at < WAYS - 1 && way[at].instruction != frame->instruction) {
        at++;
    }
    for (; at > 0; at--) {
        way[at] = way[at - 1];
    }
    way[0] = *frame;
}

static size_t put_python_async(struct python_linux *py, const struct python_frame *from,
                               const struct unwind_frame *loop, bool exact, size_t at) {
    py->joined[at] = (struct unwind_frame){
        .pc = from->instruction ^ UINT64_C(1) << PYTHON_PC_BIT,
        .sp = loop->sp,
        .function = from->code,
        .exact = exact,
    };
    remember_async(py, from);
    return at + 1;
}

/* Counts the runs of the interpreter's loop to which the Python frames belong. */
static size_t count_runs_async(const struct python_frame *frames, size_t count) {
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        runs += frames[i].entry || i + 1 == count;
    }
    return runs;
}

/* Joins native and Python frames in py->joined: each native frame of the interpreter's loop is
 * replaced by the Python frames of one run of the loop. */
static size_t join_async(struct python_linux *py, const struct unwind_frame *frames, size_t count,
                         size_t pythons, size_t max) {
    size_t n = 0, next = 0;
    for (size_t i = 0; i < count && n < max; i++) {
        if (!is_loop_async(py, &frames[i]) || next == pythons) {
            py->joined[n++] = frames[i];
            continue;
        }
        bool exact = frames[i].exact, ended = false;
        for (; next < pythons && !ended && n < max; next++) {
            n = put_python_async(py, &py->frames[next], &frames[i], exact, n);
            exact = false;
            ended = py->frames[next].entry;
        }
    }
    return n;
}

/* Reads the thread's Python frames. A running thread has run on since its stack was copied, so its
 * Python frames count only if they belong to as many runs of the loop as there are native frames of
 * the loop, or, where outer native frames are missing, to at least as many. Otherwise they are read
 * again, up to TRIES times in all, and then left out. */
static size_t read_frames_async(struct python_linux *py, pid_t tid, size_t loops, bool whole,
                                size_t max) {
    enum { TRIES = 4 };
    bool is_main = tid == py->main_tid;
    const struct python_thread thread = {tid, is_main ? py->main_self : 0};
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t last = is_main ? py->main_state : 0;
        uint64_t state = python_thread_state_async(&py->process, &thread, last);
        size_t count = state != 0 ? python_frames_async(&py->process, state, py->frames, max) : 0;
        size_t runs = count_runs_async(py->frames, count);
        py->main_state = is_main ? state : py->main_state;
        if (count > 0 && (whole ? runs == loops : runs >= loops)) {
            return count;
        }
    }
    return 0;
}

size_t python_linux_depth_async(struct python_linux *py, uint64_t generation, pid_t tid) {
    bool is_main = tid == py->main_tid;
    const struct python_thread thread = {tid, is_main ? py->main_self : 0};
    if (generation != py->generation) {
        find_interpreter_async(py, generation);
    }
    if (!py->process.layout) {
        return 0;
    }
    uint64_t last = is_main ? py->main_state : 0;
    uint64_t state = python_thread_state_async(&py->process, &thread, last);
    py->main_state = is_main ? state : py->main_state;
    return state != 0 ? python_frames_async(&py->process, state, py->frames, FRAMES_MAX) : 0;
}

size_t python_linux_merge_async(struct python_linux *py, uint64_t generation, pid_t tid,
                                const struct cfi_stack *stack, struct unwind_frame *frames,
                                size_t count, size_t max, enum unwind_end *end) {
    size_t loops = 0;
    if (generation != py->generation) {
        find_interpreter_async(py, generation);
    }
    for (size_t i = 0; py->process.layout && i < count; i++) {
        loops += is_loop_async(py, &frames[i]);
    }
    if (loops == 0) {
        return count;
    }
    max = max < FRAMES_MAX ? max : FRAMES_MAX;
    py->stack = stack;
    size_t pythons = read_frames_async(py, tid, loops, *end == UNWIND_OUTERMOST, max);
    py->stack = NULL;
    if (pythons == 0) {
        return count;
    }
    size_t n = join_async(py, frames, count, pythons, max);
    if (n == max && *end == UNWIND_OUTERMOST) {
        *end = UNWIND_FULL;
    }
    memcpy(frames, py->joined, n * sizeof *frames);
    return n;
}

void python_linux_name_async(struct python_linux *py, struct rec_code_name *names, uint32_t count) {
    py->text.used = 0;
    for (uint32_t i = 0; py->process.layout && i < count; i++) {
        uint64_t instruction = names[i].address ^ UINT64_C(1) << PYTHON_PC_BIT;
        const struct python_frame *way = seen_async(py, instruction);
        for (size_t k = 0; k < WAYS && instruction != 0 && !names[i].symbol; k++) {
            if (way[k].instruction == instruction) {
                python_name_async(&py->process, &way[k], &py->text, &names[i]);
            }
        }
    }
}

bool python_linux_is_in_async(const struct python_linux *py, const struct rec_image *image) {
    uint64_t runtime = py->symbols[RUNTIME].address;
    return runtime >= image->load && runtime - image->load < image->size;
}

const char *python_linux_lack_async(const struct python_linux *py) {
    return py->lack[0] != '\0' ? py->lack : NULL;
}
