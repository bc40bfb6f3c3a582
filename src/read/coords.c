// SPDX-License-Identifier: Apache-2.0
// Help for fixed-column coordinate files: lines, fields, positions that cannot be, names that differ.
//
// A decimal number of at most 15 digits is a whole number divided by a power of ten, both exact in double, so one division
// rounds it as strtod would, at a tenth of the time: a million waters are nine million numbers.
#include "read/coords.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mds_next_line(mds_line_reader *r)
{
    const char *newline;

    if (r->p >= r->end) return false;
    newline = memchr(r->p, '\n', (size_t)(r->end - r->p));
    r->s = r->p;
    r->n = (size_t)((newline ? newline : r->end) - r->p);
    r->p = newline ? newline + 1 : r->end;
    while (r->n && isspace((unsigned char)r->s[r->n - 1])) r->n--;
    r->line++;
    return true;
}

static void trim(const char **s, size_t *n)
{
    while (*n && isspace((unsigned char)**s)) {
        ++*s;
        --*n;
    }
    while (*n && isspace((unsigned char)(*s)[*n - 1])) --*n;
}

/// Anything but plain decimals: exponents, nan, long numbers.
static bool general_number(const char *s, size_t n, double *value)
{
    char buffer[64], *end;

    if (n >= sizeof buffer) return false;
    memcpy(buffer, s, n);
    buffer[n] = '\0';
    *value = strtod(buffer, &end);
    return end > buffer && !*end && end == buffer + n;
}

bool mds_fixed_number(const char *s, size_t n, double *value)
{
    static const double power[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int64_t             digits = 0;
    size_t              k = 0;
    int                 n_digits = 0, decimals = 0;
    bool                negative, point = false;

    trim(&s, &n);
    if (!n) return false;
    negative = s[0] == '-';
    if (s[0] == '-' || s[0] == '+') k++;
    for (; k < n; k++) {
        if (s[k] == '.' && !point) {
            point = true;
        } else if (s[k] >= '0' && s[k] <= '9' && n_digits < 15) {
            digits = 10 * digits + (s[k] - '0');
            n_digits++;
            decimals += point;
        } else {
            return general_number(s, n, value);
        }
    }
    if (!n_digits) return false;
    *value = (double)digits / power[decimals];
    if (negative) *value = -*value;
    return true;
}

bool mds_fixed_integer(const char *s, size_t n, int64_t *value)
{
    size_t k = 0;
    bool   negative;

    trim(&s, &n);
    if (!n || n > 18) return false;
    negative = s[0] == '-';
    if (s[0] == '-' || s[0] == '+') k++;
    if (k == n) return false;
    for (*value = 0; k < n; k++) {
        if (s[k] < '0' || s[k] > '9') return false;
        *value = 10 * *value + (s[k] - '0');
    }
    if (negative) *value = -*value;
    return true;
}

mds_status mds_check_vector(const mds_line_reader *r, const mds_system *system, int32_t atom, const char *what,
                            const double x[3])
{
    const double far = 1e6; // nm, nm/ps: beyond it a float has no digits left behind the point
    char         label[96];

    if (fabs(x[0]) <= far && fabs(x[1]) <= far && fabs(x[2]) <= far) return MDS_OK;
    mds_system_atom_label(system, atom, label, sizeof label);
    MDS_FAIL(MDS_E_INPUT, "%s:%d: the %s of %s is (%g, %g, %g): %s", r->path, r->line, what, label, x[0], x[1], x[2],
             isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]) ? "too large to be right" : "not a number");
}

/// A name without blanks, in capitals, leading digits moved to the end.
static void plain(const char *s, size_t n, char out[8])
{
    size_t digits = 0, k, m = 0;

    trim(&s, &n);
    while (digits < n && isdigit((unsigned char)s[digits])) digits++;
    for (k = 0; k < n && m < 7; k++) out[m++] = (char)toupper((unsigned char)s[(k + digits) % n]);
    out[m] = '\0';
}

static bool same_name(const char *a, size_t n, const char *b)
{
    char p[8], q[8];

    plain(a, n, p);
    plain(b, strlen(b), q);
    return !strcmp(p, q);
}

void mds_name_compare(mds_name_check *check, const mds_system *system, int32_t atom, const char *residue, size_t n_residue,
                      const char *name, size_t n_name, int32_t line)
{
    if (same_name(name, n_name, system->name.atom[atom])) return;
    if (check->n_different++) return;
    trim(&residue, &n_residue);
    trim(&name, &n_name);
    check->first_atom = atom;
    check->first_line = line;
    snprintf(check->first, sizeof check->first, "%.*s %.*s", (int)n_residue, residue, (int)n_name, name);
}

void mds_name_report(const mds_name_check *check, const mds_system *system, const char *path)
{
    char label[96];

    if (!check->n_different) return;
    mds_system_atom_label(system, check->first_atom, label, sizeof label);
    mds_warn("%s: %d of %d atoms have other names than in the topology (atoms are matched by their order); the first: line "
             "%d, %s here, %s there", path, check->n_different, system->n_atoms, check->first_line, check->first, label);
}
