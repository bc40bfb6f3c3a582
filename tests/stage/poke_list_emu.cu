// SPDX-License-Identifier: Apache-2.0
// A look into the emulated GPU backend's order and list, and positions moved without a search.
extern "C" {
#include "stage/poke_gpu_list.h"
#include "stage/poke_list.h"
}

#include "search.h"

#include <stdlib.h>
#include <string.h>

/// n elements of device memory, on the host; freed by the caller.
template <class T> static T *fetch(const T *from, size_t n)
{
    T *to = static_cast<T *>(malloc((n ? n : 1) * sizeof *to));

    if (!to || cudaMemcpy(to, from, n * sizeof *to, cudaMemcpyDeviceToHost) != cudaSuccess) abort();
    return to;
}

template <class T> static void store(T *to, const T *from, size_t n)
{
    if (cudaMemcpy(to, from, n * sizeof *to, cudaMemcpyHostToDevice) != cudaSuccess) abort();
}

static void settle(const mds_device *d)
{
    if (cudaStreamSynchronize(d->stream) != cudaSuccess) abort();
}

extern "C" void poke_positions(mds_device *d, const double (*x)[3])
{
    settle(d);
    store(d->view.x, x, (size_t)d->view.n_atoms);
}

extern "C" void poke_box(mds_device *d, const mds_box *box)
{
    settle(d);
    gpu_control *c = fetch(d->view.control, 1);

    c->box = *box;
    mds_box_inverse(box, c->inverse);
    store(d->view.control, c, 1);
    free(c);
}

extern "C" void poke_list_due(mds_device *d)
{
    if (GPU_NAME(prune)(d) != MDS_OK) abort();
}

static mds_list_figures figures(const mds_device *d)
{
    mds_list_figures f;

    GPU_NAME(figures)(d, &f);
    return f;
}

extern "C" int64_t peek_inside(const mds_device *d)
{
    return figures(d).inside;
}

extern "C" int64_t peek_prunes(const mds_device *d)
{
    return figures(d).prunes;
}

/// What the chunks say, by atoms; how often a pair is in the list, as far as a byte counts.
static void add_chunk(const mds_device *d, const gpu_chunk *chunk, const unsigned *j, const unsigned *allow, int n, const int *atom_of, uint8_t *listed)
{
    const size_t n_atoms = (size_t)d->view.n_atoms;

    for (int k = 0; k < n; k++)
        for (int i = 0; i < GPU_BLOCK; i++) {
            const int  a = atom_of[chunk->block * GPU_BLOCK + i], b = atom_of[GPU_J_SLOT(j[chunk->first + k])];
            const bool on = (GPU_J_OCTETS(j[chunk->first + k]) >> i / GPU_OCTET & 1) &&
                            (chunk->allow < 0 || (allow[chunk->allow + k] >> i & 1));

            if (on && a >= 0 && b >= 0) listed[(size_t)a * n_atoms + (size_t)b] = 1;
        }
}

/// The same of a list in rows.
static void add_rows(const mds_device *d, uint8_t *listed)
{
    const gpu_rows *r = &d->search->rows;
    const size_t    octets = (size_t)(d->view.n_slots / GPU_OCTET), n_atoms = (size_t)d->view.n_atoms;
    int            *first = fetch(r->first, octets + 1), *n = fetch(r->n, octets), *atom_of = fetch(d->view.atom_of, (size_t)d->view.n_slots);
    unsigned       *j = fetch(r->j, (size_t)first[octets]);
    unsigned short *word = fetch(r->word, (size_t)first[octets] << r->shift);

    for (size_t o = 0; o < octets; o++)
        for (int k = 0; k < n[o] << r->shift; k++) {
            const int at = (first[o] << r->shift) + k, b = atom_of[(j[at >> r->shift] << r->shift) + (unsigned)(k & ((1 << r->shift) - 1))];

            for (int i = 0; i < GPU_OCTET; i++) {
                const int a = atom_of[GPU_OCTET * o + (size_t)i];

                if (word[at] >> i & 1) listed[(size_t)a * n_atoms + (size_t)b] = 1;
            }
        }
    free(first);
    free(n);
    free(atom_of);
    free(j);
    free(word);
}

