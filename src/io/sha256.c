// SPDX-License-Identifier: Apache-2.0
// SHA-256 as FIPS 180-4 writes it: checksums of checkpoints, hashes of inputs.
#include "io/io.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n)
{
    return (x >> n) | (x << (32 - n));
}

/// Round t on the eight words, named by where they stand in it. Eight rounds bring every word home, so none is moved.
#define ROUND(t, a, b, c, d, e, f, g, h)                                                                     \
    do {                                                                                                     \
        const uint32_t t1 = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (g ^ (e & (f ^ g))) + constants[t] + w[t]; \
                                                                                                             \
        d += t1;                                                                                             \
        h = t1 + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) | (c & (a | b)));                       \
    } while (0)

static void block_in(mds_sha256 *sha, const uint8_t *p)
{
    uint32_t w[64], a = sha->h[0], b = sha->h[1], c = sha->h[2], d = sha->h[3], e = sha->h[4], f = sha->h[5], g = sha->h[6],
                    h = sha->h[7];
    int t;

    for (t = 0; t < 16; t++)
        w[t] = (uint32_t)p[4 * t] << 24 | (uint32_t)p[4 * t + 1] << 16 | (uint32_t)p[4 * t + 2] << 8 | p[4 * t + 3];
    for (; t < 64; t++) {
        const uint32_t far = w[t - 15], near = w[t - 2];

        w[t] = w[t - 16] + w[t - 7] + (turn(far, 7) ^ turn(far, 18) ^ (far >> 3)) +
               (turn(near, 17) ^ turn(near, 19) ^ (near >> 10));
    }
    for (t = 0; t < 64; t += 8) {
        ROUND(t, a, b, c, d, e, f, g, h);
        ROUND(t + 1, h, a, b, c, d, e, f, g);
        ROUND(t + 2, g, h, a, b, c, d, e, f);
        ROUND(t + 3, f, g, h, a, b, c, d, e);
        ROUND(t + 4, e, f, g, h, a, b, c, d);
        ROUND(t + 5, d, e, f, g, h, a, b, c);
        ROUND(t + 6, c, d, e, f, g, h, a, b);
        ROUND(t + 7, b, c, d, e, f, g, h, a);
    }
    sha->h[0] += a;
    sha->h[1] += b;
    sha->h[2] += c;
    sha->h[3] += d;
    sha->h[4] += e;
    sha->h[5] += f;
    sha->h[6] += g;
    sha->h[7] += h;
}

void mds_sha256_init(mds_sha256 *sha)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memcpy(sha->h, start, sizeof start);
    sha->n = 0;
}

void mds_sha256_add(mds_sha256 *sha, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    size_t         have = (size_t)(sha->n % 64), take;

    sha->n += n;
    while (n) {
        if (!have && n >= 64) {
            block_in(sha, p);
            p += 64;
            n -= 64;
            continue;
        }
        take = 64 - have < n ? 64 - have : n;
        memcpy(sha->block + have, p, take);
        have += take;
        p += take;
        n -= take;
        if (have == 64) {
            block_in(sha, sha->block);
            have = 0;
        }
    }
}

void mds_sha256_end(mds_sha256 *sha, uint8_t out[32])
{
    const uint64_t bits = 8 * sha->n;
    uint8_t        tail[72] = {0x80};
    const size_t   have = (size_t)(sha->n % 64), pad = (have < 56 ? 56 : 120) - have;
    int            k;

    for (k = 0; k < 8; k++) tail[pad + (size_t)k] = (uint8_t)(bits >> (56 - 8 * k));
    mds_sha256_add(sha, tail, pad + 8);
    for (k = 0; k < 32; k++) out[k] = (uint8_t)(sha->h[k / 4] >> (24 - 8 * (k % 4)));
}
