// SPDX-License-Identifier: Apache-2.0
// The AMBER systems of the reference set: counts from their POINTERS, charges, boxes, bonded and 1-4 energies.
#include "read/read.h"
#include "test.h"

#include "base/units.h"
#include "base/vec.h"

typedef struct {
    const char *name;
    int32_t     n_atoms, n_residues, n_sites, n_bonds, n_angles; // bonds without those to extra points
    double      charge;                                          // e
    double      box[3];                                          // diagonal after reduction, nm
    bool        c4;
} reference;

static const reference systems[] = {
    {"water216_amber", 648, 216, 0, 648, 0, 0, {1.8774349, 1.8774349, 1.8774349}, false},
    {"alanine_dipeptide_amber", 2269, 752, 0, 2268, 36, 0, {3.2852863, 3.2861648, 3.1855098}, false},
    {"dna_dodecamer_amber", 13646, 4320, 0, 13704, 1476, -22, {5.0172205, 5.2874394, 6.9403796}, false},
    {"mg_water_amber", 2164, 722, 0, 2163, 0, 2, {2.8167360, 2.8112802, 2.7590664}, true},
    {"peptide_tip4p_amber", 85, 17, 15, 69, 42, -1, {1.30633205, 1.2316, 1.0666}, false},
};

/// The number after "key": in the "tight" case of a reference.json; 0 if absent.
static double from_json(const char *text, const char *key)
{
    const char *at = strstr(text, "\"tight\""), *end = at ? strstr(at, "\"virial_kJ_mol\"") : NULL;
    char        quoted[64];

    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    at = at ? strstr(at, quoted) : NULL;
    return at && at < end ? strtod(at + strlen(quoted), NULL) : 0;
}

static void difference(const double a[3], const double b[3], double out[3])
{
    for (int d = 0; d < 3; d++) out[d] = b[d] - a[d];
}

static double angle_of(const double (*x)[3], const int32_t *a)
{
    double u[3], v[3];

    difference(x[a[1]], x[a[0]], u);
    difference(x[a[1]], x[a[2]], v);
    return acos(mds_dot(u, v) / mds_norm(u) / mds_norm(v));
}

static double dihedral_of(const double (*x)[3], const int32_t *a)
{
    double u[3], v[3], w[3], m[3], n[3], c[3];

    difference(x[a[0]], x[a[1]], u);
    difference(x[a[1]], x[a[2]], v);
    difference(x[a[2]], x[a[3]], w);
    mds_cross(u, v, m);
    mds_cross(v, w, n);
    mds_cross(m, n, c);
    return atan2(mds_dot(c, v) / mds_norm(v), mds_dot(m, n));
}

/// Energy of all terms of one kind, straight from the formulas in model.h; molecules are whole in these files, kJ/mol.
static double energy_of(const mds_system *s, const double (*x)[3], mds_term_kind kind, bool coulomb)
{
    const mds_terms *t = &s->term[kind];
    const int        na = mds_term_table[kind].n_atoms, np = mds_term_table[kind].n_params;
    double           sum = 0;

    for (int32_t k = 0; k < t->n; k++) {
        const int32_t *a = t->atom + (size_t)k * (size_t)na;
        const double  *p = t->param + (size_t)k * (size_t)np;
        double         d[3], r;

        switch (kind) {
        case MDS_TERM_BOND:
            difference(x[a[0]], x[a[1]], d);
            sum += 0.5 * p[1] * (mds_norm(d) - p[0]) * (mds_norm(d) - p[0]);
            break;
        case MDS_TERM_ANGLE: sum += 0.5 * p[1] * pow(angle_of(x, a) - p[0], 2); break;
        case MDS_TERM_PROPER:
        case MDS_TERM_PERIODIC_IMPROPER: sum += p[1] * (1 + cos(p[2] * dihedral_of(x, a) - p[0])); break;
        case MDS_TERM_PAIR14:
            difference(x[a[0]], x[a[1]], d);
            r = mds_norm(d);
            sum += coulomb ? MDS_COULOMB * p[2] / r : p[1] / pow(r, 12) - p[0] / pow(r, 6);
            break;
        default: break;
        }
    }
    return sum;
}

