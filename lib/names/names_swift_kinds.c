/* Recognises readable Swift names, and among them the names of functions that the compiler
 * generates for a type. */
#include <string.h>

#include "names/names_private.h"

size_t names_swift_type_phrase(const char *s, size_t len) {
    static const char *const first_words[] = {"ObjC ",
                                              "associated ",
                                              "base ",
                                              "cache variable ",
                                              "canonical ",
                                              "class metadata ",
                                              "default associated ",
                                              "demangling cache ",
                                              "existential ",
                                              "flag ",
                                              "full ",
                                              "generic ",
                                              "instantiation ",
                                              "lazy ",
                                              "metaclass ",
                                              "metadata ",
                                              "method lookup ",
                                              "nominal type ",
                                              "noncanonical ",
                                              "outlined ",
                                              "protocol conformance ",
                                              "protocol descriptor ",
                                              "protocol requirements ",
                                              "protocol self-conformance ",
                                              "protocol witness table ",
                                              "reflection metadata ",
                                              "resilient ",
                                              "type metadata ",
                                              "value witness table ",
                                              NULL};
    bool found = names_starts_any(s, len, first_words) > 0;
    for (size_t at = 0; found && at < len; at++) {
        if (names_starts(s + at, len - at, " for ")) {
            return at + 5;
        }
        if (names_starts(s + at, len - at, " of ")) {
            return at + 4;
        }
        if (!names_is_ident(s[at]) && s[at] != ' ' && s[at] != '-') {
            break;
        }
    }
    return 0;
}

size_t names_swift_value_witness(const char *s, size_t len, size_t *phrase) {
    static const char *const witnesses[] = {"allocateBuffer",
                                            "assignWithCopy",
                                            "assignWithTake",
                                            "deallocateBuffer",
                                            "destroy",
                                            "destroyBuffer",
                                            "destroyArray",
                                            "initializeBufferWithCopyOfBuffer",
                                            "initializeBufferWithCopy",
                                            "initializeWithCopy",
                                            "initializeBufferWithTake",
                                            "initializeWithTake",
                                            "projectBuffer",
                                            "initializeBufferWithTakeOfBuffer",
                                            "initializeArrayWithCopy",
                                            "initializeArrayWithTakeFrontToBack",
                                            "initializeArrayWithTakeBackToFront",
                                            "storeExtraInhabitant",
                                            "getExtraInhabitantIndex",
                                            "getEnumTag",
                                            "destructiveProjectEnumData",
                                            "destructiveInjectEnumTag",
                                            "getEnumTagSinglePayload",
                                            "storeEnumTagSinglePayload",
                                            NULL};
    static const char *const joints[] = {" value witness for ", " for ", NULL};
    for (size_t i = 0; witnesses[i]; i++) {
        size_t n = strlen(witnesses[i]);
        size_t joint =
            names_starts(s, len, witnesses[i]) ? names_starts_any(s + n, len - n, joints) : 0;
        if (joint) {
            *phrase = n + joint;
            return n;
        }
    }
    return 0;
}

/* Does the name belong to an entity that is declared in a function, `total #1 in Shop.run()`,
 * `ErrorHolder #1 (A) in …`? */
static bool is_local(const char *s, size_t len) {
    for (size_t at = names_find(s, len, 0, " #"); at < len; at = names_find(s, len, at + 1, " #")) {
        size_t end = at + 2;
        while (end < len && names_is_digit(s[end])) {
            end++;
        }
        if (end > at + 2) {
            return names_find(s, len, end, " in ") < len;
        }
    }
    return false;
}

bool names_is_swift(const char *s, size_t len) {
    static const char *const prefixes[] = {"closure #",
                                           "implicit closure #",
                                           "partial apply ",
                                           "reabstraction thunk ",
                                           "specialized ",
                                           "merged ",
                                           "dispatch thunk of ",
                                           "protocol witness for ",
                                           "thunk for @",
                                           "@objc ",
                                           "outlined ",
                                           "generic specialization <",
                                           "vtable thunk for ",
                                           "function signature specialization <",
                                           "(extension in ",
                                           "static ",
                                           "async function pointer to ",
                                           "key path ",
                                           "default argument ",
                                           "method descriptor for ",
                                           "property descriptor for ",
                                           "enum case for ",
                                           "curry thunk of ",
                                           "direct field offset for ",
                                           "variable initialization expression of ",
                                           "property wrapper backing initializer of ",
                                           "one-time initialization function for ",
                                           NULL};
    static const char *const signs[] = {" -> ",
                                        ":)",
                                        ".getter",
                                        ".setter",
                                        ".modify",
                                        " : ",
                                        ".init(",
                                        ".deinit",
                                        "_allocating_init",
                                        "_deallocating_deinit",
                                        " in conformance ",
                                        " resume partial function for ",
                                        NULL};
    size_t phrase;
    if (names_find(s, len, 0, "::") < len) {
        return false;
    }
    if (names_swift_type_phrase(s, len) || names_swift_value_witness(s, len, &phrase) ||
        names_starts_any(s, len, prefixes)) {
        return true;
    }
    for (size_t i = 0; signs[i]; i++) {
        if (names_find(s, len, 0, signs[i]) < len) {
            return true;
        }
    }
    return is_local(s, len);
}
