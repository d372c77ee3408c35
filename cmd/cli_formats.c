/* Prints the formats that the commands read. */
#include "cli_formats.h"

#include "dump/input/report_formats.h"

int cli_formats_list(struct cli_dumps *d, const char *output) {
    struct cli_output out;
    struct report_format_words f = {"stall-dump/1", "Stallkit's recorder", "0.1.0"};
    const char *name;
    if (!cli_output_open(&out, output, &d->failures)) {
        return CLI_FAILED;
    }
    sink_printf(&out.sink, "%-20s  %s  %s\n", f.name, f.since, f.source);
    for (size_t i = 0; report_format_describe(i, &f); i++) {
        sink_printf(&out.sink, "%-20s  %s  %s\n", f.name, f.since, f.source);
    }
    for (size_t i = 0; (name = report_maps_name(d->pipeline.maps, i)) != NULL; i++) {
        sink_printf(&out.sink, "%-20s  %s  JSON, by the map of this name\n", name, "0.1.0");
    }
    cli_output_close(&out, true, &d->failures);
    return cli_exit_status(&d->failures);
}
