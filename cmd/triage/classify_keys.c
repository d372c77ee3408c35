/* Names the keys of a run in the rules' name, and finds those of a baseline. */
#include "classify_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"

/* ---- keys ---- */

enum { KEY_NAME_SIZE = 80 };

/* Writes the part of the rules' name that describes the options of keys. Returns its length in
 * bytes. */
static size_t key_name(const struct key_options *k, bool raw, char out[KEY_NAME_SIZE]) {
    char levels[40] = "";
    if (k->wanted[0]) {
        snprintf(levels, sizeof levels, ", levels %u,%u", k->wanted[0], k->wanted[1]);
    }
    return (size_t)snprintf(out, KEY_NAME_SIZE, "%s%s%s", levels,
                            k->kind == KEY_OF_FRAMES && !raw ? ", keys of frames" : "",
                            k->inlines ? "" : ", no inlines");
}

static uint64_t hash_keys(const struct key_options *k, const struct rules *set, bool raw) {
    static const char raw_name[] = "none";
    char name[KEY_NAME_SIZE];
    uint64_t hash = raw ? hash_bytes(raw_name, sizeof raw_name - 1) : rules_hash(set);
    size_t len = key_name(k, raw, name);
    return hash ^ (len ? hash_bytes(name, len) : 0);
}

uint64_t classify_hash_keys(struct classify_settings *s) {
    char name[KEY_NAME_SIZE];
    strbuf_add(&s->rules.name, name, key_name(&s->key, s->rules.raw, name));
    return hash_keys(&s->key, s->rules.set, s->rules.raw);
}

/* ---- a baseline's ---- */

/* Reads the levels in a name that key_name made; both are 0 if the name has none. */
static void read_levels(const char *name, unsigned wanted[KEY_LEVELS]) {
    static const char word[] = ", levels ";
    const char *at = strstr(name, word);
    const char *comma = at ? strchr(at + strlen(word), ',') : NULL;
    uint64_t n, m;
    wanted[0] = wanted[1] = 0;
    if (comma &&
        parse_u64(at + strlen(word), (size_t)(comma - at) - strlen(word), KEY_WANTED_MAX, &n) &&
        parse_u64(comma + 1, strcspn(comma + 1, ","), KEY_WANTED_MAX, &m) && n && m >= n) {
        wanted[0] = (unsigned)n;
        wanted[1] = (unsigned)m;
    }
}

/* Finds the options of keys and the rules (those of s, or none if *raw) whose hash is that of the
 * baseline. The levels are read from the name of the baseline's rules; all combinations of the rest
 * are tried, those without rules only if s has no files or globs. False: none has that hash. */
static bool find_keys(const struct classify_settings *s, const struct triage_options *made,
                      struct key_options *keys, bool *raw) {
    *keys = s->key;
    read_levels(made->rules, keys->wanted);
    for (unsigned i = 0; i < 8; i++) {
        *raw = i & 4;
        keys->kind = i & 2 ? KEY_OF_FRAMES : KEY_OF_APP;
        keys->inlines = !(i & 1);
        bool allowed = !*raw || (s->rules.files.len == 0 && s->rules.globs.len == 0);
        if (allowed && hash_keys(keys, s->rules.set, *raw) == made->rules_hash) {
            return true;
        }
    }
    return false;
}

void classify_adopt_keys(struct classify_settings *s, const struct triage_options *made) {
    struct key_options keys;
    bool raw;
    if (hash_keys(&s->key, s->rules.set, s->rules.raw) != made->rules_hash &&
        !classify_keys_given(s) && find_keys(s, made, &keys, &raw)) {
        cli_say(classify_tool.name,
                "%s was made with other keys (%s): the dumps are sorted by them", s->gate.baseline,
                made->rules);
        s->key = keys;
        if (raw) {
            s->rules.raw = true;
            strbuf_clear(&s->rules.name);
            strbuf_addstr(&s->rules.name, "none");
        }
    }
    if (made->cap_ms != s->cap_s * 1000 && made->cap_ms % 1000 == 0 && !classify_cap_given(s)) {
        cli_say(classify_tool.name, "%s was made with --cap %" PRIu64 ": so is this run",
                s->gate.baseline, made->cap_ms / 1000);
        s->cap_s = made->cap_ms / 1000;
    }
}
