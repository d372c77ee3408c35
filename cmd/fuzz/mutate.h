/* Mutators that know the structure of a format, so that a mutated input is still parsed.
 * LLVMFuzzerCustomMutator calls them; they use libFuzzer's own mutations for the bytes of one
 * part. */
#ifndef STALLKIT_CMD_MUTATE_H
#define STALLKIT_CMD_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Replaces the `size` bytes at data by others, at most `most`, and returns their number. The seed
 * chooses the mutation. */
typedef size_t mutate_fn(uint8_t *data, size_t size, size_t most, unsigned seed);

/* Mutates JSON, and lines of JSON: values are removed, repeated, changed in their bytes, or
 * replaced by a copy of another value or by one that is at a limit. */
mutate_fn mutate_json;
/* Mutates an ELF or Mach-O file: mostly a few bytes of one section change, seldom the headers. */
mutate_fn mutate_object;
/* Mutates a protobuf message: fields are copied, removed and changed at any depth, and the lengths
 * of the messages around them are corrected. */
mutate_fn mutate_protobuf;

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
/* Defines a fuzzer's custom mutator, which calls `function`. */
#define MUTATE_WITH(function)                                                                      \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {       \
        return function(data, size, most, seed);                                                   \
    }

/* ---- for mutators ---- */

/* Mutates without knowledge of the format, as libFuzzer does; without libFuzzer the bytes stay as
 * they are. Returns the new size, at most `most`. */
size_t mutate_bytes(uint8_t *data, size_t size, size_t most);
/* Returns the next number of a pseudo-random sequence, less than bound, which must not be 0. */
size_t mutate_random(uint64_t *state, size_t bound);
/* Replaces `old` bytes at offset `at` of a buffer by `count` others, which must not lie in the
 * buffer. Returns the new size; the same size if there is no room, or these bytes are not all in
 * the buffer. */
size_t mutate_splice(uint8_t *data, size_t size, size_t most, size_t at, size_t old,
                     const void *bytes, size_t count);
/* Replaces `old` bytes at offset `at` by a copy of `count` bytes at offset `from` of the same
 * buffer. Returns the new size; the same size if there is no room or no memory, or one of the
 * ranges is not in the buffer. */
size_t mutate_copy(uint8_t *data, size_t size, size_t most, size_t at, size_t old, size_t from,
                   size_t count);

#endif
