// SPDX-License-Identifier: Apache-2.0
// One point: energies, forces, virial of a configuration, for comparison with other programs.
#include "engine/engine.h"

#include "base/units.h"

mds_status mds_single_point(mds_sim *s)
{
    const mds_work work = MDS_ENERGY | MDS_VIRIAL;

    MDS_TRY(mds_sim_open(s));
    MDS_TRY(mds_redistribute(s));
    MDS_TRY(mds_forces(s, work));
    MDS_TRY(s->be->observe(s->dev, MDS_FIELD_X | MDS_FIELD_F, 0));
    MDS_TRY(s->be->collect(s->dev, 0, &s->frame));
    mds_frame_sort(&s->frame);
    return s->frame.fault ? mds_diagnose(s, s->frame.fault) : MDS_OK;
}

static void add_matrix(mds_text *out, const char *name, const double (*m)[3])
{
    mds_text_add(out, "  \"%s\": [[%.17g, %.17g, %.17g], [%.17g, %.17g, %.17g], [%.17g, %.17g, %.17g]],\n", name, m[0][0],
                 m[0][1], m[0][2], m[1][0], m[1][1], m[1][2], m[2][0], m[2][1], m[2][2]);
}

/// A libconfig value as JSON: the same but for the L of long integers and for escapes in texts.
static void add_value(mds_text *out, const char *s, size_t n)
{
    size_t i, k = 0;
    char  *plain = NULL;

    if (!n || s[0] != '"') {
        if (n && s[n - 1] == 'L') n--;
        mds_text_add_bytes(out, n ? s : "null", n ? n : 4);
        return;
    }
    if (mds_copy_text(&plain, s, n) != MDS_OK) {
        out->failed = true;
        return;
    }
    for (i = 1; i + 1 < n; i++) {
        if (s[i] == '\\') i++;
        plain[k++] = s[i];
    }
    plain[k] = '\0';
    mds_text_add_json(out, plain);
    mds_free(plain);
}

static void add_settings(mds_sim *s, mds_text *out)
{
    const mds_params *p = &s->params;
    mds_text          value = {0};
    int               k;

    mds_text_add(out, "  \"settings\": {");
    for (k = 0; k < mds_config_n_keys(); k++) {
        value.n = 0;
        mds_config_value(s->config, k, &value);
        mds_text_add(out, "%s\n    ", k ? "," : "");
        mds_text_add_json(out, mds_config_key_name(k));
        mds_text_add(out, ": ");
        add_value(out, value.s, value.n);
    }
    if (p->coulomb == MDS_COULOMB_PME)
        mds_text_add(out, ",\n    \"chosen\": { \"split\": \"%s\", \"shape\": %.10g, \"order\": %d, \"grid\": [%d, %d, %d], \"estimated_force_error\": %.4g }",
                     p->split == MDS_SPLIT_PROLATE ? "prolate" : "gaussian", p->split_shape, p->order, p->grid[0], p->grid[1], p->grid[2],
                     s->choices.force_error);
    mds_text_add(out, "\n  }\n");
    mds_text_free(&value);
}

void mds_energy_json(mds_sim *s, const char *forces_file, mds_text *out)
{
    const mds_frame *f = &s->frame;
    const double     volume = mds_box_volume(&f->box);
    const double     trace = f->virial[0][0] + f->virial[1][1] + f->virial[2][2];
    int              k;

    mds_text_add(out, "{\n  \"program\": \"mdsim %s\",\n  \"backend\": \"%s\",\n  \"n_atoms\": %d,\n", MDS_VERSION, s->be->name,
                 s->system.n_atoms);
    add_matrix(out, "box", f->box.a);
    mds_text_add(out, "  \"energies\": {\n");
    for (k = 0; k < MDS_N_ENERGY; k++)
        mds_text_add(out, "    \"%s\": %.17g,\n", mds_energy_name((mds_energy)k), f->energy[k]);
    mds_text_add(out, "    \"coulomb\": %.17g,\n    \"potential\": %.17g\n  },\n", f->energy[MDS_EN_COUL] + f->energy[MDS_EN_RECIP],
                 mds_frame_potential(f));
    add_matrix(out, "virial", f->virial);
    mds_text_add(out, "  \"pressure_bar\": %.17g,\n", volume > 0 ? -2 * trace / (3 * volume) * MDS_BAR : 0);
    if (forces_file) {
        mds_text_add(out, "  \"forces\": ");
        mds_text_add_json(out, forces_file);
        mds_text_add(out, ",\n");
    }
    add_settings(s, out);
    mds_text_add(out, "}\n");
}
