/* Simplifies readable names, for bucket keys and for drawing. The functions are pure and shared by
 * classify and flame; the full name always stays in the data. If memory runs out, the buffer that a
 * function appends to has failed. */
#ifndef STALLKIT_NAMES_NAMES_H
#define STALLKIT_NAMES_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Appends the normalised name, which is equal in two builds of the same source and in all forms in
 * which reports write one function: mangled, full, simplified. Arguments, the return type and
 * Swift's modules are dropped; template arguments `<…>` become `<T>`; `operator<`, `operator()` and
 * Objective-C names stay whole; anonymous numbering and suffixes (`$_12`, `{lambda()#3}`,
 * `.llvm.123`, `.cold.1`, `.part.0`, `.isra.0`, `.constprop.0`, `__hidden#12_`,
 * `OUTLINED_FUNCTION_12`, Rust's `::h<16 hex>`, `[clone …]`) are removed or made constant, as are
 * V8's marks, lines and folders (`JS:*f /opt/a/b/c.js:1:2` -> `JS:f b/c.js`), closures that Dart
 * nests in a closure, Python's comprehensions, what Kotlin's compiler adds to a function's name
 * (`load$default`), and the numbers of Java's and C#'s lambdas and anonymous classes (`A$1.run` ->
 * `A$_.run`, `<f>b__1_2` -> `<f>b__`). The result is never empty for a non-empty name. */
void names_normalise(const char *name, size_t len, struct strbuf *out);

/* Appends the normalised name as names_normalise does, but keeps Swift's modules where the name
 * has them, as mangled and full names do: for callers that ask about a module. */
void names_qualify(const char *name, size_t len, struct strbuf *out);

/* Appends the full readable form of a mangled name, with nothing left out. False: the name is not
 * mangled or not readable, and nothing is appended. */
bool names_expand(const char *name, size_t len, struct strbuf *out);

/* Finds the type, or the function, that a library's generic was specialised for: `shop::Item` of
 * `std::vector<shop::Item>::push_back`, `Shop.Item` of `generic specialization <Shop.Item> of
 * Swift.Array.map`. The type is the first qualified name in angle brackets whose first part is
 * neither a namespace of a language's or a system's library nor a generic's own parameter such as
 * `T1`. *type points into name. False: there is no such name in the first 4,096 bytes or before a
 * `where`, or the name is Objective-C's. */
bool names_generic_for(const char *name, size_t len, const char **type, size_t *type_len);

/* Sets *function to the part of a normalised name that names the function in which a closure, a
 * block, a lambda or Swift's `defer` was written, or for which Swift's compiler made a thunk; to
 * the whole name if it names none of these. */
void names_enclosing(const char *name, size_t len, const char **function, size_t *function_len);

/* Appends the member of the protocol's requirement, `draw` or `body.getter`, if the readable name
 * is that of a protocol's witness in Swift, `protocol witness for Shop.Drawable.draw() -> () in
 * conformance Shop.Cart : Shop.Drawable in Shop`, whose normalised name is that of the conforming
 * type's method, `Cart.draw`. False: it is not, and nothing is appended. */
bool names_witness(const char *name, size_t len, struct strbuf *member);

/* Finds the library that a source file belongs to, by the folder for the code of others that it
 * lies in: `Alamofire` of `/b/SourcePackages/checkouts/Alamofire/Source/Core/Session.swift`,
 * `regex` of
 * `/r/.cargo/registry/src/index.crates.io-6f17/regex-1.10.4/src/lib.rs`. Of several such folders
 * the innermost decides. *package points into path, *package_len is its length without a version.
 * False: the path has no such folder. */
bool names_package(const char *path, size_t len, const char **package, size_t *package_len);

/* Is the source file in a folder into which a package manager puts the code of programs that it
 * builds, as well as that of libraries, and is it part of the package whose name ends with that of
 * the program: `hugo` of `/go/pkg/mod/github.com/gohugoio/hugo@v0.1/deps/deps.go`? */
bool names_builds_program(const char *path, size_t len, const char *program, size_t program_len);

/* Returns how many bytes at the start of a name are the part of its Java package by which its owner
 * is known: `com.acme` of the function `com.acme.shop.Cart.load` or of the package
 * `com.acme.shop`, three parts where many owners share two, `io.github.ann`. 0: the text is neither
 * a package nor a function of a class in one, or the parts are as short as those that shrinkers
 * write. */
size_t names_owner(const char *name, size_t len);

/* Appends an image's name for keys, which all versions of the image share: without directories,
 * ` (deleted)` and versions (`libc.so.6` -> `libc.so`, `libgtk-3.so.0` -> `libgtk.so`,
 * `libQt6Core.so.6` -> `libQtCore.so`, `python3.11` -> `python`). */
void names_image(const char *name, size_t len, struct strbuf *out);

/* What a function is by its name, whose words are those between underscores, digits and capitals.
 */
enum wait_name {
    WAIT_NAME_NONE,
    WAIT_NAME_POLL, /* one of the words is poll, epoll or select: `g_poll`, `ALooper_pollOnce` */
    WAIT_NAME_CALL, /* a system call that waits for events and that means nothing else, or a method
                       poll or select of a class for such calls: `EPollPoller::poll`,
                       `epoll_wait`, `qt_ppoll`, `uv__epoll_wait` */
    WAIT_NAME_STUB  /* makes system calls: `__syscall_cp_asm`, `syscall4` */
};
/* Returns what a normalised name says of a function that stands between a loop and the system call
 * in which the loop waits. Only the part behind the last `::` or `.` counts. */
enum wait_name names_wait(const char *name, size_t len);
/* Does one of a name's words say that the function is about files, "file" or "fs"? A file's
 * descriptor or handle does not say so, because a socket has one, too. Arguments of templates and
 * of functions do not count. */
bool names_of_files(const char *name, size_t len);

#endif
