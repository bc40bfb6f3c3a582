// SPDX-License-Identifier: Apache-2.0
// Read a system: which reader, which box, which reference positions, and what was read, in words.
//
// The content of a file decides what it is; the end of its name is asked only where the content leaves it open.
#include "read/read.h"

#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum { FORMAT_UNKNOWN, FORMAT_GRO, FORMAT_PDB, FORMAT_INPCRD, FORMAT_NETCDF, FORMAT_PRMTOP, FORMAT_TOP } format;

static const char *const format_names[] = {"unknown", "gro", "PDB", "AMBER inpcrd", "AMBER netCDF restart", "AMBER prmtop",
                                           "GROMACS"};

enum { HEAD = 4096 };

/// The first bytes of a file as text; *n of them. Errors: MDS_E_MISSING, MDS_E_INPUT.
static mds_status file_head(const char *path, char text[HEAD + 1], size_t *n)
{
    FILE *file = fopen(path, "rb");
    int   bad;

    MDS_CHECK(file, errno == ENOENT || errno == ENOTDIR ? MDS_E_MISSING : MDS_E_INPUT, "%s: cannot open: %s", path,
              strerror(errno));
    *n = fread(text, 1, HEAD, file);
    text[*n] = '\0';
    bad = ferror(file);
    fclose(file);
    MDS_CHECK(!bad, MDS_E_INPUT, "%s: is not a file that can be read", path);
    return MDS_OK;
}

static bool name_ends(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    size_t       k;

    if (n < m) return false;
    for (k = 0; k < m; k++)
        if (tolower((unsigned char)path[n - m + k]) != end[k]) return false;
    return true;
}

/// True if the text begins with one of the records that open a PDB file.
static bool looks_like_pdb(const char *text)
{
    static const char *const records[] = {"HEADER", "TITLE ", "CRYST1", "REMARK", "ATOM  ", "HETATM", "MODEL ", "COMPND", "AUTHOR"};
    size_t k;

    for (k = 0; k < sizeof records / sizeof records[0]; k++)
        if (!strncmp(text, records[k], 6)) return true;
    return false;
}

/// .gro and inpcrd both begin with a title and a number; their third lines differ.
static format from_third_line(const char *text)
{
    const char *second = strchr(text, '\n'), *third = second ? strchr(second + 1, '\n') : NULL;
    size_t      n, k;

    if (!third) return FORMAT_UNKNOWN;
    for (second++; *second == ' '; second++)
        continue;
    if (!isdigit((unsigned char)*second)) return FORMAT_UNKNOWN;
    third++;
    n = strcspn(third, "\n");
    for (k = 5; k < n && k < 15; k++)
        if (isalpha((unsigned char)third[k]) && toupper((unsigned char)third[k]) != 'E') return FORMAT_GRO;
    for (k = 0; k < n; k++)
        if (!strchr("0123456789+-.eE* \tnaNAifIF\r", third[k])) return FORMAT_GRO;
    return FORMAT_INPCRD;
}

bool mds_is_netcdf(const char *path)
{
    static const unsigned char hdf5[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char              head[8] = {0};
    FILE                      *file = fopen(path, "rb");
    size_t                     n;

    if (!file) return false;
    n = fread(head, 1, sizeof head, file);
    (void)fclose(file);
    if (n >= 4 && !memcmp(head, "CDF", 3)) return head[3] == 1 || head[3] == 2 || head[3] == 5;
    return n == 8 && !memcmp(head, hdf5, 8);
}

static mds_status coordinates_format(const char *path, format *out)
{
    char   text[HEAD + 1];
    size_t n;

    MDS_TRY(file_head(path, text, &n));
    if (mds_is_netcdf(path))
        *out = FORMAT_NETCDF;
    else if (looks_like_pdb(text) || name_ends(path, ".pdb") || name_ends(path, ".ent"))
        *out = FORMAT_PDB;
    else if (name_ends(path, ".gro"))
        *out = FORMAT_GRO;
    else if (name_ends(path, ".inpcrd") || name_ends(path, ".rst7") || name_ends(path, ".restrt"))
        *out = FORMAT_INPCRD;
    else
        *out = from_third_line(text);
    MDS_CHECK(*out != FORMAT_UNKNOWN, MDS_E_INPUT,
              "%s: not coordinates that mdsim reads: .gro, .pdb, AMBER inpcrd, rst7 or netCDF restart", path);
    return MDS_OK;
}

static mds_status topology_format(const char *path, format *out)
{
    char        text[HEAD + 1];
    const char *s;
    size_t      n;

    MDS_TRY(file_head(path, text, &n));
    for (s = text; isspace((unsigned char)*s);) s++;
    if (!strncmp(s, "%VERSION", 8) || !strncmp(s, "%FLAG", 5))
        *out = FORMAT_PRMTOP;
    else
        *out = name_ends(path, ".prmtop") || name_ends(path, ".parm7") ? FORMAT_PRMTOP : FORMAT_TOP;
    if (!strncmp(s, "PSF", 3) || memchr(text, '\0', n)) *out = FORMAT_UNKNOWN;
    MDS_CHECK(*out != FORMAT_UNKNOWN, MDS_E_INPUT, "%s: not a topology that mdsim reads: GROMACS .top or AMBER prmtop", path);
    return MDS_OK;
}

static mds_status read_coordinates(const mds_read_request *request, const char *path, const mds_system *system,
                                   mds_state *state, format *kind)
{
    MDS_TRY(coordinates_format(path, kind));
    MDS_TRY(mds_state_init(state, system->n_atoms));
    switch (*kind) {
    case FORMAT_GRO: return mds_read_gro(path, system, state);
    case FORMAT_PDB: return mds_read_pdb(path, system, state);
    case FORMAT_NETCDF: return mds_read_ncrst(path, system, state);
    default: return mds_read_inpcrd(path, system, request->inpcrd_extra, state);
    }
}

static bool box_is_zero(const mds_box *box)
{
    int k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++)
            if (box->a[k][l] != 0) return false;
    return true;
}

