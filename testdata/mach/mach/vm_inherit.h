/* What the recorder uses of <mach/vm_inherit.h>. */
#ifndef STANDIN_VM_INHERIT_H
#define STANDIN_VM_INHERIT_H

#define VM_INHERIT_NONE 2

#endif
