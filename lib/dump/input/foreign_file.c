/* Recognises object files, archives and the like by bytes near their start. */
#include "dump/input/foreign_file.h"

#include <string.h>

#define OBJECT    "an object file, not a dump: stallsym takes it behind -d"
#define PACKED    "an archive, or packed by something else than gzip, in a pipe: name the file"
#define UTF_16    "text in UTF-16: only UTF-8 is read"
#define TOMBSTONE "an Android tombstone, which is a crash's: not read"

/* The kinds of file that are recognised, because reading their bytes as lines would give a page of
 * error messages. */
static const struct foreign {
    const char *magic;
    size_t len, at;
    const char *text;
    bool around; /* a report that a reader takes may stand behind these bytes */
} foreign[] = {
    {"\177ELF", 4, 0, OBJECT, false},
    {"\xcf\xfa\xed\xfe", 4, 0, OBJECT, false},
    {"\xce\xfa\xed\xfe", 4, 0, OBJECT, false},
    {"\xca\xfe\xba\xbe", 4, 0, OBJECT, false},
    {"\xca\xfe\xba\xbf", 4, 0, OBJECT, false},
    {"PK\3\4", 4, 0, PACKED, false},
    {"ustar", 5, 257, PACKED, false},
    {"\xfd\x37zXZ", 5, 0, PACKED, false},
    {"\x28\xb5\x2f\xfd", 4, 0, PACKED, false},
    {"1AY&SY", 6, 4, PACKED, false},
    {"bplist0", 7, 0, "a binary property list, not a dump", false},
    {"\xff\xfe", 2, 0, UTF_16, false},
    {"\xfe\xff", 2, 0, UTF_16, false},
    /* xCrash begins its reports of ANRs, which are read, with the same lines as its tombstones */
    {"*** *** *** *** *** ", 20, 0, TOMBSTONE, true},
    {"Tombstone maker: '", 18, 0, TOMBSTONE, true},
};

static const struct foreign *foreign_of(const char *bytes, size_t len) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const struct foreign *f = &foreign[i];
        if (len >= f->at + f->len && memcmp(bytes + f->at, f->magic, f->len) == 0) {
            return f;
        }
    }
    return NULL;
}

enum st foreign_file_look(struct gz_input *in, struct foreign_kind *out, struct err *e) {
    enum { ENOUGH = 20 };
    char bytes[512];
    size_t len = 0, got = 0;
    enum st st;
    do {
        st = gz_input_read(in, bytes + len, sizeof bytes - len, &got, NULL);
        len += got;
    } while (st == ST_OK && got > 0 && len < ENOUGH);
    const struct foreign *f = foreign_of(bytes, len);
    *out = f ? (struct foreign_kind){f->text, f->around} : (struct foreign_kind){NULL, false};
    return gz_input_unread(in, bytes, len, e);
}
