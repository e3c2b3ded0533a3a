/* runtime/base/rng.h - seeded numbers: the same seed gives the same sequence on every machine.
 * splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). */
#ifndef BR_BASE_RNG_H
#define BR_BASE_RNG_H

#include <stdint.h>

typedef struct br_rng {
    uint64_t state;
} br_rng;

static inline uint64_t br_rng_next(br_rng *rng)
{
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* In [0, n), n > 0; the bias is below 2^-32 for n < 2^32. */
static inline uint64_t br_rng_below(br_rng *rng, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)br_rng_next(rng) * n >> 64);
}

/* In [0, 1). */
static inline double br_rng_unit(br_rng *rng)
{
    return (double)(br_rng_next(rng) >> 11) * 0x1p-53;
}

#endif
