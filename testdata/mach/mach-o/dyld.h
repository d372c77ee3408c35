/* What the recorder uses of <mach-o/dyld.h>. */
#ifndef STANDIN_DYLD_H
#define STANDIN_DYLD_H

#include <stdint.h>

int _NSGetExecutablePath(char *to, uint32_t *size);

#endif
