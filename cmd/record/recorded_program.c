/* Finds the program that stallrec is asked to run, decides whether a preloaded library can
 * record it, and makes the files that recording needs. */
#include "record/recorded_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/reader.h"
#include "base/strbuf.h"
#include "cli.h"
#include "recorder/preload/preload.h"

#define TOOL "stallrec"

enum { HEAD_SIZE = 64 * 1024, SCRIPT_DEPTH = 4 };

static bool is_runnable_file(const char *path) {
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISREG(sb.st_mode) && access(path, X_OK) == 0;
}

char *program_find(const char *name, int *status) {
    struct strbuf path = {0};
    bool exists = false;
    const char *list = strchr(name, '/') ? "" : getenv("PATH");
    /* An empty name would match the folders themselves, so no folder is searched for it. */
    for (const char *at = !*name ? NULL : list ? list : "/usr/bin:/bin"; at;) {
        size_t size = strcspn(at, ":");
        strbuf_clear(&path);
        strbuf_add(&path, at, size);
        if (size > 0) {
            strbuf_addc(&path, '/');
        } else if (!strchr(name, '/')) {
            /* An empty element of PATH stands for the working directory. */
            strbuf_addstr(&path, "./");
        }
        strbuf_addstr(&path, name);
        if (!path.failed && is_runnable_file(strbuf_cstr(&path))) {
            return strbuf_take(&path);
        }
        exists |= access(strbuf_cstr(&path), F_OK) == 0;
        at = at[size] == ':' ? at + size + 1 : NULL;
    }
    if (path.failed) {
        strbuf_release(&path);
        *status = PROGRAM_CANNOT_RUN;
        cli_say(TOOL, "%s: out of memory", name);
        return NULL;
    }
    strbuf_release(&path);
    *status = exists ? PROGRAM_CANNOT_RUN : PROGRAM_NOT_FOUND;
    cli_say(TOOL, "%s: %s", *name ? name : "''", exists ? "cannot be run" : "not found");
    return NULL;
}

/* Reads the first HEAD_SIZE bytes of a file at most, and sets *size to their number. False: the
 * file is empty or cannot be read, but it may still be run. */
static bool read_head(const char *path, uint8_t *bytes, size_t *size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, HEAD_SIZE);
    if (fd >= 0) {
        close(fd);
    }
    *size = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* The e_machine of this command, with which the library was built. */
#ifdef __aarch64__
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_X86_64 };
#endif

/* Returns why a program with musl's dynamic linker is refused: that linker cannot load a library
 * made for glibc. NULL if the program has another linker, or this command is not built for glibc. r
 * stands after p_type of the program header that names the linker (PT_INTERP). */
static const char *refuse_linker(struct reader *r) {
    static const char musl[] = "/lib/ld-musl-";
    reader_skip(r, sizeof(Elf64_Word)); /* skips p_flags */
    reader_seek(r, reader_u64(r));
    const uint8_t *path = reader_bytes(r, sizeof musl - 1);
#ifdef __GLIBC__
    if (path && memcmp(path, musl, sizeof musl - 1) == 0) {
        return "made for another C library (musl) than the recorder: record it with --attach";
    }
#endif
    return NULL;
}

/* Returns why the dynamic linker would not load the library into this ELF file; NULL if it would,
 * or if the program headers cannot be read. */
static const char *refuse_elf(const uint8_t *bytes, size_t size) {
    struct reader r = reader_init("program", bytes, size);
    reader_seek(&r, EI_CLASS);
    bool same_class = reader_u8(&r) == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
    reader_seek(&r, offsetof(Elf64_Ehdr, e_machine));
    if (!same_class || reader_u16(&r) != OUR_MACHINE) {
        return "made for another processor than the recorder";
    }
    reader_seek(&r, offsetof(Elf64_Ehdr, e_phoff));
    uint64_t table = reader_u64(&r);
    reader_seek(&r, offsetof(Elf64_Ehdr, e_phentsize));
    uint16_t entry = reader_u16(&r), count = reader_u16(&r);
    for (uint16_t i = 0; i < count; i++) {
        reader_seek(&r, table);
        reader_skip(&r, (uint64_t)i * entry);
        if (reader_u32(&r) == PT_INTERP && !reader_failed(&r)) {
            return refuse_linker(&r);
        }
    }
    /* A program whose headers cannot be read is not refused. */
    return reader_failed(&r) ? NULL : "statically linked: record it with --attach";
}

