// SPDX-License-Identifier: Apache-2.0
// Calibration files (docs/calibration.md; read by src/io) -> measured speeds that the model is corrected with.
#include "plan/inside.h"

#include "io/io.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

mds_plan_work plan_water(double atoms, double cut, double mesh_points, int order, double dt)
{
    const double density = 100; // atoms/nm^3: water at 298 K and 1 bar has 100.2, a protein in water about 99

    return (mds_plan_work){.atoms = atoms, .density = density, .cut = cut, .pairs = atoms * density * 2 / 3 * M_PI * cut * cut * cut,
                           .mesh_points = mesh_points, .mesh_order = order, .dt = dt, .list_interval = 20, .frame_bytes = 12 * atoms,
                           .force_error = NAN};
}

static int threads_on_cores(const mds_plan_catalog *c, const char *instance, int threads);

static mds_status add_set(mds_plan_catalog *c, const char *path, const mds_calibration *from)
{
    plan_set set = {.cores = from->cores, .threads = threads_on_cores(c, from->instance, from->threads), .ghz = from->clock_ghz, .first = c->n_point, .n = (size_t)from->n_cases};
    int32_t  k;

    MDS_CHECK(from->threads > 0 && from->n_cases > 0, MDS_E_INPUT, "%s: has no measured case", path);
    MDS_TRY(plan_keep(c, &set.file, "%s", path));
    MDS_TRY(plan_keep(c, &set.date, "%s", from->date));
    MDS_TRY(plan_keep(c, &set.instance, "%s", from->instance));
    MDS_TRY(plan_keep(c, &set.cpu, "%s", from->cpu));
    MDS_TRY(plan_keep(c, &set.gpu, "%s", from->device));
    MDS_TRY(plan_keep(c, &set.isa, "%s", from->isa));
    for (k = 0; k < from->n_cases; k++) {
        const mds_calibration_case *m = &from->cases[k];
        plan_point                  p = {plan_water(m->atoms, m->cutoff, m->points, m->order, 1e-3 * m->dt_fs), 1e-3 * m->ms_per_step};
        size_t                      at = c->n_point;

        MDS_CHECK(m->atoms > 0 && p.seconds > 0, MDS_E_INPUT, "%s: case %d has no atoms or no time", path, k + 1);
        if (m->pairs > 0) p.work.pairs = m->pairs;
        MDS_TRY(mds_grow(&c->point, &c->cap_point, c->n_point + 1, sizeof *c->point));
        for (; at > set.first && c->point[at - 1].work.atoms > p.work.atoms; at--) c->point[at] = c->point[at - 1];
        c->point[at] = p; // by size
        c->n_point++;
    }
    MDS_TRY(mds_grow(&c->set, &c->cap_set, c->n_set + 1, sizeof *c->set));
    c->set[c->n_set++] = set;
    return MDS_OK;
}

static mds_status read_one(mds_plan_catalog *c, const char *path)
{
    mds_calibration from = {0};
    mds_status      status = mds_calibration_read(path, &from);

    if (status == MDS_OK) status = add_set(c, path, &from);
    mds_calibration_free(&from);
    return status;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_conf(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && dot != entry->d_name && !strcmp(dot, ".conf");
}

/// Threads that share cores (two a core on most machines) count as the cores they share, as the tables have them.
static int threads_on_cores(const mds_plan_catalog *c, const char *instance, int threads)
{
    size_t k;

    for (k = 0; *instance && k < c->n_machine; k++)
        if (!strcmp(c->machine[k].instance, instance) && c->machine[k].cores < threads) return (int)c->machine[k].cores;
    return threads;
}

/// Every *.conf of the folder calibration/ beside the tables, by name.
static mds_status read_shipped(mds_plan_catalog *c)
{
    struct dirent **entry = NULL;
    char           *folder = NULL;
    mds_text        path = {0};
    mds_status      status;
    int             n, k;

    MDS_TRY(mds_plan_shared(c, "calibration", &folder));
    n = scandir(folder, &entry, is_conf, by_name);
    status = MDS_OK;
    for (k = 0; k < n && status == MDS_OK; k++) {
        path.n = 0;
        mds_text_add(&path, "%s/%s", folder, entry[k]->d_name);
        status = read_one(c, path.s);
    }
    for (k = 0; k < n; k++) mds_free(entry[k]);
    mds_free(entry);
    mds_text_free(&path);
    mds_free(folder);
    return status;
}

mds_status plan_calibrations(mds_plan_catalog *c, const char *path)
{
    char      *own = NULL;
    mds_status status;

    if (path) return read_one(c, path);
    MDS_TRY(read_shipped(c));
    MDS_TRY(mds_cache_path("calibration.conf", false, &own));
    status = own && mds_file_exists(own) ? read_one(c, own) : MDS_OK;
    mds_free(own);
    if (status == MDS_E_INPUT) { // nobody asked for it: an unreadable old one is no reason to give no answer
        mds_warn("%s", mds_error_text());
        status = MDS_OK;
    }
    return status;
}
