// SPDX-License-Identifier: Apache-2.0
// Coordinates from PDB files: ATOM and HETATM of the first model, box from CRYST1. Angstrom become nm.
//
// Atoms are matched by their order; serial and residue numbers may wrap, be hexadecimal or hybrid-36 and are not looked
// at, except that a change of residue number, letter, chain or name begins a residue. Of alternate locations the first
// of each atom name in a residue is taken. CRYST1 with lengths of 1 Angstrom, which stands in files without crystal, is
// no box. Source: wwPDB format 3.30, "Coordinate Section" [wwpdb2012].
#include "read/coords.h"

#include <math.h>
#include <string.h>

enum { MAX_NAMES = 1000 };

/// Names seen with an alternate location in the residue at hand.
typedef struct {
    char residue[11]; // name, chain, number, insertion letter: columns 18-27
    char name[MAX_NAMES][4];
    int  n;
} alternates;

/// True if the atom is a second location of an atom that was taken.
static bool is_second_location(alternates *a, const char *line)
{
    int k;

    // residue names may differ between locations, so the chain and number decide
    if (memcmp(a->residue, line + 21, 6)) {
        memcpy(a->residue, line + 21, 6);
        a->n = 0;
    }
    if (line[16] == ' ') return false;
    for (k = 0; k < a->n; k++)
        if (!memcmp(a->name[k], line + 12, 4)) return true;
    if (a->n < MAX_NAMES) memcpy(a->name[a->n++], line + 12, 4);
    return false;
}

static bool begins(const mds_line_reader *r, const char *word)
{
    return r->n >= strlen(word) && !memcmp(r->s, word, strlen(word));
}

static mds_status read_atom(mds_line_reader *r, const mds_system *system, int32_t i, mds_state *state)
{
    int k;

    for (k = 0; k < 3; k++) {
        const size_t from = 30 + 8 * (size_t)k;

        MDS_CHECK(r->n > from && mds_fixed_number(r->s + from, r->n - from < 8 ? r->n - from : 8, &state->x[i][k]),
                  MDS_E_INPUT, "%s:%d: coordinate %d, columns %zu to %zu, is not a number", r->path, r->line, k + 1, from + 1,
                  from + 8);
        state->x[i][k] /= 10;
    }
    return mds_check_vector(r, system, i, "position", state->x[i]);
}

static mds_status read_cell(mds_line_reader *r, mds_box *box)
{
    static const size_t start[6] = {6, 15, 24, 33, 40, 47}, width[6] = {9, 9, 9, 7, 7, 7};
    double              v[6], length[3];
    int                 k;
    mds_status          status;

    for (k = 0; k < 6; k++)
        MDS_CHECK(r->n > start[k] &&
                      mds_fixed_number(r->s + start[k], r->n - start[k] < width[k] ? r->n - start[k] : width[k], &v[k]),
                  MDS_E_INPUT, "%s:%d: number %d of CRYST1 is not a number", r->path, r->line, k + 1);
    memset(box, 0, sizeof *box);
    if (v[0] <= 1 && v[1] <= 1 && v[2] <= 1 && v[0] >= 0 && v[1] >= 0 && v[2] >= 0) return MDS_OK;
    for (k = 0; k < 3; k++) length[k] = v[k] / 10;
    status = mds_box_from_lengths(length, v + 3, box);
    if (status != MDS_OK) mds_error_prefix("%s:%d: ", r->path, r->line);
    return status;
}

static mds_status read_pdb(mds_line_reader *r, alternates *seen, const mds_system *system, mds_state *state)
{
    mds_name_check check = {0};
    int32_t        i = 0, extra = 0;

    while (mds_next_line(r)) {
        char line[28];

        if (begins(r, "CRYST1")) MDS_TRY(read_cell(r, &state->box));
        if (i && (begins(r, "ENDMDL") || begins(r, "MODEL ") || (begins(r, "END") && r->n == 3))) break;
        if (!begins(r, "ATOM  ") && !begins(r, "HETATM")) continue;
        memset(line, ' ', sizeof line);
        memcpy(line, r->s, r->n < sizeof line ? r->n : sizeof line);
        if (is_second_location(seen, line)) continue;
        if (i == system->n_atoms) {
            extra++;
            continue;
        }
        MDS_TRY(read_atom(r, system, i, state));
        mds_name_compare(&check, system, i, line + 17, 4, line + 12, 4, r->line);
        i++;
    }
    MDS_CHECK(i == system->n_atoms && !extra, MDS_E_INPUT, "%s: %d atoms, but the topology has %d", r->path, i + extra,
              system->n_atoms);
    mds_name_report(&check, system, r->path);
    return MDS_OK;
}

mds_status mds_read_pdb(const char *path, const mds_system *system, mds_state *state)
{
    mds_line_reader reader = {.path = path};
    alternates     *seen = NULL;
    char           *text;
    size_t          n;
    mds_status      status;

    MDS_TRY(mds_file_read(path, &text, &n));
    reader.p = text;
    reader.end = text + n;
    status = mds_alloc(&seen, 1, sizeof *seen);
    if (status == MDS_OK) status = read_pdb(&reader, seen, system, state);
    mds_free(seen);
    mds_free(text);
    return status;
}
