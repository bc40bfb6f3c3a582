// SPDX-License-Identifier: Apache-2.0
// AMBER coordinates and restarts as text: inpcrd, rst7, restrt.
//
// Title, then "NATOM [time]", then blocks of 6F12.7: coordinates (A), perhaps velocities (A per 1/20.455 ps), perhaps one line
// with the box: three lengths and three angles, or lengths alone. Fields are twelve characters and may touch
// (-100.1234567), so they are cut by column. Nothing in the file says which blocks it has; with L = ceil(3 N / 6) lines
// for the coordinates the number of lines does:
//   L   x        L + 1   x, box        2 L   x, v        2 L + 1   x, v, box
// With one or two atoms L = 1, so a single further line is velocities or box; only the user can say (system.inpcrd_extra).
// Format: AMBER's file format description [amberformats].
#include "read/prmtop.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 12, PER_LINE = 6 };

static const double velocity_unit = 20.455;   // AMBER's time unit is 1/20.455 ps
static const double largest_position = 1e6;   // nm, 1 mm: beyond it a file is corrupt, not large

mds_status mds_amber_check_value(const char *path, int32_t line, const mds_system *system, int64_t k, const char *what,
                                 double value)
{
    char label[64], where[32] = "";

    if (isfinite(value) && fabs(value) <= largest_position) return MDS_OK;
    mds_system_atom_label(system, (int32_t)(k / 3), label, sizeof label);
    if (line) snprintf(where, sizeof where, ":%d", line);
    MDS_FAIL(MDS_E_INPUT, "%s%s: %s %c of %s is %g%s", path, where, what, "xyz"[k % 3], label, value,
             isfinite(value) ? " (nm, ps): no sane file holds that" : "");
}

/// The text cut into lines.
typedef struct {
    const char  *path;
    char        *text;
    const char **line;   // [n]
    int32_t     *length; // [n] without blanks at the end
    int32_t      n;      // without empty lines at the end of the file
    size_t       cap_line, cap_length;
} crd_lines;

static mds_status cut_lines(const char *path, crd_lines *c)
{
    const char *at, *end;
    size_t      n;

    c->path = path;
    MDS_TRY(mds_file_read(path, &c->text, &n));
    end = c->text + n;
    for (at = c->text; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
        size_t      m = (size_t)((stop ? stop : end) - at);

        MDS_CHECK(c->n < INT32_MAX - 1 && m < INT32_MAX, MDS_E_INPUT, "%s: too many lines", path);
        while (m && isspace((unsigned char)at[m - 1])) m--;
        MDS_TRY(mds_grow(&c->line, &c->cap_line, (size_t)c->n + 1, sizeof *c->line));
        MDS_TRY(mds_grow(&c->length, &c->cap_length, (size_t)c->n + 1, sizeof *c->length));
        c->line[c->n] = at;
        c->length[c->n++] = (int32_t)m;
        at = next;
    }
    while (c->n > 2 && !c->length[c->n - 1]) c->n--;
    return MDS_OK;
}

static void free_lines(crd_lines *c)
{
    mds_free(c->text);
    mds_free(c->line);
    mds_free(c->length);
}

/// Field k of a line, A.
static mds_status read_field(const crd_lines *c, int32_t line, int k, double *out)
{
    const int32_t from = k * WIDTH, length = c->length[line] - from;
    char          field[WIDTH + 1], *end;
    int           n = length < WIDTH ? (length > 0 ? length : 0) : WIDTH, first = 0;

    memcpy(field, c->line[line] + (n ? from : 0), (size_t)n);
    while (n && isspace((unsigned char)field[n - 1])) n--;
    field[n] = '\0';
    while (isspace((unsigned char)field[first])) first++;
    MDS_CHECK(first < n, MDS_E_INPUT, "%s:%d: number %d of this line is missing", c->path, line + 1, k + 1);
    MDS_CHECK(!strchr(field, '*'), MDS_E_INPUT, "%s:%d: number %d of this line overflowed its 12 columns (%s)", c->path, line + 1,
              k + 1, field + first);
    *out = strtod(field + first, &end);
    MDS_CHECK(end == field + n && !strpbrk(field, "xX"), MDS_E_INPUT,
              "%s:%d: \"%s\" (columns %d to %d) is not a number: numbers have 12 columns each, blanks between or not", c->path,
              line + 1, field + first, from + 1, from + WIDTH);
    MDS_CHECK(strchr(field, '.') || *out == 0 || !isfinite(*out), MDS_E_INPUT,
              "%s:%d: \"%s\" has no decimal point: AMBER would put one before its last seven digits; write one", c->path,
              line + 1, field + first);
    return MDS_OK;
}

