/* Adds the rules of the built-in rule files. */
#include "classify/rules/rules.h"

/* scripts/embed makes these arrays from the *.rules files of this folder. */
extern const unsigned char embed_android_rules[], embed_common_rules[], embed_darwin_rules[],
    embed_linux_rules[], embed_vendors_rules[], embed_windows_rules[];
extern const size_t embed_android_rules_len, embed_common_rules_len, embed_darwin_rules_len,
    embed_linux_rules_len, embed_vendors_rules_len, embed_windows_rules_len;

enum st rules_add_builtin(struct rules *r, struct err *e) {
    const struct {
        const char *name;
        const unsigned char *text;
        size_t len;
    } files[] = {{"darwin.rules", embed_darwin_rules, embed_darwin_rules_len},
                 {"android.rules", embed_android_rules, embed_android_rules_len},
                 {"linux.rules", embed_linux_rules, embed_linux_rules_len},
                 {"windows.rules", embed_windows_rules, embed_windows_rules_len},
                 {"common.rules", embed_common_rules, embed_common_rules_len},
                 {"vendors.rules", embed_vendors_rules, embed_vendors_rules_len}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (rules_add(r, files[i].name, (const char *)files[i].text, files[i].len, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}
