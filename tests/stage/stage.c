// SPDX-License-Identifier: Apache-2.0
#include "stage/stage.h"

#include <inttypes.h>

#define STAGE_DO(call)                                                                                       \
    do {                                                                                                     \
        if ((call) != MDS_OK) {                                                                              \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, mds_error_text());                 \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

bool stage_double(void)
{
    return getenv("MDS_DOUBLE") != NULL;
}

mds_params stage_params(double cut)
{
    mds_params p = {0};

    p.deterministic = !getenv("MDS_UNORDERED"); // as CMakeLists.txt asks
    p.dt = 0.001;
    p.lj_modifier = MDS_LJ_CUT;
    p.coulomb = MDS_COULOMB_CUT;
    p.cut_lj = p.cut_q = cut;
    p.list_radius = cut > 0 ? cut + 0.05 : 0;
    p.prune_radius = cut > 0 ? cut + 0.02 : 0;
    p.list_interval = 20;
    p.constraint_tolerance = 1e-8;
    p.temperature = 300;
    p.couple_every = 10;
    p.max_move = 0.1;
    p.double_precision = stage_double();
    return p;
}

void stage_pme(mds_params *p, mds_split_kind split, double shape, int order, int n)
{
    p->coulomb = MDS_COULOMB_PME;
    p->split = split;
    p->split_shape = shape;
    p->order = order;
    for (int k = 0; k < 3; k++) p->grid[k] = n;
}

int32_t stage_atoms(mds_system *system, int32_t n, double charge)
{
    const int32_t first = system->n_atoms;
    int32_t       residue;

    if (!system->n_types) STAGE_DO(mds_system_set_types(system, 1, false));
    STAGE_DO(mds_system_add_residue(system, "MOL", 1, &residue));
    for (int32_t i = 0; i < n; i++) STAGE_DO(mds_system_add_atom(system, "C", residue, 0, charge, 12, 6, NULL));
    return first;
}

void stage_state(const mds_system *system, const double box[3][3], mds_state *state)
{
    memset(state, 0, sizeof *state);
    STAGE_DO(mds_state_init(state, system->n_atoms));
    memcpy(state->box.a, box, sizeof state->box.a);
}

double stage_random(uint64_t seed, uint32_t index)
{
    double u[4];

    mds_uniform4(seed, MDS_RNG_MAKE, 0, index, u);
    return u[0];
}

void stage_open(const char *backend, const mds_system *system, const mds_params *params, stage *out)
{
    memset(out, 0, sizeof *out);
    out->system = system;
    STAGE_DO(mds_backend_find(backend, &out->backend));
    STAGE_DO(out->backend->open(system, params, 2, NULL, &out->device));
}

void stage_close(stage *s)
{
    if (s->backend) s->backend->close(s->device);
    mds_frame_free(&s->frame);
    memset(s, 0, sizeof *s);
}

void stage_forces(stage *s, const mds_state *state, int mask)
{
    const mds_backend *b = s->backend;
    const mds_work     work = MDS_OBSERVE | s->also | (s->force_only ? 0 : MDS_ENERGY | MDS_VIRIAL);
    mds_domain         domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}};

    domain.n_home = domain.n_all = s->system->n_atoms;
    STAGE_DO(b->upload(s->device, &domain, state));
    STAGE_DO(b->search(s->device, &domain));
    STAGE_DO(b->begin(s->device, work));
    if (mask & STAGE_PAIR) STAGE_DO(b->pair(s->device, MDS_HOME, work));
    if (mask & STAGE_BONDED) STAGE_DO(b->bonded(s->device, work));
    if (mask & STAGE_MESH) STAGE_DO(b->mesh(s->device, MDS_MESH_ALL, work));
    STAGE_DO(b->finish(s->device, work));
    STAGE_DO(b->observe(s->device, MDS_FIELD_X | MDS_FIELD_F, 0));
    STAGE_DO(b->collect(s->device, 0, &s->frame));
    mds_frame_sort(&s->frame);
    if (s->frame.n != s->system->n_atoms || !s->frame.x || !s->frame.f) {
        fprintf(stderr, "backend %s gave a frame of %d atoms instead of %d\n", b->name, (int)s->frame.n,
                (int)s->system->n_atoms);
        exit(1);
    }
}

void stage_once(const char *backend, const mds_system *system, const mds_params *params, const mds_state *state,
                int mask, mds_frame *frame)
{
    stage s;

    stage_open(backend, system, params, &s);
    stage_forces(&s, state, mask);
    STAGE_DO(mds_frame_copy(frame, &s.frame));
    stage_close(&s);
}

double stage_force_gap(const mds_frame *a, const mds_frame *b)
{
    double gap = 0;

    for (int32_t i = 0; i < a->n; i++)
        for (int k = 0; k < 3; k++) {
            const double here = fabs(a->f[i][k] - b->f[i][k]);

            if (!(here <= gap)) gap = here;
        }
    return gap;
}

double stage_force_size(const mds_frame *a)
{
    double size = 0;

    for (int32_t i = 0; i < a->n; i++)
        for (int k = 0; k < 3; k++) size = fmax(size, fabs(a->f[i][k]));
    return size;
}

double stage_tensor_size(const double a[3][3])
{
    double size = 0;

    for (int k = 0; k < 9; k++) size = fmax(size, fabs(a[k / 3][k % 3]));
    return size;
}

