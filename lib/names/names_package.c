/* Finds the library that a source file belongs to, by the folders into which package managers and
 * the conventions of build systems put code that others wrote. */
#include <string.h>

#include "names/names.h"
#include "names/names_private.h"

/* How the name of the library follows the folder. */
enum package_form {
    FORM_NAME,   /* the next part of the path */
    FORM_FOLDER, /* the next part of the path, if it is a folder: the app may have such a folder of
                    its own */
    FORM_SCOPE,  /* the next part of the path; for a scope, @scope/name, the next two */
    FORM_INDEX,  /* the part after the next one, which is a registry's */
    FORM_MODULE  /* a path with a domain in front, github.com/org/name, else the next folder */
};

/* A folder for the code of others; in: the folder it is in, NULL = any. */
static const struct package_folder {
    const char *name;
    size_t len;
    const char *in;
    enum package_form form;
    bool builds; /* programs are built in the folder as well, as `go install` and `cargo install` do
                  */
} folders[] = {
#define FOLDER(name, in, form)                                                                     \
    { (name), sizeof(name) - 1, (in), (form), false }
#define CACHE(name, in, form)                                                                      \
    { (name), sizeof(name) - 1, (in), (form), true }
    FOLDER("node_modules", NULL, FORM_SCOPE),   /* docs.npmjs.com/cli/configuring-npm/folders */
    FOLDER("Pods", NULL, FORM_NAME),            /* guides.cocoapods.org/using */
    FOLDER("Checkouts", "Carthage", FORM_NAME), /* github.com/Carthage/Carthage */
    FOLDER("checkouts", "SourcePackages", FORM_NAME), /* Xcode's checkouts of Swift packages */
    FOLDER("checkouts", ".build", FORM_NAME),         /* SwiftPM's */
    CACHE("checkouts", "git", FORM_NAME),             /* doc.rust-lang.org/cargo/guide/cargo-home */
    CACHE("src", "registry", FORM_INDEX),             /* the same */
    CACHE("mod", "pkg", FORM_MODULE),                 /* go.dev/ref/mod#module-cache */
    FOLDER("vendor", NULL, FORM_MODULE),        /* go.dev/ref/mod#vendoring; Composer, Bundler */
    FOLDER("site-packages", NULL, FORM_NAME),   /* docs.python.org/3/library/site */
    FOLDER("dist-packages", NULL, FORM_NAME),   /* wiki.debian.org/Python */
    FOLDER("gems", NULL, FORM_FOLDER),          /* guides.rubygems.org */
    FOLDER("hosted", ".pub-cache", FORM_INDEX), /* dart.dev/tools/pub/environment-variables */
    FOLDER("packages", ".nuget", FORM_NAME),    /* learn.microsoft.com/nuget */
    FOLDER("buildtrees", NULL, FORM_NAME),      /* learn.microsoft.com/vcpkg */
    FOLDER("_deps", NULL, FORM_FOLDER),         /* CMake's FetchContent */
    FOLDER("subprojects", NULL, FORM_FOLDER),   /* mesonbuild.com/Subprojects */
    FOLDER("external", NULL, FORM_FOLDER),      /* bazel.build/remote/output-directories */
    FOLDER("deps", NULL, FORM_FOLDER),          /* Node, Redis, Mix */
    FOLDER("third_party", NULL, FORM_NAME),     /* Chromium and many after it */
    FOLDER("third-party", NULL, FORM_NAME),
    FOLDER("thirdparty", NULL, FORM_NAME),
    FOLDER("ThirdParty", NULL, FORM_NAME), /* Unreal Engine */
    FOLDER("3rdparty", NULL, FORM_NAME),   /* Qt, OpenCV */
#undef CACHE
#undef FOLDER
};

/* A part of a path, between two slashes. */
struct path_part {
    const char *s;
    size_t len;
};

/* Reads the part at *at and moves *at behind its slash. False: the path ends there. */
static bool package_part(const char *path, size_t len, size_t *at, struct path_part *part) {
    size_t end = *at;
    while (end < len && path[end] != '/' && path[end] != '\\') {
        end++;
    }
    *part = (struct path_part){path + *at, end - *at};
    *at = end + 1;
    return end < len;
}

static bool package_is_part(const struct path_part *part, const char *name) {
    return part->len == strlen(name) && memcmp(part->s, name, part->len) == 0;
}

static const struct package_folder *folder_of(const struct path_part *part,
                                              const struct path_part *before) {
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const struct package_folder *f = &folders[i];
        if (f->len == part->len && memcmp(f->name, part->s, part->len) == 0 &&
            (!f->in || package_is_part(before, f->in))) {
            return f;
        }
    }
    return NULL;
}

/* Is a hyphen at s[at] followed by a version, `-1.2.3`, by a revision of 16 hexadecimal digits or
 * more, or by CMake's word for a library's source, `-src`? */
