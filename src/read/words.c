// SPDX-License-Identifier: Apache-2.0
// Distinct byte strings with an index each: names of types and molecules, macros, keys of parameter tables.
//
// Open addressing with linear probing over FNV-1a hashes; the table doubles at 2/3 full. Nothing is ever removed.
#include "read/top.h"

#include <string.h>

static size_t hash(const void *s, size_t n)
{
    const unsigned char *byte = s;
    uint64_t             h = 14695981039346656037u; // FNV-1a, 64 bits: offset basis and prime
    size_t               k;

    for (k = 0; k < n; k++) h = (h ^ byte[k]) * 1099511628211u;
    return (size_t)(h ^ h >> 32);
}

/// Slot of the word, or the empty slot where it would go.
static size_t slot_of(const mds_words *words, const void *s, size_t n)
{
    size_t k = hash(s, n) & (words->n_slots - 1);

    while (words->slot[k]) {
        const int32_t w = words->slot[k] - 1;

        if (words->length[w] == n && !memcmp(words->text[w], s, n)) break;
        k = (k + 1) & (words->n_slots - 1);
    }
    return k;
}

int32_t mds_words_find(const mds_words *words, const void *s, size_t n)
{
    return words->n_slots ? words->slot[slot_of(words, s, n)] - 1 : -1;
}

static mds_status grow_slots(mds_words *words)
{
    const size_t n_slots = words->n_slots ? 2 * words->n_slots : 64;
    int32_t     *slot, w;

    MDS_TRY(mds_alloc(&slot, n_slots, sizeof *slot));
    mds_free(words->slot);
    words->slot = slot;
    words->n_slots = n_slots;
    for (w = 0; w < words->n; w++) slot[slot_of(words, words->text[w], words->length[w])] = w + 1;
    return MDS_OK;
}

mds_status mds_words_add(mds_words *words, const void *s, size_t n, int32_t *index)
{
    size_t k;

    if (3 * ((size_t)words->n + 1) > 2 * words->n_slots) MDS_TRY(grow_slots(words));
    k = slot_of(words, s, n);
    if (!words->slot[k]) {
        MDS_TRY(mds_grow(&words->text, &words->cap_text, (size_t)words->n + 1, sizeof *words->text));
        MDS_TRY(mds_grow(&words->length, &words->cap_length, (size_t)words->n + 1, sizeof *words->length));
        MDS_TRY(mds_copy_text(&words->text[words->n], s, n));
        words->length[words->n] = n;
        words->slot[k] = ++words->n;
    }
    *index = words->slot[k] - 1;
    return MDS_OK;
}

void mds_words_free(mds_words *words)
{
    int32_t k;

    for (k = 0; k < words->n; k++) mds_free(words->text[k]);
    mds_free(words->text);
    mds_free(words->length);
    mds_free(words->slot);
    *words = (mds_words){0};
}
