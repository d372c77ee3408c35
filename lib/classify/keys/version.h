/* The order of versions: of apps ("5.9.1" < "5.10"), and of systems ("iOS 9.3" < "iOS 18.7"). */
#ifndef STALLKIT_CLASSIFY_VERSION_H
#define STALLKIT_CLASSIFY_VERSION_H

/* Natural order: runs of digits compare as numbers of any length, all else as bytes. Negative, 0 or
 * positive. Total: texts that say the same with other digits ("5.01", "5.1") still differ. */
int version_compare(const char *a, const char *b);

#endif
