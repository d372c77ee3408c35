/* Cuts files at every byte, or at a part of them, and reads each piece with the command that reads
 * its format. Each piece must give the output of the whole file, or another status, or a line more
 * on stderr: what is missing must not be missing in silence. For streams of records a cut between
 * two records is no damage, and not looked at.
 *
 * usage: cut-files LENGTHS FILE...
 *
 * LENGTHS: about how many lengths of each file, evenly spread; of a file of less than 20 * LENGTHS
 * bytes also those at the ends of lines; 0: all lengths. Prints
 * "FILE<TAB>pieces<TAB>lost<TAB>first lost length,…" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "fuzz/command_run.h"

enum { SHOWN = 8 };

enum format_kind {
    WHOLE,   /* one document */
    LINES,   /* a record on each line; a line without a line feed may be whole */
    COUNTED, /* as LINES, but a line without its line feed may lack digits of its count */
    STANZAS  /* records that end at an empty line */
};

struct cut_reader {
    const char *suffix; /* suffix of the file's name */
    enum format_kind kind;
    int (*command)(int argc, char **argv);
    const char *words[8];
};

static const struct cut_reader readers[] = {
    {".folded", COUNTED, stallflame_main, {"stallflame", "-q", "-F", "folded", INPUT}},
    {".pb", WHOLE, stallflame_main, {"stallflame", "-q", "-F", "folded", INPUT}},
    {".pb.gz", WHOLE, stallflame_main, {"stallflame", "-q", "-F", "folded", INPUT}},
    {".speedscope.json", WHOLE, stallflame_main, {"stallflame", "-q", "-F", "folded", INPUT}},
    {".partial", WHOLE, stallclassify_main, {"stallclassify", "--merge", "-F", "json", INPUT}},
    {"perf-script.txt", STANZAS, stallsym_main, {"stallsym", "--no-learn", "-F", "text", INPUT}},
    {".jsonl", LINES, stallsym_main, {"stallsym", "--no-learn", "-F", "text", INPUT}},
    {".envelope", LINES, stallsym_main, {"stallsym", "--no-learn", "-F", "text", INPUT}},
    {".log", LINES, stallsym_main, {"stallsym", "--no-learn", "-F", "text", INPUT}},
    {"", WHOLE, stallsym_main, {"stallsym", "--no-learn", "-F", "text", INPUT}},
};

static const struct cut_reader *cut_reader_of(const char *path) {
    size_t len = strlen(path);
    for (const struct cut_reader *r = readers;; r++) {
        size_t tail = strlen(r->suffix);
        if (tail <= len && strcmp(path + len - tail, r->suffix) == 0) {
            return r;
        }
    }
}

/* Does a piece of `at` bytes end where a record of the file ends? */
static bool ends_a_record(const struct cut_reader *r, const char *bytes, size_t len, size_t at) {
    bool behind_line = at > 0 && bytes[at - 1] == '\n';
    bool before_feed = at < len && bytes[at] == '\n';
    switch (r->kind) {
    case LINES:
        return behind_line || before_feed;
    case COUNTED:
        return behind_line;
    case STANZAS:
        return behind_line && (at == 1 || bytes[at - 2] == '\n' || before_feed);
    default:
        return false;
    }
}

/* Is a piece of `at` bytes one of the pieces that are read? */
static bool is_chosen(const char *bytes, size_t len, size_t at, size_t lengths) {
    bool at_line = (at > 0 && bytes[at - 1] == '\n') || bytes[at] == '\n';
    if (lengths == 0 || len <= lengths) {
        return true;
    }
    return at % (len / lengths + 1) == 0 || (at_line && len < 20 * lengths);
}

static void sweep(const char *path, const char *bytes, size_t len, size_t lengths) {
    const struct cut_reader *r = cut_reader_of(path);
    struct command_output whole = command_run(r->command, r->words, bytes, len);
    size_t pieces = 0, lost = 0, shown[SHOWN];
    for (size_t at = 0; at < len; at++) {
        if (!is_chosen(bytes, len, at, lengths) || ends_a_record(r, bytes, len, at)) {
            continue;
        }
        struct command_output o = command_run(r->command, r->words, bytes, at);
        pieces++;
        bool same = o.out == whole.out && o.length == whole.length;
        /* The run on the whole file may print a summary, too, so a damaged piece must give more
         * lines. */
        if (!same && o.status == whole.status && o.lines <= whole.lines) {
            if (lost < SHOWN) {
                shown[lost] = at;
            }
            lost++;
        }
    }
    printf("%s\t%zu\t%zu\t", path, pieces, lost);
    for (size_t i = 0; i < lost && i < SHOWN; i++) {
        printf("%s%zu", i ? "," : "", shown[i]);
    }
    printf("\n");
}

int main(int argc, char **argv) {
    uint64_t lengths = 0;
    if (argc < 2 || !parse_u64(argv[1], strlen(argv[1]), SIZE_MAX / 20, &lengths)) {
        fprintf(stderr, "usage: cut-files LENGTHS FILE...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        char *bytes = NULL;
        long len = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
        bytes = len >= 0 ? malloc((size_t)len + 1) : NULL;
        if (!bytes || fseek(f, 0, SEEK_SET) != 0 ||
            fread(bytes, 1, (size_t)len, f) != (size_t)len) {
            perror(argv[i]);
            return 1;
        }
        fclose(f);
        sweep(argv[i], bytes, (size_t)len, (size_t)lengths);
        free(bytes);
    }
    return 0;
}
