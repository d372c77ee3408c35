/* Text in Markdown as GitHub and GitLab read it. Errors stick to the sink. */
#ifndef STALLKIT_CLASSIFY_MARKDOWN_TEXT_H
#define STALLKIT_CLASSIFY_MARKDOWN_TEXT_H

#include "base/sink.h"

/* Writes text with all characters escaped that Markdown or HTML would interpret. */
void markdown_put_text(struct sink *out, const char *s);
/* Code, also in a cell of a table. */
void markdown_put_code(struct sink *out, const char *s);

#endif
