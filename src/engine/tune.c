// SPDX-License-Identifier: Apache-2.0
// The start-up tuner: which of several equally accurate settings is fastest here, found by timing them on the system itself.
//
// What is tried, one question after the other, each with the winner of those before: threads, instruction set, mesh order (with
// the grid and split that meet pme.force_error at that order), list interval (with the radii that its tolerance asks
// for). A question that the user has answered is not asked. Every candidate computes forces on a device of its own or one
// that is closed before the run's is opened: nothing of the run is touched, and a run with the same values given by
// hand has the same bits (tests/cli/test_tune.py).
//
// Noise must not choose. Candidates are timed in turn, round by round; compared is the median over rounds of the ratio to the
// present choice, and a challenger wins only by a clear margin. The answer goes into a cache, so that the same command on the same
// machine keeps its bits, and into the checkpoint, so that a resume does whatever the cache says. Runs that are too short
// to gain (MDS_TUNE_MIN_STEPS) neither tune nor look into the cache. Why so: docs/decisions/006-tuning.md.
//
// On a GPU two questions are asked: which pair kernel, and how to transform the mesh. Times are the device's own (time_pairs), so that a host that
// is slow to launch, which it is not in recorded steps, does not blur them. The emulation is never tuned.
//
// Time: at most 3 s and 1 % of what the run is expected to take. Where not all of a question fits, first rounds become fewer (steps of a large
// system scatter less), then candidates: they stand in the order of what is likely to win, so that the last ones are left out. A
// question of which not even one challenger fits is left.
#include "engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CANDIDATES = 6, MAX_ROUNDS = 7, MIN_ROUNDS = 5, FEW_ROUNDS = 3 };
static const double  margin = 0.03;   // a challenger must be this much faster
static const double  too_noisy = 0.2; // spread of the middle half of the same work's times: others use the machine
static const double  most_seconds = 3;
static const double  share = 0.01;    // of the run
static const int32_t largest_two = 250000; // atoms up to which two devices at once are no burden on memory
static const int32_t largest_gpu = 1500000; // and three in that of a GPU

typedef struct {
    mds_tuned   pick;
    mds_params  params;
    mds_device *device;            // own, or that of the present choice
    bool        owns;
    double      sample[MAX_ROUNDS]; // s a step
    double      ratio;             // to the present choice, median over rounds
    int         wins;              // rounds in which it was faster
    char        name[48];
} candidate;

typedef struct {
    mds_sim    *sim;
    mds_device *device; // of the present choice
    candidate   now;    // the present choice
    double      began, budget, step; // s; s a step of the present choice
    double      once;                // s that a sample of it takes
    int         rounds;              // at least, of the question at hand
    double      first, last;         // s a step of the defaults and of the choice, by the ratios
    int         n_tried, n_questions, n_skipped;
    double      noise;               // the largest of a question
    bool        gave_up;             // too noisy, or far beyond the time
    bool        mesh;                // the question is of the mesh, which runs beside all that other questions time
} tuner;

// ------------------------------------------------------------------------------------------------- timing

/// Settings that follow from a pick, through the same functions as without tuning. *good false: they cannot be had.
static mds_status resolve(mds_sim *s, const mds_tuned *pick, candidate *c, bool *good)
{
    const mds_tuned before = s->tuned;
    mds_status      status;

    s->tuned = *pick;
    status = mds_sim_choose(s, false);
    c->pick = *pick;
    c->params = s->params;
    *good = status == MDS_OK;
    if (*good) return MDS_OK;
    s->tuned = before; // an order that cannot meet the accuracy, for one
    return mds_sim_choose(s, false);
}

static mds_status open_device(tuner *t, candidate *c)
{
    mds_sim         *s = t->sim;
    const mds_domain domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = s->system.n_atoms, .n_all = s->system.n_atoms};

    MDS_TRY(s->be->open(&s->system, &c->params, s->threads, s->isa, &c->device));
    c->owns = true;
    return s->be->upload(c->device, &domain, &s->start);
}

