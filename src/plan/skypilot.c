// SPDX-License-Identifier: Apache-2.0
// A SkyPilot catalogue (github.com/skypilot-org/skypilot-catalog, catalogs/v*/PROVIDER/vms.csv) -> machines, as it is.
//
// One row is one instance type in one zone; here one machine is one type in one region, its spot prices the lowest and
// highest of the zones. The memory of a GPU stands in a text that looks like Python (SizeInMiB). Google's file prices
// machines and accelerators in rows of their own: a machine whose family fixes its GPUs (a2, a3, a4, g2) gets the price of
// both, and keeps the GPU part apart so that trust.c can look at it; an accelerator that goes with any machine stays a part.
#include "plan/inside.h"

#include <stdlib.h>
#include <string.h>

enum { INSTANCE, GPU, COUNT, VCPUS, MEMORY, INFO, PRICE, SPOT, REGION, ARCH, N_COLUMNS };

typedef struct {
    const plan_table *t;
    int               column[N_COLUMNS];
} sky;

bool plan_is_skypilot(const plan_table *t)
{
    return plan_column(t, "InstanceType") >= 0 && plan_column(t, "Price") >= 0 && plan_column(t, "Region") >= 0;
}

static const char *cell(const sky *s, int row, int what)
{
    return plan_cell(s->t, row, s->column[what]);
}

static int by_machine(const void *a, const void *b, void *arg)
{
    static const int order[] = {INSTANCE, GPU, COUNT, REGION};
    const int        p = *(const int *)a, q = *(const int *)b;
    size_t           k;

    for (k = 0; k < sizeof order / sizeof order[0]; k++) {
        const int sign = strcmp(cell(arg, p, order[k]), cell(arg, q, order[k]));

        if (sign) return sign;
    }
    return p - q;
}

static bool same_machine(const sky *s, int p, int q)
{
    return !strcmp(cell(s, p, INSTANCE), cell(s, q, INSTANCE)) && !strcmp(cell(s, p, REGION), cell(s, q, REGION)) &&
           !strcmp(cell(s, p, GPU), cell(s, q, GPU)) && !strcmp(cell(s, p, COUNT), cell(s, q, COUNT));
}

static double memory_of(const char *info)
{
    const char *at = strstr(info, "SizeInMiB");

    if (!at) return NAN;
    at += strcspn(at, ":");
    return *at ? strtod(at + 1, NULL) / 1024 : NAN;
}

mds_status plan_set_gpus(mds_plan_catalog *c, mds_plan_machine *m, double count)
{
    MDS_CHECK(isnan(count) || count <= 1000, MDS_E_INPUT, "%s:%d: %g GPUs", m->file, m->line, count);
    m->gpus = isnan(count) ? 0 : (int)ceil(count);
    m->gpu = m->gpus ? plan_gpu_find(c, m->gpu_name, m->gpu_memory) : NULL;
    if (m->gpus && count != m->gpus && !m->doubt) MDS_TRY(plan_keep(c, &m->doubt, "has %g of a GPU: a share, whose speed is not known", count));
    return MDS_OK;
}

static mds_status first_row(mds_plan_catalog *c, const sky *s, int row, mds_plan_machine *m)
{
    double count;

    m->region = cell(s, row, REGION);
    m->instance = cell(s, row, INSTANCE);
    m->gpu_name = cell(s, row, GPU);
    m->file = s->t->path;
    m->line = s->t->line[row];
    m->source = s->t->path;
    m->gpu_memory = memory_of(cell(s, row, INFO));
    MDS_TRY(plan_number(s->t, row, s->column[COUNT], &count));
    MDS_TRY(plan_number(s->t, row, s->column[VCPUS], &m->vcpus));
    MDS_TRY(plan_number(s->t, row, s->column[MEMORY], &m->memory));
    if (!strcmp(cell(s, row, ARCH), "arm64")) {
        m->isa = "neon";
        m->cores = m->vcpus;
    }
    if (!*m->instance) {
        m->whole = false;
        m->instance = "accelerator";
    }
    return plan_set_gpus(c, m, *m->gpu_name && isnan(count) ? 1 : *m->gpu_name ? count : NAN);
}

static mds_status add_zone(const sky *s, int row, mds_plan_machine *m)
{
    double price, spot;

    MDS_TRY(plan_number(s->t, row, s->column[PRICE], &price));
    MDS_TRY(plan_number(s->t, row, s->column[SPOT], &spot));
    m->on_demand = fmax(m->on_demand, price); // fmax and fmin ignore NAN
    m->spot_low = fmin(m->spot_low, spot);
    m->spot_high = fmax(m->spot_high, spot);
    return MDS_OK;
}

