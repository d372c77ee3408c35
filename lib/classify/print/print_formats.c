/* Defines the table of output formats. */
#include "classify/print/print_formats.h"

#include "classify/print/value_table.h"

const struct print_format print_formats[] = {
    {"table", true, false, triage_print_table, gate_print_text, holders_print_table,
     values_print_table},
    {"json", false, false, triage_print_json, gate_print_json, holders_print_json,
     values_print_json},
    {"csv", false, false, triage_print_csv, NULL, holders_print_csv, values_print_csv},
    {"markdown", true, false, triage_print_markdown, gate_print_markdown, holders_print_markdown,
     values_print_markdown},
    {"junit", false, false, triage_print_junit, gate_print_junit, NULL, NULL},
    {"html", false, true, NULL, NULL, NULL, NULL},
    {"none", false, false, NULL, NULL, NULL, NULL},
    {NULL, false, false, NULL, NULL, NULL, NULL},
};
