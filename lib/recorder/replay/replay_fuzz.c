/* Replays any text as a trace. Either it is refused, or the core keeps its promises: a stall's
 * spans add up to its duration, its dumps come in order, and each dump can be written as JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "files/dump_json.h"
#include "replay/replay.h"

static bool tells_steps(const uint8_t *data, size_t size) {
    static const char words[] = "told";
    for (size_t i = 0; i + sizeof words - 1 <= size; i++) {
        if (memcmp(data + i, words, sizeof words - 1) == 0) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STALLS = 256 };

struct seen {
    struct {
        uint8_t id[REC_UUID_SIZE];
        uint64_t span_ms, duration_ms;
        uint32_t seq;
    } stalls[STALLS];
    unsigned count;
    uint64_t lost;
};

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static void on_line(void *ctx, const char *line) {
    struct seen *seen = ctx;
    seen->lost += strstr(line, " lost") != NULL;
}

static bool count_bytes(void *ctx, const void *bytes, size_t len) {
    (void)bytes;
    *(size_t *)ctx += len;
    return true;
}

static void on_dump(void *ctx, const struct rec_dump *dump) {
    struct seen *seen = ctx;
    struct rec_about about = {.app_id = "fuzz"};
    size_t len = 0;
    struct rec_out out = {.write = count_bytes, .ctx = &len};
    rec_dump_json(&out, dump, &about);
    require(len > 200 && !out.failed);

    unsigned i = 0;
    while (i < seen->count && memcmp(seen->stalls[i].id, dump->stall.id, REC_UUID_SIZE) != 0) {
        i++;
    }
    if (i == STALLS) {
        return;
    }
    if (i == seen->count) {
        seen->count++;
        memcpy(seen->stalls[i].id, dump->stall.id, REC_UUID_SIZE);
    }
    require(dump->stall.seq == seen->stalls[i].seq + 1);
    require(dump->stall.at_ms >= seen->stalls[i].span_ms);
    seen->stalls[i].seq++;
    seen->stalls[i].span_ms += dump->stall.span_ms;
    require(dump->stall.duration_ms >= seen->stalls[i].duration_ms);
    seen->stalls[i].duration_ms = dump->stall.duration_ms;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct seen seen;
    char message[256] = "";
    memset(&seen, 0, sizeof seen);
    struct rec_replay_sink sink = {
        .line = on_line, .dump = on_dump, .ctx = &seen, .steps_max = 20000};
    bool ok = rec_replay((const char *)data, size, &sink, message, sizeof message);
    require(ok || message[0] != '\0');
    /* A replay writes a dump whenever the core asks for it, so that none is lost, unless the trace
     * says when. */
    require(seen.lost == 0 || tells_steps(data, size));
    for (unsigned i = 0; ok && i < seen.count; i++) {
        require(seen.stalls[i].span_ms == seen.stalls[i].duration_ms);
    }
    return 0;
}
