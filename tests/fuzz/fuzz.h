/* tests/fuzz/fuzz.h - what every fuzz target provides (libFuzzer's interface). */
#ifndef BR_TESTS_FUZZ_FUZZ_H
#define BR_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Any bytes; returns 0. A finding is a crash, a hang, a leak or a sanitizer's report. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