/// The accelerator that a machine of Google's always has, and how many; NULL if its family fixes none.
static const char *family_gpu(const char *instance, int *count)
{
    static const struct {
        const char *prefix, *gpu;
    } families[] = {{"a2-highgpu-", "A100"}, {"a2-megagpu-", "A100"}, {"a2-ultragpu-", "A100-80GB"}, {"a3-highgpu-", "H100"},
                    {"a3-megagpu-", "H100-MEGA"}, {"a3-ultragpu-", "H200"}, {"a4-highgpu-", "B200"}, {"g2-standard-", "L4"}};
    size_t k;

    for (k = 0; k < sizeof families / sizeof families[0]; k++) {
        const size_t n = strlen(families[k].prefix);
        char        *end;
        long         number;

        if (strncmp(instance, families[k].prefix, n)) continue;
        number = strtol(instance + n, &end, 10);
        if (!strcmp(families[k].gpu, "L4")) // numbered by vCPUs
            *count = number >= 96 ? 8 : number >= 48 ? 4 : number >= 24 ? 2 : 1;
        else if (*end == 'g')
            *count = (int)number;
        else
            continue;
        return families[k].gpu;
    }
    return NULL;
}

/// Give a machine whose family has GPUs the price of its accelerators; those used are marked in `used`.
static mds_status join(mds_plan_catalog *c, size_t first, size_t host, bool *used)
{
    mds_plan_machine *m = &c->machine[host];
    int               count;
    const char       *gpu = m->whole && !m->gpus ? family_gpu(m->instance, &count) : NULL;
    size_t            k;

    if (!gpu) return MDS_OK;
    for (k = first; k < c->n_machine; k++) {
        const mds_plan_machine *a = &c->machine[k];

        if (a->whole || a->gpus != count || strcmp(a->gpu_name, gpu) || strcmp(a->region, m->region)) continue;
        used[k - first] = true;
        m->part_on_demand = a->on_demand;
        m->part_spot = a->spot_high;
        m->on_demand += a->on_demand;
        m->spot_low += a->spot_low;
        m->spot_high += a->spot_high;
        m->gpu_name = a->gpu_name;
        m->gpu_memory = a->gpu_memory;
        return plan_set_gpus(c, m, count);
    }
    m->on_demand = NAN; // the price of the machine without its GPUs is no price
    m->spot_low = m->spot_high = NAN;
    m->gpu_name = gpu;
    return plan_set_gpus(c, m, count);
}

static mds_status join_all(mds_plan_catalog *c, size_t first)
{
    bool      *used = NULL;
    size_t     k, n = first;
    mds_status status = mds_alloc(&used, c->n_machine - first, sizeof *used);

    for (k = first; status == MDS_OK && k < c->n_machine; k++) status = join(c, first, k, used);
    for (k = first; status == MDS_OK && k < c->n_machine; k++)
        if (!used[k - first]) c->machine[n++] = c->machine[k];
    if (status == MDS_OK) c->n_machine = n;
    mds_free(used);
    return status;
}

mds_status plan_skypilot(mds_plan_catalog *c, const plan_table *t, const char *provider, int as_of)
{
    static const char *const names[N_COLUMNS] = {"InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo", "Price",
                                                 "SpotPrice", "Region", "Arch"};
    const size_t first = c->n_machine;
    sky          s = {.t = t};
    int         *row = NULL, k, n = t->n_rows - 1;
    mds_status   status;

    for (k = 0; k < N_COLUMNS; k++) s.column[k] = plan_column(t, names[k]);
    MDS_TRY(mds_alloc(&row, (size_t)n, sizeof *row));
    for (k = 0; k < n; k++) row[k] = k + 1;
    qsort_r(row, (size_t)n, sizeof *row, by_machine, &s);
    status = MDS_OK;
    for (k = 0; k < n && status == MDS_OK;) {
        mds_plan_machine m = plan_machine_blank();
        const int        begin = k;

        m.provider = provider;
        m.as_of = as_of;
        status = first_row(c, &s, row[begin], &m);
        for (; k < n && status == MDS_OK && same_machine(&s, row[begin], row[k]); k++) status = add_zone(&s, row[k], &m);
        if (status == MDS_OK) status = plan_machine_add(c, &m);
    }
    mds_free(row);
    return status == MDS_OK ? join_all(c, first) : status;
}