/// A block of 3 n_atoms values from `first` on, times `unit`.
static mds_status read_block(const crd_lines *c, int32_t first, const mds_system *system, const char *what, double unit,
                             double (*out)[3])
{
    const int64_t n = 3 * (int64_t)system->n_atoms;
    int64_t       k;

    for (k = 0; k < n; k++) {
        const int32_t line = first + (int32_t)(k / PER_LINE);
        const int64_t left = n - k + k % PER_LINE;

        if (k % PER_LINE == 0)
            MDS_CHECK(c->length[line] <= WIDTH * (left < PER_LINE ? left : PER_LINE), MDS_E_INPUT,
                      "%s:%d: more than %d numbers of 12 columns", c->path, line + 1, (int)(left < PER_LINE ? left : PER_LINE));
        MDS_TRY(read_field(c, line, (int)(k % PER_LINE), &out[k / 3][k % 3]));
        out[k / 3][k % 3] *= unit;
        MDS_TRY(mds_amber_check_value(c->path, line + 1, system, k, what, out[k / 3][k % 3]));
    }
    return MDS_OK;
}

/// Lengths and angles, or lengths alone: 90 degrees.
static mds_status read_box(const crd_lines *c, int32_t line, mds_box *box)
{
    const int n = (c->length[line] + WIDTH - 1) / WIDTH;
    double    length[3], angle[3] = {90, 90, 90};
    int       k;

    MDS_CHECK(n == 3 || n == 6, MDS_E_INPUT, "%s:%d: a box line holds three lengths or three lengths and three angles, not %d "
              "numbers", c->path, line + 1, n);
    for (k = 0; k < n; k++) {
        MDS_TRY(read_field(c, line, k, k < 3 ? &length[k] : &angle[k - 3]));
        if (k < 3) length[k] *= 0.1;
    }
    if (length[0] == 0 && length[1] == 0 && length[2] == 0) return MDS_OK; // some tools write zeros for "no box"
    if (mds_box_from_lengths(length, angle, box) == MDS_OK) return MDS_OK;
    mds_error_prefix("%s:%d: ", c->path, line + 1);
    return MDS_E_INPUT;
}

typedef struct {
    bool velocities, box;
} crd_layout;

static mds_status find_layout(const crd_lines *c, int32_t n_atoms, int extra, crd_layout *out)
{
    const int32_t block = (n_atoms + 1) / 2, have = c->n - 2;

    MDS_CHECK(have >= block, MDS_E_INPUT, "%s: ends in line %d: %d atoms need %d lines of coordinates", c->path, c->n, n_atoms,
              block);
    out->velocities = have == 2 * block || have == 2 * block + 1;
    out->box = have == block + 1 || have == 2 * block + 1;
    MDS_CHECK(have == block || out->velocities || out->box, MDS_E_INPUT,
              "%s: %d lines after the second; %d atoms take %d (positions), %d (and box), %d (and velocities) or %d (all)", c->path,
              have, n_atoms, block, block + 1, 2 * block, 2 * block + 1);
    if (!(out->velocities && out->box && have == 2)) return MDS_OK;
    if (n_atoms == 1 && c->length[3] > 3 * WIDTH) { // one velocity has three numbers
        out->velocities = false;
        return MDS_OK;
    }
    MDS_CHECK(extra == 1 || extra == 2, MDS_E_INPUT,
              "%s:4: with %d atom%s this line may be velocities or the box; say which with the key system.inpcrd_extra = "
              "\"velocities\" or \"box\"",
              c->path, n_atoms, n_atoms > 1 ? "s" : "");
    out->velocities = extra == 1;
    out->box = extra == 2;
    return MDS_OK;
}

/// "NATOM [time [temperature]]".
static mds_status read_counts(const crd_lines *c, const mds_system *system, double *time)
{
    char  head[128], *end, *end_time;
    long  n;
    int   length = c->n >= 2 ? c->length[1] : 0;

    if (length > (int)sizeof head - 1) length = (int)sizeof head - 1;
    memcpy(head, length ? c->line[1] : "", (size_t)length);
    head[length] = '\0';
    n = strtol(head, &end, 10);
    MDS_CHECK(c->n >= 2 && end != head && (!*end || isspace((unsigned char)*end)) && n > 0, MDS_E_INPUT,
              "%s:2: the number of atoms is expected here", c->path);
    MDS_CHECK(n == system->n_atoms, MDS_E_INPUT, "%s:2: %ld atoms, the topology has %d", c->path, n, system->n_atoms);
    *time = strtod(end, &end_time);
    if (end_time == end || !isfinite(*time)) *time = 0;
    return MDS_OK;
}

mds_status mds_read_inpcrd(const char *path, const mds_system *system, int extra, mds_state *state)
{
    const int32_t block = (system->n_atoms + 1) / 2;
    crd_lines     c = {0};
    crd_layout    layout = {false, false};
    mds_status    status;

    MDS_ASSERT(state->n_atoms == system->n_atoms);
    MDS_TRY_GOTO(cut_lines(path, &c));
    MDS_TRY_GOTO(read_counts(&c, system, &state->time));
    MDS_TRY_GOTO(find_layout(&c, system->n_atoms, extra, &layout));
    MDS_TRY_GOTO(read_block(&c, 2, system, "position", 0.1, state->x));
    if (layout.velocities) {
        MDS_TRY_GOTO(read_block(&c, 2 + block, system, "velocity", 0.1 * velocity_unit, state->v));
        state->has_velocities = true;
    }
    if (layout.box) MDS_TRY_GOTO(read_box(&c, c.n - 1, &state->box));
fail:
    free_lines(&c);
    return status;
}
