// SPDX-License-Identifier: Apache-2.0
// Choices that change bits: in words, and taken over from a checkpoint.
//
// A run keeps for life what it started with (mesh, radii, intervals, instruction set, threads), whether it was fixed, given or tuned:
// rounding differs between any two of them, so a resume that chose anew would be another trajectory. What cannot be kept
// on this machine is said, once, in words that name the key.
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

void mds_choices_words(const mds_sim *s, mds_text *out)
{
    const mds_params *p = &s->params;

    if (p->coulomb == MDS_COULOMB_PME)
        mds_text_add(out, "%s %s %.5g, order %d, grid %d x %d x %d; ", p->split == MDS_SPLIT_PROLATE ? "prolate" : "Gaussian",
                     p->split == MDS_SPLIT_PROLATE ? "c" : "beta", p->split_shape, p->order, p->grid[0], p->grid[1], p->grid[2]);
    if (p->mesh_every > 1) mds_text_add(out, "every %d steps; ", p->mesh_every);
    if (p->list_radius > 0)
        mds_text_add(out, "list %.4f nm every %d steps, inner list %.4f nm; ", p->list_radius, p->list_interval, p->prune_radius);
    if (p->double_precision) mds_text_add(out, "double precision; ");
    mds_text_add(out, "%s, %d thread%s", s->isa[0] && strcmp(s->isa, "auto") ? s->isa : "best instruction set", s->threads, s->threads == 1 ? "" : "s");
}

bool mds_has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    const char  *at = words;

    while (n > 0 && (at = strstr(at, word))) {
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
        at += n;
    }
    return false;
}

bool mds_isa_known(const mds_backend *be, const char *isa)
{
    char         word[16] = "";
    const size_t n = strcspn(isa, "-");

    if (n >= sizeof word || (isa[n] && (!be->ways || !mds_has_word("cufft block gemm", isa + n + 1)))) return false;
    memcpy(word, isa, n);
    return mds_has_word(be->flavours(), word);
}

static bool isa_given(const mds_sim *s)
{
    return s->isa[0] && strcmp(s->isa, "auto");
}

static void adopt_isa(mds_sim *s, const mds_checkpoint *chk)
{
    if (!isa_given(s)) {
        if (mds_isa_known(s->be, chk->isa))
            snprintf(s->isa, sizeof s->isa, "%s", chk->isa);
        else if (strcmp(chk->isa, "auto") && chk->isa[0])
            mds_warn("the checkpoint was written with instruction set %s, which this machine or build lacks (it has %s): the trajectory will "
                     "differ in rounding", chk->isa, s->be->flavours());
    } else if (strcmp(s->isa, chk->isa) && strcmp(chk->isa, "auto")) {
        mds_warn("the checkpoint was written with instruction set %s, %s asks for %s: the trajectory will differ in rounding", chk->isa,
                 mds_config_origin(s->config, "backend.isa"), s->isa);
    }
}

static void adopt_threads(mds_sim *s, const mds_checkpoint *chk)
{
    if (mds_config_given(s->config, "backend.threads")) {
        if (s->threads != chk->threads)
            mds_warn("the checkpoint was written with %d threads, %s asks for %d: the trajectory will differ in rounding", chk->threads,
                     mds_config_origin(s->config, "backend.threads"), s->threads);
        return;
    }
    s->threads = chk->threads;
    if (chk->threads > mds_cores_here())
        mds_warn("the checkpoint was written with %d threads and this process may use %d core%s: the same bits, but slowly; backend.threads = %d "
                 "would be faster and differ in rounding",
                 chk->threads, mds_cores_here(), mds_cores_here() == 1 ? "" : "s", mds_cores_here());
}

/// A key that the user gives after the start, and that would change bits: kept out of the run, and said.
static void unused(mds_sim *s, const char *key, bool differs)
{
    static const char text[] = "is not used: the run goes on with the choices of its checkpoint; --restart=never begins anew";

    if (!differs || !mds_config_given(s->config, key)) return;
    mds_note("%s: %s %s", mds_config_origin(s->config, key), key, text);
    mds_text_add(&s->choices.text, "%s: %s %s\n", mds_config_origin(s->config, key), key, text); // the log is not open yet
}

void mds_choices_adopt(mds_sim *s, const mds_checkpoint *chk)
{
    const mds_params mine = s->params;

    s->params = chk->params;
    s->choices.text.n = 0;
    unused(s, "run.list_interval", mine.list_interval != chk->params.list_interval);
    unused(s, "nonbonded.list_buffer", mine.list_radius != chk->params.list_radius && mine.list_interval == chk->params.list_interval);
    if (strcmp(chk->backend, s->be->name)) {
        s->params.double_precision = mine.double_precision; // what one backend has no choice in is not another's choice
        mds_warn("the checkpoint was written by backend %s, this run uses %s: the trajectory will differ in rounding", chk->backend,
                 s->be->name);
    } else {
        unused(s, "backend.precision", mine.double_precision != chk->params.double_precision);
        adopt_isa(s, chk);
        adopt_threads(s, chk);
    }
    mds_text_add(&s->choices.text, "choices of the checkpoint at step %lld: ", (long long)chk->state.step);
    mds_choices_words(s, &s->choices.text);
    mds_text_add(&s->choices.text, "\n");
}