double stage_tensor_gap(const double a[3][3], const double b[3][3])
{
    double gap = 0;

    for (int k = 0; k < 9; k++) {
        const double here = fabs(a[k / 3][k % 3] - b[k / 3][k % 3]);

        if (!(here <= gap)) gap = here;
    }
    return gap;
}

/// Potential of `work` where it has been changed.
static double potential(stage *s, const mds_state *state, int mask)
{
    stage_forces(s, state, mask);
    return mds_frame_potential(&s->frame);
}

/// Strain lower triangular, so that the box stays so: x_l += x_k e, rows of the box too.
static void strain(mds_state *to, const mds_state *from, int k, int l, double e)
{
    for (int32_t i = 0; i < from->n_atoms; i++) {
        memcpy(to->x[i], from->x[i], sizeof to->x[i]);
        to->x[i][l] += e * from->x[i][k];
    }
    to->box = from->box;
    for (int row = 0; row < 3; row++) to->box.a[row][l] += e * from->box.a[row][k];
}

/// 1 if bad. (The counters of test.h are each file's own, so the caller counts.)
static int check(double got, double want, double tolerance, const char *what, const char *part, int i, int k)
{
    if (fabs(got - want) <= tolerance) return 0;
    fprintf(stderr, "%s: %s [%d][%d] = %.10g, numerical %.10g (off by %.3g, allowed %.3g)\n", what, part, i, k, got,
            want, got - want, tolerance);
    return 1;
}

static bool asked(const stage *s, int32_t i)
{
    const mds_vsites *v = &s->system->vsite;

    if (s->every <= 1 || i % s->every == 0 || s->system->mass[i] == 0) return true;
    for (int32_t k = 0; k < (v->n ? v->start[v->n] : 0); k++)
        if (v->atom[k] == i) return true;
    return false;
}

int stage_check_gradient(stage *s, const mds_state *state, int mask, double tolerance, const char *what)
{
    // fourth order: error h^4 (at 2e-4 some 1e-14 of the fifth derivative) against rounding 1e-16 E/h, 1e-7 E/h where terms are float
    const double h = s->step > 0 ? s->step : 2e-4, weight[2] = {8.0 / 12, -1.0 / 12};
    mds_frame    frame = {0};
    mds_state    moved;
    double       size, numeric[3][3];
    int          bad = 0;

    stage_forces(s, state, mask);
    STAGE_DO(mds_frame_copy(&frame, &s->frame));
    stage_state(s->system, state->box.a, &moved);
    size = stage_force_size(&frame);
    for (int32_t i = 0; i < s->system->n_atoms; i++) {
        for (int k = 0; k < 3 && asked(s, i); k++) {
            double slope = 0;

            if (s->system->mass[i] == 0) {
                bad += check(frame.f[i][k], 0, 0, what, "force on a virtual site", i, k); // spread and cleared
                continue;
            }
            memcpy(moved.x, state->x, (size_t)state->n_atoms * sizeof *moved.x);
            for (int step = 1; step <= 2; step++) {
                moved.x[i][k] = state->x[i][k] + step * h;
                slope += weight[step - 1] * potential(s, &moved, mask) / h;
                moved.x[i][k] = state->x[i][k] - step * h;
                slope -= weight[step - 1] * potential(s, &moved, mask) / h;
            }
            bad += check(frame.f[i][k], -slope, tolerance * size, what, "force", i, k);
        }
    }
    for (int k = 0; k < 3; k++)
        for (int l = 0; l <= k; l++) {
            numeric[k][l] = 0;
            for (int step = -2; step <= 2; step++) {
                if (!step) continue;
                strain(&moved, state, k, l, step * h);
                numeric[k][l] += (step > 0 ? 0.5 : -0.5) * weight[abs(step) - 1] * potential(s, &moved, mask) / h;
            }
            numeric[l][k] = numeric[k][l];
        }
    size = fmax(stage_tensor_size(numeric), stage_tensor_size(frame.virial));
    for (int k = 0; k < 3; k++)
        for (int l = 0; l <= k; l++)
            bad += check(frame.virial[k][l], numeric[k][l], tolerance * size, what, "virial", k, l);
    stage_forces(s, state, mask);
    mds_frame_free(&frame);
    mds_state_free(&moved);
    return bad;
}

static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return h;
}

uint64_t stage_fingerprint(const mds_frame *frame)
{
    uint64_t h = hash(1469598103934665603u, frame->f, (size_t)frame->n * sizeof *frame->f);

    h = hash(h, frame->energy, sizeof frame->energy);
    return hash(h, frame->virial, sizeof frame->virial);
}

void stage_check_orders(const char *program, const char *backend, uint64_t want)
{
    static const char *orders[] = {"EMU_ORDER=forward", "EMU_ORDER=reverse", "EMU_ORDER=random EMU_SEED=1 EMU_LAZY=1"};

    for (size_t k = 0; k < sizeof orders / sizeof orders[0]; k++) {
        char     command[1200];
        uint64_t got = 0;
        FILE    *other;

        snprintf(command, sizeof command, "%s '%s' %s fingerprint", orders[k], program, backend);
        other = popen(command, "r");
        TEST_TRUE(other && fscanf(other, "%" SCNx64, &got) == 1 && got == want);
        if (other) pclose(other);
    }
}
