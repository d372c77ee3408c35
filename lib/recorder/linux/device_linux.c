/* Reads the machine's and the program's description from Linux's files and calls. */
#include "linux/device_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void copy_text(char *out, size_t room, const char *text) {
    size_t n = strnlen(text, room - 1);
    memcpy(out, text, n);
    out[n] = '\0';
}

/* Reads the start of a small file into out, NUL-terminated; out is "" if the file cannot be
 * read. */
static void device_read_text(const char *path, char *out, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, room - 1);
    out[n > 0 ? n : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

void device_linux_os_value(const char *text, const char *key, char *out, size_t room) {
    size_t key_size = strlen(key), n = 0;
    *out = '\0';
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, key_size) != 0 || line[key_size] != '=') {
            continue;
        }
        for (const char *c = line + key_size + 1; *c && *c != '\n' && n + 1 < room; c++) {
            if (*c == '\\' && c[1] && c[1] != '\n') {
                out[n++] = *++c;
            } else if (*c != '"' && *c != '\'') {
                out[n++] = *c;
            }
        }
        out[n] = '\0';
        return;
    }
}

void device_linux_read(struct device_linux *d) {
    struct utsname u;
    char text[4096];
    memset(d, 0, sizeof *d);
    if (uname(&u) == 0) {
        copy_text(d->os_build, sizeof d->os_build, u.release);
        copy_text(d->arch, sizeof d->arch, u.machine);
        copy_text(d->os, sizeof d->os, u.sysname);
    }
    device_read_text("/etc/os-release", text, sizeof text);
    if (!*text) {
        device_read_text("/usr/lib/os-release", text, sizeof text);
    }
    char name[sizeof d->os];
    device_linux_os_value(text, "PRETTY_NAME", name, sizeof name);
    if (*name) {
        copy_text(d->os, sizeof d->os, name);
    }
    device_read_text("/sys/devices/virtual/dmi/id/product_name", d->model, sizeof d->model);
    if (!*d->model) {
        device_read_text("/proc/device-tree/model", d->model, sizeof d->model);
    }
    d->model[strcspn(d->model, "\n")] = '\0';
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    d->cpus = cpus > 0 ? (uint32_t)cpus : 0;
    copy_text(d->program, sizeof d->program, program_invocation_short_name);
}

static const char *or_null(const char *text) {
    return *text ? text : NULL;
}

void device_linux_describe(const struct device_linux *d, struct rec_about *about) {
    about->model = or_null(d->model);
    about->os = or_null(d->os);
    about->os_build = or_null(d->os_build);
    about->arch = or_null(d->arch);
    about->cpus = d->cpus;
    if (!about->app_id) {
        about->app_id = or_null(d->program);
    }
}
