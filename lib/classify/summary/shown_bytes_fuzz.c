/* Reads any bytes as what a history keeps of the first buckets of a page. They are refused, or they
 * are shown and written, and showing these bytes gives the same again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classify/keys/key.h"
#include "classify/summary/shown.h"
#include "classify/summary/shown_bytes.h"
#include "dump/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUCKETS = 3, NUMBER = 4711 };

static struct keyer *keyer;

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static void make_keyer(void) {
    static struct rules *rules;
    require(rules_new(&rules, NULL) == ST_OK && rules_add_builtin(rules, NULL) == ST_OK);
    const struct key_options o = {.rules = rules, .aliases = true};
    require(keyer_new(&keyer, &o, NULL) == ST_OK);
}

/* Returns a finished triage of one dump for each bucket, with nothing stored. */
static struct triage *count_buckets(void) {
    const struct triage_options o = {.rules = "built-in"};
    struct triage *t = NULL;
    require(triage_new(&t, &o, NULL) == ST_OK);
    for (int i = 0; i < BUCKETS; i++) {
        struct dump d = {0};
        struct stall_key key;
        char text[400];
        int len =
            snprintf(text, sizeof text,
                     "{\"format\":\"stall-dump/1\",\"id\":\"%d\",\"stall\":{\"kind\":\"hang\","
                     "\"duration_ms\":%d,\"span_ms\":%d,\"ended\":true},\"images\":[{\"name\":"
                     "\"Shop\",\"load\":4096,\"size\":65536,\"in_app\":true}],\"threads\":[{"
                     "\"id\":1,\"main\":true,\"frames\":[4112]}],\"names\":{\"4112\":"
                     "[\"save_%d\"]}}",
                     i, 3000 - i, 3000 - i, i);
        require(dump_parse(&d, text, (size_t)len, NULL) == ST_OK);
        require(keyer_key(keyer, &d, &key, NULL) == ST_OK);
        require(triage_add(t, &d, &key, true, NULL, NULL) == ST_OK);
        dump_release(&d);
    }
    require(triage_finish(t, NULL) == ST_OK);
    return t;
}

/* Shows the bytes in a new triage, and writes what it shows. False: they are refused. */
static bool show_again(const void *data, size_t size, struct strbuf *out) {
    struct triage *t = count_buckets();
    struct summary s = {0};
    struct err e = {0};
    bool sound = shown_check(t, data, size, &e) == ST_OK;
    require(sound || e.code == ERR_FORMAT);
    if (sound) {
        require(summary_make(&s, t, NULL, BUCKETS, NULL) == ST_OK);
        require(shown_read_explained(&s, data, size, NULL) == ST_OK);
        require(s.explained.len <= BUCKETS);
        require(shown_write(&s, NUMBER, out, NULL) == ST_OK);
        summary_release(&s);
    }
    triage_free(t);
    return sound;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct strbuf once = {0}, twice = {0};
    if (!keyer) {
        make_keyer();
    }
    if (show_again(data, size, &once)) {
        require(show_again(once.data, once.len, &twice));
        require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    }
    strbuf_release(&once);
    strbuf_release(&twice);
    return 0;
}