static mds_status reduce_box(const char *path, mds_state *state)
{
    mds_status status;

    if (box_is_zero(&state->box)) return MDS_OK;
    status = mds_box_reduce(&state->box, state->x, state->v, state->n_atoms);
    if (status != MDS_OK) mds_error_prefix("%s: ", path);
    return status;
}

mds_status mds_set_restraint_reference(mds_system *system, const double (*x)[3])
{
    mds_terms *t = &system->term[MDS_TERM_RESTRAINT];
    const int  n_params = mds_term_table[MDS_TERM_RESTRAINT].n_params;
    int32_t    k;
    int        d;

    for (k = 0; k < t->n; k++)
        for (d = 0; d < 3; d++) t->param[(size_t)k * (size_t)n_params + (size_t)d] = x[t->atom[k]][d];
    return MDS_OK;
}

/// Reference positions from their own file, or the start.
static mds_status set_reference(const mds_read_request *request, mds_system *system, const mds_state *state)
{
    mds_state  reference = {0};
    format     kind;
    mds_status status;

    if (!request->restraint_reference) return mds_set_restraint_reference(system, (const double(*)[3])state->x);
    if (!system->term[MDS_TERM_RESTRAINT].n)
        mds_warn("%s: a restraint reference is given, but the topology has no position restraints",
                 request->restraint_reference);
    status = read_coordinates(request, request->restraint_reference, system, &reference, &kind);
    // a frame that had to turn with its box turns the same way here
    if (status == MDS_OK && !box_is_zero(&reference.box)) status = reduce_box(request->restraint_reference, &reference);
    if (status == MDS_OK) status = mds_set_restraint_reference(system, (const double(*)[3])reference.x);
    mds_state_free(&reference);
    return status;
}

static void report_state(const mds_read_request *request, const mds_system *system, const mds_state *state, format kind,
                         mds_read_report *report)
{
    const double(*h)[3] = state->box.a;
    double   length[3], angle[3];
    mds_text text = {0};
    int      k;

    if (report->text) mds_text_add(&text, "%s", report->text);
    mds_text_add(&text, "coordinates: %s (%s), %d atoms, %d residues, %d molecules, %s velocities\n", request->coordinates,
                 format_names[kind], system->n_atoms, system->name.n_residues, system->n_molecules,
                 state->has_velocities ? "with" : "without");
    if (box_is_zero(&state->box)) {
        mds_text_add(&text, "box: none (vacuum)\n");
    } else {
        for (k = 0; k < 3; k++) length[k] = mds_norm(h[k]);
        for (k = 0; k < 3; k++)
            angle[k] = acos(mds_dot(h[(k + 1) % 3], h[(k + 2) % 3]) / (length[(k + 1) % 3] * length[(k + 2) % 3])) * 180 / MDS_PI;
        mds_text_add(&text, "box: %.5f %.5f %.5f nm, angles %.4f %.4f %.4f degrees, from the %s\n", length[0], length[1],
                     length[2], angle[0], angle[1], angle[2], report->box_from_topology ? "topology" : "coordinates");
    }
    if (text.failed) {
        mds_text_free(&text);
        return;
    }
    mds_free(report->text);
    report->text = text.s;
}

mds_status mds_read(const mds_read_request *request, mds_system *system, mds_state *state, mds_read_report *report)
{
    mds_box topology_box = {0};
    format  kind;

    memset(report, 0, sizeof *report);
    MDS_CHECK(request->topology, MDS_E_INPUT, "no topology is given");
    MDS_CHECK(request->coordinates, MDS_E_INPUT, "no coordinates are given");
    MDS_TRY(topology_format(request->topology, &kind));
    report->is_amber = kind == FORMAT_PRMTOP;
    MDS_TRY(report->is_amber ? mds_read_prmtop(request, system, &topology_box, report)
                             : mds_read_top(request, system, report));
    MDS_TRY(read_coordinates(request, request->coordinates, system, state, &kind));
    if (box_is_zero(&state->box) && kind != FORMAT_GRO && !box_is_zero(&topology_box)) {
        state->box = topology_box; // a .gro always says its box, so its zeros mean none
        report->box_from_topology = true;
    }
    if (box_is_zero(&state->box) && report->box_expected)
        mds_warn("%s: a periodic system (IFBOX), but neither it nor the coordinates give a whole box: give one by system.box, or "
                 "it runs in vacuum",
                 request->topology);
    MDS_TRY(reduce_box(report->box_from_topology ? request->topology : request->coordinates, state));
    if (!request->read_velocities && state->has_velocities) {
        memset(state->v, 0, (size_t)state->n_atoms * sizeof *state->v);
        state->has_velocities = false;
    }
    MDS_TRY(set_reference(request, system, state));
    report_state(request, system, state, kind, report);
    return MDS_OK;
}

void mds_read_report_free(mds_read_report *report)
{
    mds_free(report->text);
    memset(report, 0, sizeof *report);
}
