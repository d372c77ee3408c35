/* The table of output formats. */
#include "classify/print/print_formats.h"

const struct print_format print_formats[] = {
    {"table", true, triage_print_table, gate_print_text, holders_print_table},
    {"json", false, triage_print_json, gate_print_json, holders_print_json},
    {"csv", false, triage_print_csv, NULL, holders_print_csv},
    {"markdown", true, triage_print_markdown, gate_print_markdown, holders_print_markdown},
    {"junit", false, triage_print_junit, gate_print_junit, NULL},
    {NULL, false, NULL, NULL, NULL},
};