extern "C" void peek_pairs(const mds_device *d, uint8_t *listed)
{
    const gpu_list *l = &d->list;
    size_t          entries = 0, words = 0;

    settle(d);
    if (d->search->rows.n_items) add_rows(d, listed);
    if (!l->n_chunks) return;
    gpu_chunk *chunk = fetch(l->chunk, (size_t)l->n_chunks);
    int       *n = fetch(l->n, (size_t)l->n_chunks), *atom_of = fetch(d->view.atom_of, (size_t)d->view.n_slots);
    for (int c = 0; c < l->n_chunks; c++) {
        const size_t end = (size_t)(chunk[c].first + n[c]), last = chunk[c].allow < 0 ? 0 : (size_t)(chunk[c].allow + n[c]);

        entries = end > entries ? end : entries;
        words = last > words ? last : words;
    }
    unsigned *j = fetch(l->j, entries), *allow = fetch(l->allow, words);
    for (int c = 0; c < l->n_chunks; c++) add_chunk(d, &chunk[c], j, allow, n[c], atom_of, listed);
    free(chunk);
    free(n);
    free(atom_of);
    free(j);
    free(allow);
}

extern "C" int32_t peek_order(const mds_device *d, const int32_t **atom_of)
{
    static int32_t *kept[2]; // for two devices in turn
    static int      turn;

    settle(d);
    turn = !turn;
    free(kept[turn]);
    kept[turn] = fetch(d->view.atom_of, (size_t)d->view.n_slots);
    *atom_of = kept[turn];
    return d->view.n_slots;
}

extern "C" void peek_list(const mds_device *d, peeked_list *out)
{
    const gpu_list *l = &d->list;

    static_assert(sizeof(gpu_chunk) == sizeof *out->chunk, "six integers");
    settle(d);
    *out = peeked_list{};
    out->n_chunks = l->n_chunks;
    out->n_slots = d->view.n_slots;
    out->chunk = reinterpret_cast<int32_t(*)[6]>(fetch(l->chunk, (size_t)l->n_chunks));
    out->n = fetch(l->n, (size_t)l->n_chunks);
    for (int c = 0; c < l->n_chunks; c++) {
        const int32_t *chunk = out->chunk[c], end = chunk[4] + out->n[c], last = chunk[5] < 0 ? 0 : chunk[5] + out->n[c];

        out->n_entries = end > out->n_entries ? end : out->n_entries;
        out->n_words = last > out->n_words ? last : out->n_words;
    }
    out->j = fetch(l->j, (size_t)out->n_entries);
    out->allow = fetch(l->allow, (size_t)out->n_words);
    out->atom_of = fetch(d->view.atom_of, (size_t)d->view.n_slots);
    out->image = fetch(d->view.image, (size_t)d->view.n_atoms);
}

extern "C" void peek_list_free(peeked_list *list)
{
    free(list->chunk);
    free(list->n);
    free(list->j);
    free(list->allow);
    free(list->atom_of);
    free(list->image);
    *list = peeked_list{};
}

extern "C" void peek_scan(mds_device *d, int rows, size_t n, int32_t *data, int64_t *total)
{
    const size_t size = (size_t)rows * (n + 1);
    gpu_scan     s = {};
    int         *on_device;

    settle(d);
    if (gpu_copy_in(&on_device, data, size) != MDS_OK || GPU_NAME(scan)(d, &s, on_device, rows, n) != MDS_OK) abort();
    settle(d);
    int       *sums = fetch(on_device, size);
    long long *totals = fetch(s.total, (size_t)rows);
    memcpy(data, sums, size * sizeof *data);
    for (int r = 0; r < rows; r++) total[r] = totals[r];
    free(sums);
    free(totals);
    GPU_NAME(release)(on_device);
    GPU_NAME(scan_close)(&s);
}