/// 1e-7 relative: what the reference (a conversion at eight decimals) is good for, by its README.
static void check_energy(const char *name, const char *json, const char *key, double got)
{
    const double want = from_json(json, key);

    if (fabs(got - want) > 2e-7 * fabs(want) + 1e-9) fprintf(stderr, "%s %s: ", name, key);
    TEST_NEAR(got, want, 2e-7 * fabs(want) + 1e-9);
}

static void check_system(const char *shared, const reference *want)
{
    char             topology[600], coordinates[600], json_path[600], *json;
    mds_read_request request = {.topology = topology};
    mds_read_report  report = {0};
    mds_system       s = {0};
    mds_state        state = {0};
    mds_box          box;
    const double (*x)[3];
    size_t           n;
    int              d;

    snprintf(topology, sizeof topology, "%s/systems/%s/system.prmtop", shared, want->name);
    snprintf(coordinates, sizeof coordinates, "%s/systems/%s/system.inpcrd", shared, want->name);
    snprintf(json_path, sizeof json_path, "%s/systems/%s/reference.json", shared, want->name);
    TEST_OK(mds_read_prmtop(&request, &s, &box, &report));
    TEST_INT(s.n_atoms, want->n_atoms);
    TEST_INT(s.name.n_residues, want->n_residues);
    TEST_INT(s.vsite.n, want->n_sites);
    TEST_INT(s.term[MDS_TERM_BOND].n, want->n_bonds);
    TEST_INT(s.term[MDS_TERM_ANGLE].n, want->n_angles);
    TEST_INT(s.c4 != NULL, want->c4);
    TEST_OK(mds_state_init(&state, s.n_atoms));
    TEST_OK(mds_read_inpcrd(coordinates, &s, 0, &state));
    TEST_OK(mds_box_reduce(&state.box, state.x, state.v, state.n_atoms));
    for (d = 0; d < 3; d++) TEST_NEAR(state.box.a[d][d], want->box[d], 5e-5); // the README's digits of the octahedron
    TEST_OK(mds_system_rigid_waters(&s)); // the reference has no terms inside water
    TEST_OK(mds_system_freeze(&s));
    // 2e-5: charges of the files have six digits and 13,646 atoms add up
    TEST_NEAR(s.total_charge, want->charge, 2e-5);
    TEST_OK(mds_file_read(json_path, &json, &n));
    x = (const double(*)[3])state.x;
    check_energy(want->name, json, "bond", energy_of(&s, x, MDS_TERM_BOND, false));
    check_energy(want->name, json, "angle", energy_of(&s, x, MDS_TERM_ANGLE, false));
    check_energy(want->name, json, "proper", energy_of(&s, x, MDS_TERM_PROPER, false));
    check_energy(want->name, json, "periodic_improper", energy_of(&s, x, MDS_TERM_PERIODIC_IMPROPER, false));
    check_energy(want->name, json, "lj14", energy_of(&s, x, MDS_TERM_PAIR14, false));
    check_energy(want->name, json, "coul14", energy_of(&s, x, MDS_TERM_PAIR14, true));
    mds_free(json);
    mds_state_free(&state);
    mds_system_free(&s);
    mds_read_report_free(&report);
}

int main(void)
{
    const char *shared = getenv("MDS_SHARED");
    char        probe[600];

    snprintf(probe, sizeof probe, "%s/systems/water216_amber/system.prmtop", shared ? shared : "");
    if (!shared || !mds_file_exists(probe)) TEST_SKIP("reference systems are not here (MDS_SHARED)");
    mds_log_set_level(MDS_LOG_ERROR);
    for (size_t k = 0; k < sizeof systems / sizeof systems[0]; k++) check_system(shared, &systems[k]);
    return test_end();
}
