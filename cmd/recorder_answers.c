/* What stallrec answers without running a program. */
#include "recorder_answers.h"

#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "base/filemap.h"
#include "base/strbuf.h"
#include "recorder/core/presets.h"
#include "recorder/replay/replay.h"

enum { TRACE_MAX = 64 * 1024 * 1024 };

struct question {
    const char *tool, *trace, *preset;
};

/* Prints through `print` to the standard output. */
static bool answer(bool (*print)(struct sink *out, const struct question *question),
                   const struct question *question) {
    struct cli_failures failures = {.tool = question->tool};
    struct cli_output out;
    if (!cli_output_open(&out, NULL, &failures)) {
        return false;
    }
    bool ok = print(&out.sink, question);
    cli_output_close(&out, true, &failures);
    return ok && cli_exit_status(&failures) == CLI_OK;
}

static bool list_detectors(struct sink *out, const struct question *question) {
    (void)question;
    const struct rec_detector_info *info;
    for (size_t i = 0; (info = rec_detector_at(i)) != NULL; i++) {
        sink_printf(out, "%-12s %s\n", info->name, info->summary);
        if (info->calls) {
            sink_printf(out, "%-12s (the program calls %s)\n", "", info->calls);
        }
    }
    return true;
}

/* A preset's value as the user would write it. */
static void value_text(const struct rec_preset_value *value, struct strbuf *text) {
    const struct rec_detector_info *info;
    strbuf_clear(text);
    if (value->word) {
        strbuf_addstr(text, value->word);
    } else if (strcmp(value->field, "detectors") != 0) {
        strbuf_addf(text, "%" PRIu32, value->value);
    } else {
        for (size_t i = 0; (info = rec_detector_at(i)) != NULL; i++) {
            if (value->value & info->bit) {
                strbuf_addf(text, "%s%s", text->len > 0 ? "," : "", info->name);
            }
        }
    }
}

static bool list_presets(struct sink *out, const struct question *question) {
    (void)question;
    struct strbuf text = {0};
    struct rec_preset_value value;
    for (size_t i = 0; rec_preset_name(i); i++) {
        sink_printf(out, "%s%s: %s\n", i > 0 ? "\n" : "", rec_preset_name(i), rec_preset_title(i));
        for (size_t k = 0; rec_preset_value(i, k, &value); k++) {
            value_text(&value, &text);
            sink_printf(out, "    %-18s %-9s  %s\n", value.field, strbuf_cstr(&text),
                        value.source ? value.source : "unpublished, ours");
        }
    }
    strbuf_release(&text);
    return true;
}

static void print_line(void *ctx, const char *line) {
    sink_printf(ctx, "%s\n", line);
}

static bool replay(struct sink *out, const struct question *question) {
    const char *name = strcmp(question->trace, "-") == 0 ? "/dev/stdin" : question->trace;
    struct filemap map;
    struct err e = {0};
    char message[256];
    enum st st = filemap_open(&map, name, TRACE_MAX, &e);
    if (st != ST_OK) {
        cli_say(question->tool, "%s: %s", question->trace, st == ST_NONE ? "no such file" : e.text);
        return false;
    }
    struct rec_replay_sink lines = {.line = print_line, .ctx = out, .preset = question->preset};
    bool ok = rec_replay((const char *)map.data, map.size, &lines, message, sizeof message);
    filemap_release(&map);
    if (!ok) {
        cli_say(question->tool, "%s: %s", question->trace, message);
    }
    return ok;
}

bool recorder_list_detectors(const char *tool) {
    return answer(list_detectors, &(struct question){.tool = tool});
}

bool recorder_list_presets(const char *tool) {
    return answer(list_presets, &(struct question){.tool = tool});
}

bool recorder_replay(const char *tool, const char *trace, const char *preset) {
    return answer(replay, &(struct question){tool, trace, preset});
}