static mds_status forces(const mds_sim *s, const candidate *c, mds_work work)
{
    const mds_backend *be = s->be;
    mds_poll           done;

    MDS_TRY(be->begin(c->device, work));
    MDS_TRY(be->pair(c->device, MDS_HOME, work));
    MDS_TRY(be->bonded(c->device, work));
    if (c->params.coulomb == MDS_COULOMB_PME && !(work & MDS_FAST)) MDS_TRY(be->mesh(c->device, MDS_MESH_ALL, work));
    MDS_TRY(be->finish(c->device, work));
    return be->poll(c->device, &done); // what a device was only told to do is not done
}

/// One sample: a search, a force evaluation that prunes and warms up, then two that count (the better one), or one where rounds are few.
static mds_status sample(const tuner *t, candidate *c, double *seconds)
{
    const mds_sim   *s = t->sim;
    const mds_domain domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = s->system.n_atoms, .n_all = s->system.n_atoms};
    const int        mesh_every = c->params.mesh_every > 1 ? c->params.mesh_every : 1;
    double           search, prune, plain = INFINITY, fast = INFINITY, began, own[4];
    const int        looks = t->rounds < MIN_ROUNDS ? 1 : 2;
    int              k;

    MDS_TRY(s->be->set(c->device, &c->params));
    if (s->be->time_pairs) {
        MDS_TRY(s->be->time_pairs(c->device, &domain, own));
        *seconds = own[t->mesh ? 3 : 2];
        if (t->mesh) return MDS_OK;
        if (c->params.list_interval > 0) *seconds += own[0] / c->params.list_interval;
        if (c->params.prune_interval > 0) *seconds += own[1] / c->params.prune_interval;
        return MDS_OK;
    }
    began = mds_clock();
    MDS_TRY(s->be->search(c->device, &domain));
    search = mds_clock() - began;
    prune = mds_timer_seconds(MDS_T_PRUNE);
    MDS_TRY(forces(s, c, 0));
    prune = mds_timer_seconds(MDS_T_PRUNE) - prune;
    for (k = 0; k < looks; k++) {
        began = mds_clock();
        MDS_TRY(forces(s, c, mesh_every > 1 ? MDS_UNSEEN : 0));
        plain = fmin(plain, mds_clock() - began);
        if (mesh_every == 1) continue;
        began = mds_clock();
        MDS_TRY(forces(s, c, MDS_UNSEEN | MDS_FAST));
        fast = fmin(fast, mds_clock() - began);
    }
    *seconds = mesh_every == 1 ? plain : (plain + (mesh_every - 1) * fast) / mesh_every;
    if (c->params.list_interval > 0) *seconds += search / c->params.list_interval;
    if (c->params.prune_interval > 0) *seconds += prune / c->params.prune_interval;
    return MDS_OK;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const double *value, int n)
{
    double sorted[MAX_ROUNDS];

    memcpy(sorted, value, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    return 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
}

/// Width of the middle half of the values over their median.
static double middle_half(const double *value, int n)
{
    double sorted[MAX_ROUNDS];

    memcpy(sorted, value, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    return (sorted[n - 1 - n / 4] - sorted[n / 4]) / median(value, n);
}

static double left(const tuner *t)
{
    return t->budget - (mds_clock() - t->began);
}

/// Time all candidates in turn; [0] is the present choice. A round is begun only if there is time for it.
static mds_status race(tuner *t, candidate *c, int n, int *rounds)
{
    double ratio[MAX_ROUNDS], round_time = 0;
    int    k, r;

    for (r = 0; r < MAX_ROUNDS; r++) {
        const double began = mds_clock();

        if (r >= t->rounds && 4 * round_time > left(t)) break; // the questions after this one want time too
        if (left(t) < 0) t->gave_up = true; // something holds us up: what would be measured is not us
        if (t->gave_up) return MDS_OK;
        for (k = 0; k < n; k++) MDS_TRY(sample(t, &c[k], &c[k].sample[r]));
        round_time = mds_clock() - began;
    }
    *rounds = r;
    for (k = 0; k < n; k++) {
        int i;

        c[k].wins = 0;
        for (i = 0; i < r; i++) {
            ratio[i] = c[k].sample[i] / c[0].sample[i];
            c[k].wins += ratio[i] < 1;
        }
        c[k].ratio = median(ratio, r);
    }
    t->noise = fmax(t->noise, middle_half(c[0].sample, r));
    t->gave_up = t->noise > too_noisy;
    return MDS_OK;
}

// ----------------------------------------------------------------------------------------------- questions

static void line(tuner *t, const char *what, const candidate *c, int n, int winner, int rounds)
{
    mds_text *out = &t->sim->choices.tuning;
    int       k;

    mds_text_add(out, "tuning, %s:", what);
    for (k = 0; k < n; k++)
        mds_text_add(out, "%s %s %.3f ms%s", k ? "," : "", c[k].name, 1000 * median(c[k].sample, rounds), k == winner ? " (taken)" : "");
    mds_text_add(out, "; %d rounds\n", rounds);
}

static void close_device(tuner *t, candidate *c)
{
    if (c->owns) t->sim->be->close(c->device);
    c->device = NULL;
    c->owns = false;
}

/// How many of n candidates there is time for, in at least t->rounds rounds; `anew`: they need devices of their own. Less than 2: none.
static int fit(tuner *t, int n, bool anew)
{
    const double choose = (anew ? 8 : 2) * t->step; // for every challenger, choosing and opening it

    for (; n > 1; n--)
        for (t->rounds = MIN_ROUNDS; t->rounds >= FEW_ROUNDS; t->rounds -= MIN_ROUNDS - FEW_ROUNDS)
            if (n * (t->rounds * t->once + choose) <= left(t)) return n;
    return n;
}

/// Whether a challenger beats the winner so far: by the margin, and in all rounds but one (in all of few).
static bool beats(const candidate *c, const candidate *winner, int rounds)
{
    return c->ratio < winner->ratio && c->ratio < 1 - margin && c->wins > rounds - (rounds < MIN_ROUNDS ? 1 : 2);
}

/// Ask one question: candidates [1, n) against the present choice, which becomes the winner. `anew`: they need devices of their own.
static mds_status ask(tuner *t, const char *what, candidate *c, int n, bool anew)
{
    mds_sim   *s = t->sim;
    int        k, kept = 1, winner = 0, rounds = 0;
    mds_status status = MDS_OK;
    bool       good;

    t->n_questions++;
    if (t->gave_up) return MDS_OK;
    const int all = n;

    n = fit(t, n, anew);
    t->n_skipped += n > 1 && n < all;
    if (n < 2 || (anew && s->system.n_atoms > (s->be->time_pairs ? largest_gpu : largest_two))) {
        t->n_skipped++;
        return MDS_OK;
    }
    c[0].pick = t->now.pick;
    c[0].params = t->now.params;
    c[0].device = t->device;
    for (k = 1; k < n && status == MDS_OK; k++) {
        candidate next = c[k];

        if (t->mesh) { // nothing follows from it but the device
            snprintf(s->isa, sizeof s->isa, "%s", next.pick.isa);
            next.params = c[0].params;
            good = true;
        } else {
            status = resolve(s, &c[k].pick, &next, &good);
        }
        if (status == MDS_OK && good && anew) status = open_device(t, &next);
        if (status != MDS_OK && next.device) s->be->close(next.device);
        if (status == MDS_OK && good && !anew) next.device = t->device;
        if (status != MDS_OK || !good) continue;
        if (!anew && !memcmp(&next.params, &c[0].params, sizeof next.params)) continue; // nothing new
        c[kept++] = next;
    }
    if (status == MDS_OK && kept > 1) status = race(t, c, kept, &rounds);
    if (status == MDS_OK && kept > 1 && !t->gave_up) {
        for (k = 1; k < kept; k++)
            if (beats(&c[k], &c[winner], rounds)) winner = k;
        line(t, what, c, kept, winner, rounds);
        t->n_tried += kept - 1;
        if (!t->mesh) {
            t->step = median(c[winner].sample, rounds);
            t->once *= c[winner].ratio;
            t->last *= c[winner].ratio;
        }
        if (winner) {
            t->now = c[winner];
            if (anew) { // its device stays, the one before goes
                s->be->close(t->device);
                t->device = c[winner].device;
                c[winner].owns = false;
            }
        }
    }
    for (k = 1; k < kept; k++) close_device(t, &c[k]);
    if (status != MDS_OK) return status;
    return resolve(s, &t->now.pick, &t->now, &good);
}

static mds_status ask_threads(tuner *t)
{
    const int32_t n = t->sim->system.n_atoms;
    const int     now = t->sim->threads, per_core = mds_threads_per_core();
    candidate     c[MAX_CANDIDATES] = {0};
    int           k = 1, threads;

    if (mds_config_given(t->sim->config, "backend.threads") || now < 2) return MDS_OK;
    snprintf(c[0].name, sizeof c[0].name, "%d", now);
    for (threads = now / 2; threads >= 1 && k < MAX_CANDIDATES; threads /= 2) {
        // two hardware threads of a core may be slower than one; and threads with few atoms only wait for each other
        if (!(per_core > 1 && threads == now / per_core) && n / now > 1500) continue;
        c[k].pick = t->now.pick;
        c[k].pick.threads = threads;
        snprintf(c[k++].name, sizeof c[0].name, "%d", threads);
    }
    return k > 1 ? ask(t, "threads", c, k, true) : MDS_OK;
}

/// The level in use against the next lower one: wide vectors can cost clock rate.
static mds_status ask_isa(tuner *t)
{
    const char *now = t->sim->be->flavour(t->device), *words = t->sim->be->flavours(), *at = strstr(words, now);
    candidate   c[2] = {0};
    size_t      n;

    if (mds_config_given(t->sim->config, "backend.isa") || getenv("MDS_ISA") || !at) return MDS_OK;
    at += strlen(now);
    at += strspn(at, " ");
    n = strcspn(at, " ");
    if (!n || n >= sizeof c[1].pick.isa) return MDS_OK;
    c[1].pick = t->now.pick;
    memcpy(c[1].pick.isa, at, n);
    if (!strcmp(c[1].pick.isa, "generic") && !strcmp(now, "avx2")) return MDS_OK; // half the width at the same clock
    snprintf(c[0].name, sizeof c[0].name, "%s", now);
    snprintf(c[1].name, sizeof c[1].name, "%s", c[1].pick.isa);
    return ask(t, "instruction set", c, 2, true);
}

/// The pair kernels of a GPU against the default.
static mds_status ask_kernel(tuner *t)
{
    const char *now = t->sim->be->flavour(t->device), *at = t->sim->be->flavours();
    candidate   c[MAX_CANDIDATES] = {0};
    int         k = 1;

    if (mds_config_given(t->sim->config, "backend.isa")) return MDS_OK;
    snprintf(c[0].name, sizeof c[0].name, "%s", now);
    while (*at && k < MAX_CANDIDATES) {
        const size_t n = strcspn(at, " ");

        if ((n != strlen(now) || strncmp(at, now, n)) && n < sizeof c[k].pick.isa) {
            c[k].pick = t->now.pick;
            memcpy(c[k].pick.isa, at, n);
            snprintf(c[k].name, sizeof c[k].name, "%.*s", (int)n, at);
            k++;
        }
        at += n;
        at += strspn(at, " ");
    }
    return k > 1 ? ask(t, "pair kernel", c, k, true) : MDS_OK;
}

/// The ways to transform the mesh of a GPU against its own choice. Where it cannot be told, that stays, whatever else was found.
static mds_status ask_transform(tuner *t)
{
    const char  *now = t->sim->be->flavour(t->device), *at = t->sim->be->ways ? t->sim->be->ways(t->device) : "";
    const int    kernel = (int)strcspn(now, "-");
    const double noise = t->noise;
    candidate    c[MAX_CANDIDATES] = {0};
    mds_status   status;
    int          k = 0;

    if (t->gave_up) return MDS_OK;
    for (; *at && k < MAX_CANDIDATES; k++) {
        const int n = (int)strcspn(at, " ");

        c[k].pick = t->now.pick;
        snprintf(c[k].name, sizeof c[k].name, "%.*s", n, at);
        if (k && snprintf(c[k].pick.isa, sizeof c[k].pick.isa, "%.*s-%.*s", kernel, now, n, at) >= (int)sizeof c[k].pick.isa) break;
        at += n;
        at += strspn(at, " ");
    }
    if (k < 2) return MDS_OK;
    t->mesh = true;
    status = ask(t, "mesh transform", c, k, true);
    t->mesh = false;
    if (t->gave_up) mds_text_add(&t->sim->choices.tuning, "tuning, mesh transform: the times cannot be told apart; %s is kept\n", c[0].name);
    t->gave_up = false;
    t->noise = noise;
    return status;
}

static mds_status ask_order(tuner *t)
{
    const mds_config *conf = t->sim->config;
    candidate         c[MAX_CANDIDATES] = {0};
    int               k = 1, order;

    if (t->now.params.coulomb != MDS_COULOMB_PME || conf->pme.order) return MDS_OK;
    snprintf(c[0].name, sizeof c[0].name, "%d", t->now.params.order);
    for (order = 4; order <= 6; order++) {
        if (order == t->now.params.order) continue;
        c[k].pick = t->now.pick;
        c[k].pick.order = order;
        snprintf(c[k++].name, sizeof c[0].name, "%d", order);
    }
    return ask(t, "mesh order", c, k, false);
}

static mds_status ask_interval(tuner *t)
{
    static const double factor[] = {1.4, 0.7, 2, 0.5}; // the nearest first: the estimator is not far off
    const mds_config   *conf = t->sim->config;
    const int32_t       now = t->now.params.list_interval;
    candidate           c[MAX_CANDIDATES] = {0};
    int                 k = 1;
    size_t              i;

    if (conf->run.list_interval > 0 || conf->nonbonded.list_buffer > 0 || !(t->now.params.list_radius > 0) || now < 1) return MDS_OK;
    snprintf(c[0].name, sizeof c[0].name, "%d", now);
    for (i = 0; i < sizeof factor / sizeof *factor; i++) {
        const int32_t next = (int32_t)lrint(factor[i] * now);

        if (next < 4 || next == now) continue;
        c[k].pick = t->now.pick;
        c[k].pick.list_interval = next;
        snprintf(c[k++].name, sizeof c[0].name, "%d", next);
    }
    return ask(t, "list interval", c, k, false);
}

// ------------------------------------------------------------------------------------------------- whole

static mds_status ask_all(tuner *t, mds_tune_mode mode)
{
    mds_sim   *s = t->sim;
    double     first, began;
    mds_status status;
    bool       good;

    t->began = mds_clock();
    t->budget = most_seconds;
    MDS_TRY(resolve(s, &s->tuned, &t->now, &good));
    MDS_TRY(open_device(t, &t->now));
    t->device = t->now.device;
    t->now.owns = false;
    MDS_TRY(sample(t, &t->now, &first)); // pages are touched, lists grow
    began = mds_clock();
    MDS_TRY(sample(t, &t->now, &t->step));
    t->once = s->be->time_pairs ? 4 * t->step : mds_clock() - began;
    if (mode == MDS_TUNE_RUN) t->budget = fmin(t->budget, share * (double)s->config->run.steps * t->step);
    t->first = t->last = t->step;
    if (s->be->time_pairs) {
        MDS_TRY(ask_kernel(t));
        return ask_transform(t);
    }
    status = ask_threads(t);
    if (status == MDS_OK) status = ask_isa(t);
    if (status == MDS_OK) status = ask_order(t);
    if (status == MDS_OK) status = ask_interval(t);
    return status;
}

/// Seconds that a step takes, about: what goes with the atoms, and what goes with the pairs of their list (1e-7 and 2e-7 of water at 0.9 nm).
static double foreseen_step(const mds_sim *s)
{
    const double volume = mds_box_volume(&s->start.box), density = volume > 0 ? s->system.n_atoms / volume : 100;
    const double cut = fmax(s->params.cut_lj, s->params.cut_q), pairs = cut > 0 ? density * pow(cut + 0.1, 3) / 100 : s->system.n_atoms / 1e2;

    return (1e-7 + 2e-7 * pairs) / s->threads * s->system.n_atoms;
}

/// *sure false: nothing could be compared; the defaults are kept, and the next run may try again.
static mds_status measure(mds_sim *s, mds_tune_mode mode, bool *sure)
{
    tuner        t = {.sim = s, .rounds = MIN_ROUNDS};
    const double step = s->be->time_pairs ? 1e-8 * s->system.n_atoms : foreseen_step(s);
    mds_status   status;

    if (s->be->time_pairs && mds_config_given(s->config, "backend.isa")) return MDS_OK; // both questions are answered
    if (36 * step > most_seconds) { // two samples first, then few rounds of two
        mds_text_add(&s->choices.tuning, "tuning: the system is too large to compare anything in %.0f s\n", most_seconds);
        return MDS_OK;
    }
    status = ask_all(&t, mode);

    if (t.device) s->be->close(t.device);
    else if (t.now.device) s->be->close(t.now.device);
    MDS_TRY(status);
    *sure = !t.gave_up;
    if (t.gave_up) {
        const mds_tuned none = {0};
        candidate       c;
        bool            good;

        s->choices.tuning.n = 0;
        mds_text_add(&s->choices.tuning, "tuning: given up after %.2f s: the machine is too busy to compare anything (the same work's times differ by %.0f %%)\n",
                     mds_clock() - t.began, 100 * t.noise);
        return resolve(s, &none, &c, &good);
    }
    mds_text_add(&s->choices.tuning, "tuning took %.2f s for %d candidates: %.3f of the time of a step without it%s\n", mds_clock() - t.began, t.n_tried,
                 t.last / t.first, t.n_skipped ? "; there was no time for all candidates" : "");
    return MDS_OK;
}

/// What must be the same for an answer to hold. Text without quotes; one line.
static void write_key(const mds_sim *s, mds_text *out)
{
    static const char *const given[] = {"run.list_interval", "nonbonded.list_buffer", "nonbonded.list_tolerance", "pme.order", "pme.spacing", "pme.grid", "pme.beta", "pme.c",
                                        "pme.split", "backend.isa", "backend.threads"};
    const mds_params *p = &s->params;
    char              cpu[128], device[160] = "";
    size_t            k;

    mds_machine_name(cpu, sizeof cpu);
    mds_text_add(out, "mdsim %s, %s, %d cores, %s %s, %d atoms, %.5g nm3, cut %.5g %.5g nm, lj %d, coulomb %d, error %.4g, dt %.4g ps, %.5g K", MDS_VERSION, cpu,
                 mds_cores_here(), s->be->name, s->be->flavours(), s->system.n_atoms, mds_box_volume(&s->start.box), p->cut_lj, p->cut_q, (int)p->lj_modifier,
                 (int)p->coulomb, s->config->pme.force_error, p->dt, p->temperature);
    if (p->mesh_every > 1) mds_text_add(out, ", mesh every %d", p->mesh_every);
    (void)s->be->devices(0, device, sizeof device); // a GPU's name; of the host there is no text
    if (device[0]) mds_text_add(out, ", %s", device);
    for (k = 0; k < sizeof given / sizeof *given; k++) {
        int i;

        if (!mds_config_given(s->config, given[k])) continue;
        mds_text_add(out, ", %s ", given[k]);
        for (i = 0; i < mds_config_n_keys(); i++)
            if (!strcmp(mds_config_key_name(i), given[k])) mds_config_value(s->config, i, out);
    }
    for (k = 0; k < out->n; k++)
        if (out->s[k] == '"' || out->s[k] == '\\' || out->s[k] == '\n') out->s[k] = ' ';
}

/// The tuner's words, and what would give these bits without it.
static void conclude(mds_sim *s)
{
    mds_text      *out = &s->choices.text;
    const mds_tuned *t = &s->tuned;

    if (s->choices.tuning.n) mds_text_add(out, "%s", s->choices.tuning.s);
    if (!t->order && !t->list_interval && !t->threads && !t->isa[0]) {
        mds_text_add(out, "tuned: the defaults are kept\n");
        return;
    }
    mds_text_add(out, "tuned: these bits again elsewhere: backend.tune = \"fixed\"");
    if (t->order) mds_text_add(out, ", pme.order = %d", t->order);
    if (t->list_interval) mds_text_add(out, ", run.list_interval = %d", t->list_interval);
    if (t->isa[0]) mds_text_add(out, ", backend.isa = \"%s\"", t->isa);
    if (t->threads) mds_text_add(out, ", backend.threads = %d", t->threads);
    mds_text_add(out, "\n");
}

static mds_status tune(mds_sim *s, mds_tune_mode mode, const char *path, const char *key)
{
    mds_tuned found;
    bool      sure = true;

    if (path && mds_tuned_find(path, key, &found) && (!found.isa[0] || mds_isa_known(s->be, found.isa)) && found.threads <= mds_cores_here()) {
        candidate c;
        bool      good;

        MDS_TRY(resolve(s, &found, &c, &good));
        if (good) {
            mds_text_add(&s->choices.tuning, "tuned earlier: %s\n", path);
            conclude(s);
            return MDS_OK;
        }
    }
    if (mode == MDS_TUNE_LOOK) {
        if (s->be->time_pairs)
            mds_text_add(&s->choices.text, "tuning: a run of %d steps or more would first time the pair kernels and the ways to transform the mesh (at most %.0f s)\n", MDS_TUNE_MIN_STEPS, most_seconds);
        else
            mds_text_add(&s->choices.text, "tuning: a run of %d steps or more would first time other mesh orders, list intervals, threads and instruction sets of "
                                           "the same accuracy (at most %.0f s)\n", MDS_TUNE_MIN_STEPS, most_seconds);
        return MDS_OK;
    }
    MDS_TRY(measure(s, mode, &sure));
    conclude(s);
    if (sure && path && mds_tuned_store(path, key, &s->tuned) != MDS_OK) {
        mds_text_add(&s->choices.text, "tuned: the answer could not be kept: %s\n", mds_error_text());
        mds_error_clear();
    }
    return MDS_OK;
}

mds_status mds_sim_tune(mds_sim *s, mds_tune_mode mode)
{
    const mds_config *c = s->config;
    char             *path = NULL;
    mds_text          key = {0};
    mds_status        status;

    if (c->backend.tune == MDS_TUNE_FIXED || c->run.integrator == MDS_INTEGRATOR_MINIMIZE || (strcmp(s->be->name, "cpu") && strcmp(s->be->name, "cuda"))) return MDS_OK;
    if (mode == MDS_TUNE_RUN && c->run.steps < MDS_TUNE_MIN_STEPS) {
        mds_text_add(&s->choices.text, "tuning: not for runs of fewer than %d steps\n", MDS_TUNE_MIN_STEPS);
        return MDS_OK;
    }
    write_key(s, &key);
    status = key.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : mds_cache_path("tune.conf", mode != MDS_TUNE_LOOK, &path);
    if (status == MDS_OK) mds_log(MDS_LOG_DEBUG, "tuning key: %s", key.s);
    if (status == MDS_OK) status = tune(s, mode, path, key.s);
    if (status == MDS_OK) mds_log(MDS_LOG_DEBUG, "%s", s->choices.text.s ? s->choices.text.s : "");
    mds_free(path);
    mds_text_free(&key);
    return status;
}
