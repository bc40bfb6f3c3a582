// SPDX-License-Identifier: Apache-2.0
// GROMACS coordinates (.gro): title, number of atoms, one line an atom in fixed columns, box.
//
//   columns  0-4 residue number, 5-9 residue, 10-14 atom, 15-19 atom number, then x y z [vx vy vz], all of one width
//
// The width is the distance between the first two decimal points of the first atom line, so any precision reads exactly.
// Numbers of residues and atoms wrap at 99999 and are not looked at: an atom is its place in the file. The box is three
// lengths or nine numbers v1x v2y v3z v1y v1z v2x v2z v3x v3y; where they run together, every number ends as many digits
// after its point as the last one. Source: GROMACS manual 2022, file format gro [gromacs2022].
#include "read/coords.h"

#include <string.h>

enum { FIRST_COLUMN = 20, MAX_WIDTH = 40, MAX_BOX = 9 };

/// Width of the numbers from the points of an atom line, 0 if it has not two.
static size_t number_width(const mds_line_reader *r)
{
    const char *first, *second;

    if (r->n <= FIRST_COLUMN) return 0;
    first = memchr(r->s + FIRST_COLUMN, '.', r->n - FIRST_COLUMN);
    second = first ? memchr(first + 1, '.', (size_t)(r->s + r->n - first - 1)) : NULL;
    return second && second - first <= MAX_WIDTH ? (size_t)(second - first) : 0;
}

/// Three numbers from column `at`; false if the line ends before them.
static mds_status three_numbers(const mds_line_reader *r, size_t at, size_t width, const char *what, double out[3],
                                bool *there)
{
    int k;

    *there = r->n > at;
    if (!*there) return MDS_OK;
    for (k = 0; k < 3; k++) {
        const size_t from = at + (size_t)k * width, n = r->n > from ? r->n - from : 0;

        MDS_CHECK(mds_fixed_number(r->s + (n ? from : 0), n < width ? n : width, &out[k]), MDS_E_INPUT,
                  "%s:%d: %s %d of the atom, columns %zu to %zu, is not a number", r->path, r->line, what, k + 1, from + 1,
                  from + width);
    }
    return MDS_OK;
}

static mds_status read_atoms(mds_line_reader *r, const mds_system *system, mds_state *state)
{
    mds_name_check check = {0};
    size_t         width = 0;
    int32_t        i;
    bool           has_x, has_v;

    for (i = 0; i < state->n_atoms; i++) {
        MDS_CHECK(mds_next_line(r), MDS_E_INPUT, "%s:%d: the file ends after %d of %d atoms", r->path, r->line, i,
                  state->n_atoms);
        if (!i) {
            width = number_width(r);
            MDS_CHECK(width, MDS_E_INPUT, "%s:%d: not an atom line of a .gro: no two decimal points after column 20", r->path,
                      r->line);
        }
        MDS_TRY(three_numbers(r, FIRST_COLUMN, width, "coordinate", state->x[i], &has_x));
        MDS_CHECK(has_x, MDS_E_INPUT, "%s:%d: atom %d of %d has no coordinates", r->path, r->line, i + 1, state->n_atoms);
        MDS_TRY(mds_check_vector(r, system, i, "position", state->x[i]));
        MDS_TRY(three_numbers(r, FIRST_COLUMN + 3 * width, width, "velocity", state->v[i], &has_v));
        if (!i) state->has_velocities = has_v;
        MDS_CHECK(has_v == state->has_velocities, MDS_E_INPUT, "%s:%d: atom %d has %s velocity, unlike the atoms before it",
                  r->path, r->line, i + 1, has_v ? "a" : "no");
        if (has_v) MDS_TRY(mds_check_vector(r, system, i, "velocity", state->v[i]));
        mds_name_compare(&check, system, i, r->s + 5, 5, r->s + 10, 5, r->line);
    }
    mds_name_report(&check, system, r->path);
    return MDS_OK;
}

/// Box numbers separated by blanks; -1 if a field is no number or there are more than nine.
static int separated_numbers(const mds_line_reader *r, double *v)
{
    size_t k = 0;
    int    n = 0;

    for (;;) {
        size_t first;

        while (k < r->n && (r->s[k] == ' ' || r->s[k] == '\t')) k++;
        if (k == r->n) return n;
        for (first = k; k < r->n && r->s[k] != ' ' && r->s[k] != '\t';) k++;
        if (n == MAX_BOX || !mds_fixed_number(r->s + first, k - first, &v[n++])) return -1;
    }
}

/// Box numbers that run together: all with the decimals of the last one.
static int joined_numbers(const mds_line_reader *r, double *v)
{
    size_t from = 0, decimals = 0, k;
    int    n = 0;

    while (decimals < r->n && r->s[r->n - 1 - decimals] != '.') decimals++;
    for (k = 0; k < r->n; k++) {
        if (r->s[k] != '.') continue;
        if (n == MAX_BOX || k + decimals >= r->n || !mds_fixed_number(r->s + from, k + decimals + 1 - from, &v[n++])) return -1;
        from = k + decimals + 1;
    }
    return from == r->n ? n : -1;
}

static mds_status read_box(mds_line_reader *r, mds_box *box)
{
    // where the number k of the file stands in the matrix whose rows are the vectors
    static const int place[MAX_BOX] = {0, 4, 8, 1, 2, 3, 5, 6, 7};
    double           v[MAX_BOX];
    int              n, k;

    memset(box, 0, sizeof *box);
    MDS_CHECK(mds_next_line(r), MDS_E_INPUT, "%s:%d: the file ends before the line with the box", r->path, r->line);
    n = separated_numbers(r, v);
    if (n != 3 && n != MAX_BOX) n = joined_numbers(r, v);
    MDS_CHECK(n == 3 || n == MAX_BOX, MDS_E_INPUT, "%s:%d: the box must be 3 or 9 numbers, got: %.*s", r->path, r->line,
              (int)(r->n < 200 ? r->n : 200), r->s);
    for (k = 0; k < n; k++) box->a[place[k] / 3][place[k] % 3] = v[k];
    return MDS_OK;
}

static mds_status read_gro(mds_line_reader *r, const mds_system *system, mds_state *state)
{
    int64_t n;

    MDS_CHECK(mds_next_line(r) && mds_next_line(r), MDS_E_INPUT, "%s:%d: the file ends before the number of atoms", r->path,
              r->line);
    MDS_CHECK(mds_fixed_integer(r->s, r->n, &n), MDS_E_INPUT, "%s:%d: the second line of a .gro is the number of atoms, got: %.*s",
              r->path, r->line, (int)(r->n < 100 ? r->n : 100), r->s);
    MDS_CHECK(n == system->n_atoms, MDS_E_INPUT, "%s:%d: %lld atoms, but the topology has %d", r->path, r->line, (long long)n,
              system->n_atoms);
    MDS_TRY(read_atoms(r, system, state));
    MDS_TRY(read_box(r, &state->box));
    while (mds_next_line(r))
        if (r->n) {
            mds_warn("%s:%d: more lines follow the box; only the first frame is read", r->path, r->line);
            break;
        }
    return MDS_OK;
}

mds_status mds_read_gro(const char *path, const mds_system *system, mds_state *state)
{
    mds_line_reader reader = {.path = path};
    char           *text;
    size_t          n;
    mds_status      status;

    MDS_TRY(mds_file_read(path, &text, &n));
    reader.p = text;
    reader.end = text + n;
    status = read_gro(&reader, system, state);
    mds_free(text);
    return status;
}
