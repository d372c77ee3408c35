/* Identifies files without reading them whole. */
#ifndef STALLKIT_INDEX_FINGERPRINT_H
#define STALLKIT_INDEX_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* Mixes a file of these bytes into *print: its size, its first and last 4096 bytes, which hold the
 * headers and tables of object files, and, of more than 8192 bytes, 23 samples of 256 bytes at
 * equal distances. Copies of a file have one fingerprint, wherever and whenever they were made; so
 * do files of one size that differ only in bytes that are not mixed in. */
void fingerprint_add(uint64_t *print, const uint8_t *bytes, size_t size);

#endif
