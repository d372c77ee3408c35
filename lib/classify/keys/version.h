/* Compares versions of apps ("5.9.1" < "5.10") and of systems ("iOS 9.3" < "iOS 18.7"). */
#ifndef STALLKIT_CLASSIFY_VERSION_H
#define STALLKIT_CLASSIFY_VERSION_H

/* Compares in natural order: runs of digits as numbers of any length, all else as bytes. Returns
 * a negative value, 0 or a positive one; 0 for texts with equal numbers but other digits ("5.01",
 * "5.1"). */
int version_order(const char *a, const char *b);
/* Compares as version_order does, but orders texts for which that returns 0 by their bytes. */
int version_compare(const char *a, const char *b);

#endif
