/* Compares versions in their natural order. */
#include "classify/keys/version.h"

#include <string.h>

/* Skips leading zeros, but not the last digit; returns the number of digits that are left. */
static size_t skip_zeros(const char **digits, size_t n) {
    while (n > 1 && **digits == '0') {
        ++*digits;
        n--;
    }
    return n;
}

int version_order(const char *a, const char *b) {
    const char *x = a, *y = b;
    while (*x && *y) {
        size_t n = strspn(x, "0123456789"), m = strspn(y, "0123456789");
        if (n && m) {
            n = skip_zeros(&x, n);
            m = skip_zeros(&y, m);
            int c = n != m ? (n > m) - (n < m) : memcmp(x, y, n);
            if (c) {
                return c;
            }
            x += n;
            y += m;
        } else if (*x != *y) {
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        } else {
            x++, y++;
        }
    }
    return (*x != 0) - (*y != 0);
}

int version_compare(const char *a, const char *b) {
    int c = version_order(a, b);
    return c ? c : strcmp(a, b);
}
