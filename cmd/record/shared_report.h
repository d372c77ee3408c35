/* Makes the memory that stallrec shares with the processes that it records. */
#ifndef STALLKIT_CMD_SHARED_REPORT_H
#define STALLKIT_CMD_SHARED_REPORT_H

#include <stdbool.h>

struct preload_report;

struct shared_report {
    struct preload_report *memory; /* mapped until the command ends */
    int fd;     /* a descriptor of raise_descriptor, which the program inherits; -1: none */
    char *path; /* path of the memory's file in the folder of the dumps; NULL: the memory has no
                   name */
};

/* Closes `low` and returns a duplicate, which the recorded program inherits, with a number of 100
 * or more, or, if the limit of open files forbids that, of 3 or more: programs expect the lowest
 * numbers to be free, and shell scripts redirect 3 to 9. Returns -1 with errno set if there is no
 * duplicate, or low is negative. */
int raise_descriptor(int low);

/* Makes zeroed shared memory, and sets *r, for which the caller calls shared_report_release, also
 * after a failure.
 *
 * folder: folder in which a file is made for the memory. A process finds the memory by this file if
 * it has closed the descriptor and may not read the /proc files of stallrec, because it is in
 * another user namespace. NULL: no file is needed. If the file cannot be made, the memory has no
 * name. Report files that killed commands left in the folder are removed. False, with errno set:
 * there is no memory. */
bool shared_report_make(struct shared_report *r, const char *folder);

/* Removes the memory's file. Processes that have mapped the memory keep it. */
void shared_report_release(struct shared_report *r);

#endif
