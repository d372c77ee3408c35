/* Functions that no file of the project may call. Force-included by the Makefile: it pulls in the
 * headers that declare them first, then poisons the names, so that a use fails the build. */
#ifndef STALLKIT_BANNED_H
#define STALLKIT_BANNED_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __APPLE__ /* these headers define macros of the banned names, for _FORTIFY_SOURCE */
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#endif

#ifdef __GNUC__
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok atoi atol atoll gets
#pragma GCC poison strtol strtoul strtoll strtoull strtod atof sscanf localtime gmtime asctime ctime
#endif

#endif
