/* Names functions that no file of the project may call. The Makefile force-includes this file:
 * it includes the headers that declare them, then poisons the names, so that a use fails the
 * build. */
#ifndef STALLKIT_BANNED_H
#define STALLKIT_BANNED_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Some headers define these names as macros for _FORTIFY_SOURCE: macOS', and glibc's for clang. */
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf

#ifdef __GNUC__
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok atoi atol atoll gets
#pragma GCC poison strtol strtoul strtoll strtoull strtod atof sscanf fscanf localtime gmtime      \
    asctime ctime
#endif

#endif