static bool is_version(const char *s, size_t len, size_t at) {
    size_t digits = at + 1;
    if (at + 1 < len && names_is_digit(s[at + 1])) {
        return true;
    }
    while (digits < len && strchr("0123456789abcdef", s[digits])) {
        digits++;
    }
    return (digits == len && digits - at > 16) || (len - at == 4 && names_ends(s, len, "-src"));
}

/* Returns the length of the name without a version: without `@v1.2.3`, `-1.2.3`, Bazel's `~` or
 * `+`; of a file also without its ending, which begins at or behind `ending`. */
static size_t without_version(const char *s, size_t len, size_t ending) {
    for (size_t i = 1; i < len; i++) {
        if (s[i] == '@' || s[i] == '~' || s[i] == '+' || (s[i] == '.' && i >= ending) ||
            (s[i] == '-' && is_version(s, len, i))) {
            return i;
        }
    }
    return len;
}

/* Returns the library's name at `at`, behind a folder for the code of others; of length 0 if there
 * is none. */
static struct path_part package_behind(const char *path, size_t len, size_t at,
                                       enum package_form form) {
    struct path_part part;
    bool folder = package_part(path, len, &at, &part);
    if (form == FORM_INDEX && folder) {
        folder = package_part(path, len, &at, &part);
    }
    struct path_part found = part;
    bool scope = form == FORM_SCOPE && part.len && part.s[0] == '@';
    bool domain = form == FORM_MODULE && part.len && memchr(part.s, '.', part.len);
    for (int more = scope ? 1 : domain ? 2 : 0; folder && more > 0; more--) {
        bool versioned = part.len && memchr(part.s + 1, '@', part.len - 1);
        folder = !versioned && package_part(path, len, &at, &part);
        found.len = (size_t)(part.s + part.len - found.s);
    }
    bool file = part.s + part.len == path + len;
    if (file && (form == FORM_FOLDER || form == FORM_MODULE)) {
        found.len = 0;
        return found;
    }
    found.len = without_version(found.s, found.len, file ? (size_t)(part.s - found.s) : found.len);
    return found;
}

/* Finds the library that the path lies in, of length 0 if there is none. Returns the folder for the
 * code of others that decided; NULL = the path has none. */
static const struct package_folder *find_package_folder(const char *path, size_t len,
                                                        struct path_part *found) {
    struct path_part part = {path, 0}, before = part;
    const struct package_folder *in = NULL;
    *found = part;
    for (size_t at = 0; package_part(path, len, &at, &part);) {
        const struct package_folder *folder = folder_of(&part, &before);
        struct path_part behind = {path, 0};
        if (folder && at < len) {
            behind = package_behind(path, len, at, folder->form);
        }
        if (behind.len > 0) {
            *found = behind;
            in = folder;
        }
        before = part;
    }
    return in;
}

bool names_package(const char *path, size_t len, const char **package, size_t *package_len) {
    struct path_part found;
    (void)find_package_folder(path, len, &found);
    *package = found.s;
    *package_len = found.len;
    return found.len > 0;
}

bool names_builds_program(const char *path, size_t len, const char *program, size_t program_len) {
    struct path_part found;
    const struct package_folder *in = find_package_folder(path, len, &found);
    if (!in || !in->builds || found.len < program_len || program_len == 0) {
        return false;
    }
    size_t at = found.len - program_len;
    return memcmp(found.s + at, program, program_len) == 0 && (at == 0 || found.s[at - 1] == '/');
}

/* Returns the index of the first byte from `at` on that is no part of a package's name; package
 * names are in lower case (Java Language Specification, 6.1). */
static size_t behind_label(const char *s, size_t len, size_t at) {
    while (at < len && ((s[at] >= 'a' && s[at] <= 'z') || names_is_digit(s[at]) || s[at] == '_')) {
        at++;
    }
    return at;
}

/* Are these two parts a host of code, or a foundation, under which each project has a part? */
static bool is_shared(const char *s, size_t len) {
    static const char *const shared[] = {"com.github", "io.github",  "com.gitlab",
                                         "org.apache", "com.google", "org.eclipse"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        if (len == strlen(shared[i]) && memcmp(s, shared[i], len) == 0) {
            return true;
        }
    }
    return false;
}

size_t names_owner(const char *name, size_t len) {
    size_t at = 0, labels = 0, owner = 0, wanted = 2;
    while (at < len) {
        size_t end = behind_label(name, len, at);
        if (end == at || (end < len && name[end] != '.')) {
            break;
        }
        labels++;
        /* an obfuscator's packages and classes have names of one or two letters */
        if (labels <= wanted && end - at < (labels == 2 ? 3 : 2)) {
            return 0;
        }
        if (labels == 2 && is_shared(name, end)) {
            wanted = 3;
        }
        owner = labels == wanted ? end : owner;
        at = end + 1;
    }
    /* A package ends with the text, and a function's class begins with a capital. */
    bool whole = at >= len || (name[at] >= 'A' && name[at] <= 'Z');
    return whole && labels >= wanted ? owner : 0;
}
