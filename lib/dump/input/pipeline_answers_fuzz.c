/* Reads any bytes as lines: each line has one answer, and four threads give the same answers as
 * one. Reads any bytes as a record, too: it is read or refused. */
#include "dump/dump.h"
#include "dump/input/answer_support_test.h"
#include "dump/input/stream_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static uint64_t count_lines(const uint8_t *data, size_t size) {
    uint64_t lines = size > 0 && data[size - 1] != '\n';
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n';
    }
    return lines;
}

static void read_record(const char *text, size_t len) {
    const struct span record = {text, text + len};
    struct stall_input in = {{0}, {0}};
    struct err e = {0};
    enum stream_record kind = stream_record_of(record);
    if (kind == RECORD_INPUT) {
        enum st st = stall_input_read(&in, record, &e);
        require(st == ST_OK ? !err_is(&e) : st == ST_ERR && err_is(&e));
        require(in.text.len <= 3 * len);
        stall_input_release(&in);
    } else if (kind == RECORD_REFUSED) {
        require(stall_refused_tell(record, &e) == ST_ERR && err_is(&e));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct answer_log one = {.whole = true}, four = {.whole = true};
    read_record((const char *)data, size);
    if (answer_lines(data, size, 1, &one) && answer_lines(data, size, 4, &four)) {
        require(one.failures + four.failures == 0);
        require(one.answered == count_lines(data, size) && four.answered == one.answered);
        require(strcmp(strbuf_cstr(&one.text), strbuf_cstr(&four.text)) == 0);
    }
    strbuf_release(&one.text);
    strbuf_release(&four.text);
    return 0;
}
