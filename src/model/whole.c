// SPDX-License-Identifier: Apache-2.0
// Molecules made whole: files may cut them at the box, positions here are continuous.
//
// Breadth first from the first atom of every connected part over bonds, constraints and virtual sites; each atom goes to
// the image nearest to the neighbour it is reached from. A molecule that is its own periodic image (a crystal's network)
// keeps one seam; every bonded term takes the nearest image itself, so no number depends on it.
#include "model/model.h"

#include <string.h>

/// Neighbours of each atom: rows [start[i], start[i+1]) of `to`.
typedef struct {
    int32_t *start, *to;
} graph;

/// Call visit for every edge.
static void edges(const mds_system *s, graph *g, bool fill)
{
    static const mds_term_kind kinds[] = {MDS_TERM_BOND, MDS_TERM_BOND_G96, MDS_TERM_BOND_MORSE};
    int32_t                    row, k;
    size_t                     kind;

#define EDGE(a, b)                                                                                           \
    do {                                                                                                     \
        if (fill) {                                                                                          \
            g->to[g->start[(a) + 1]++] = (b);                                                                \
            g->to[g->start[(b) + 1]++] = (a);                                                                \
        } else {                                                                                             \
            g->start[(a) + 2]++;                                                                             \
            g->start[(b) + 2]++;                                                                             \
        }                                                                                                    \
    } while (0)
    for (kind = 0; kind < 3; kind++)
        for (row = 0; row < s->term[kinds[kind]].n; row++)
            EDGE(s->term[kinds[kind]].atom[2 * row], s->term[kinds[kind]].atom[2 * row + 1]);
    for (row = 0; row < s->constraint.n; row++) EDGE(s->constraint.atom[2 * row], s->constraint.atom[2 * row + 1]);
    for (row = 0; row < s->vsite.n; row++)
        for (k = s->vsite.start[row]; k < s->vsite.start[row + 1]; k++) EDGE(s->vsite.site[row], s->vsite.atom[k]);
#undef EDGE
}

mds_status mds_state_make_whole(const mds_system *s, mds_state *state)
{
    const size_t n = (size_t)s->n_atoms;
    graph        g = {0};
    int32_t     *queue = NULL, i, k, head, tail;
    bool        *seen = NULL;
    mds_status   status;

    if (mds_box_is_none(&state->box)) return MDS_OK;
    MDS_TRY_GOTO(mds_alloc(&g.start, n + 2, sizeof *g.start));
    edges(s, &g, false);
    for (i = 0; i < s->n_atoms; i++) g.start[i + 2] += g.start[i + 1];
    MDS_TRY_GOTO(mds_alloc(&g.to, (size_t)g.start[n + 1], sizeof *g.to));
    edges(s, &g, true); // start[i + 1] runs from the start of row i to its end
    MDS_TRY_GOTO(mds_alloc(&queue, n, sizeof *queue));
    MDS_TRY_GOTO(mds_alloc(&seen, n, sizeof *seen));
    for (i = 0; i < s->n_atoms; i++) {
        if (seen[i]) continue;
        head = tail = 0;
        queue[tail++] = i;
        seen[i] = true;
        while (head < tail) {
            const int32_t a = queue[head++];

            for (k = g.start[a]; k < g.start[a + 1]; k++) {
                const int32_t b = g.to[k];
                double        d[3], whole[3];
                int           c;

                if (seen[b]) continue;
                seen[b] = true;
                queue[tail++] = b;
                for (c = 0; c < 3; c++) d[c] = whole[c] = state->x[b][c] - state->x[a][c];
                mds_box_nearest(&state->box, whole);
                if (memcmp(d, whole, sizeof d))
                    for (c = 0; c < 3; c++) state->x[b][c] = state->x[a][c] + whole[c];
            }
        }
    }
fail:
    mds_free(g.start);
    mds_free(g.to);
    mds_free(queue);
    mds_free(seen);
    return status;
}
