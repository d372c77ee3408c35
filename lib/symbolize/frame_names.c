/* Writes the names of frames as people read them. */
#include <string.h>

#include "base/parse.h"
#include "base/strbuf.h"
#include "demangle/demangle.h"
#include "symbolize/symbolize.h"

bool symbolize_is_name(const char *name) {
    static const char *const not_names[] = {"<redacted>", "<deduplicated_symbol>", "???", "",
                                            "<unknown>"};
    size_t at;
    return !PARSE_WORD(name, strlen(name), not_names, &at) &&
           strncmp(name, "___lldb_unnamed_symbol", 22) != 0;
}

enum st symbolize_name(const struct lookup_frame *f, enum symbolize_names names, struct strbuf *out,
                       const char **mangled, struct err *e) {
    const char *name = f->linkage ? f->linkage : f->function;
    if (mangled) {
        *mangled = NULL;
    }
    if (!name) {
        return ST_OK;
    }
    enum demangle_scheme scheme = demangle_scheme_of(name, strlen(name));
    bool readable = names != SYMBOLIZE_LINKAGE && scheme != DEMANGLE_NONE;
    enum st st = ST_NONE;
    if (readable) {
        st = demangle(name, strlen(name),
                      names == SYMBOLIZE_FULL ? DEMANGLE_FULL : DEMANGLE_SIMPLIFIED, out, e);
    }
    if (st == ST_ERR) {
        return ST_ERR;
    }
    if (st == ST_NONE) {
        /* A Swift name that cannot be demangled stays mangled: its short name ("body.getter") would
         * make many functions look like one. */
        bool keep = names == SYMBOLIZE_LINKAGE || scheme == DEMANGLE_SWIFT || !f->function;
        strbuf_addstr(out, keep ? name : f->function);
    }
    if (mangled && readable && strcmp(strbuf_cstr(out), name) != 0) {
        *mangled = name;
    }
    return strbuf_check(out, e);
}
