/* The loaded modules as the dynamic linker knows them, for the unwinder. */
#ifndef STALLREC_MODULES_LINUX_H
#define STALLREC_MODULES_LINUX_H

#include "unwind.h"

struct unwind_modules modules_linux(void);

#endif