static const char *refuse_rights(const char *path) {
    struct stat sb;
    if (stat(path, &sb) != 0) {
        return NULL;
    }
    bool other_user = (sb.st_mode & S_ISUID) && sb.st_uid != geteuid();
    bool other_group = (sb.st_mode & S_ISGID) && sb.st_gid != getegid();
    bool capable = geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
    return other_user || other_group || capable
               ? "set-user-id or privileged: record it as root, with --attach"
               : NULL;
}

/* Sets *path to the interpreter of a script ("#!/bin/sh -e"), or to nothing if the script names
 * none. */
static void script_interpreter(const uint8_t *bytes, size_t size, struct strbuf *path) {
    size_t at = 2;
    while (at < size && (bytes[at] == ' ' || bytes[at] == '\t')) {
        at++;
    }
    while (at < size && bytes[at] > ' ') {
        strbuf_addc(path, (char)bytes[at++]);
    }
}

static bool check(const char *path, int depth) {
    uint8_t *bytes = malloc(HEAD_SIZE);
    size_t size = 0;
    const char *why = refuse_rights(path);
    bool ok = true;
    if (!bytes) {
        why = "out of memory";
    } else if (!why && read_head(path, bytes, &size)) {
        if (size > sizeof(Elf64_Ehdr) && memcmp(bytes, ELFMAG, SELFMAG) == 0) {
            why = refuse_elf(bytes, size);
        } else if (size > 2 && memcmp(bytes, "#!", 2) == 0 && depth < SCRIPT_DEPTH) {
            struct strbuf interpreter = {0};
            script_interpreter(bytes, size, &interpreter);
            why = interpreter.failed ? "out of memory" : NULL;
            ok = why || interpreter.len == 0 || check(interpreter.data, depth + 1);
            strbuf_release(&interpreter);
        }
    }
    free(bytes);
    if (why) {
        cli_say(TOOL, "%s: %s", path, why);
    }
    return ok && !why;
}

bool program_check(const char *path) {
    return check(path, 0);
}

/* ---- files that recording needs ---- */

char *recorder_find_library(void) {
    static const char *const places[] = {"/../lib/" PRELOAD_LIBRARY,
                                         "/../lib/stallkit/" PRELOAD_LIBRARY};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        struct strbuf path = {0};
        strbuf_add(&path, self, (size_t)(slash - self));
        strbuf_addstr(&path, places[i]);
        char *real = path.failed ? NULL : realpath(path.data, NULL);
        strbuf_release(&path);
        if (real) {
            return real;
        }
    }
    return realpath(STALLKIT_LIBDIR "/stallkit/" PRELOAD_LIBRARY, NULL);
}

bool recorder_make_folder(const char *path, uint32_t file_mode) {
    struct stat st;
    /* Users who may read the files get the right to search the folder, as in folders that the
     * recorder makes. */
    mode_t mode = (mode_t)(0700 | file_mode | (file_mode & 044) >> 2);
    if ((mkdir(path, mode) != 0 && errno != EEXIST) || stat(path, &st) != 0) {
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        /* Checked here, because for root access(2) may grant search permission on a plain file,
         * too. */
        errno = ENOTDIR;
        return false;
    }
    return access(path, W_OK | X_OK) == 0;
}

char *recorder_make_trace(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        return NULL;
    }
    close(fd);
    return realpath(path, NULL);
}
