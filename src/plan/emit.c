// SPDX-License-Identifier: Apache-2.0
// Launch files for a picked option: templates filled with what the adviser knows, a profile and the conf.
//
// Five programs start jobs in five languages, but a job is one thing: cloud/templates/job.sh fetches, runs, watches and saves,
// and reads what differs from job.env. The launchers' own files only bring it to a machine. Everything is made in memory first
// and written only if nothing of it is there yet; what was written, from which prices, is one line more of audit.jsonl.
#include "plan/emit.h"
#include "plan/inside.h"

#include "io/io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SKYPILOT = 1, SLURM = 2, KUBERNETES = 4, DSTACK = 8, EVERYWHERE = 15, VERBATIM = 16, PROGRAM = 32 };
enum { MAX_FILES = 16 };

static const struct {
    const char *source; // below the shared tables
    const char *name;   // in the folder; % stands for the name of the job
    int         use;
} sources[] = {
    {"templates/job.env", "job.env", EVERYWHERE},
    {"templates/job.sh", "job.sh", EVERYWHERE | VERBATIM | PROGRAM},
    {"watch", "watch", EVERYWHERE | VERBATIM | PROGRAM},
    {"templates/skypilot.yaml", "%.sky-task.yaml", SKYPILOT},
    {"templates/sky-config.yaml", ".sky.yaml", SKYPILOT},
    {"templates/slurm.sbatch", "%.sbatch", SLURM},
    {"templates/kubernetes.yaml", "%.mpijob.yaml", KUBERNETES},
    {"templates/dstack.yaml", "%.dstack.yml", DSTACK},
};
enum { N_SOURCES = sizeof sources / sizeof *sources };

typedef struct {
    char    *path; // with the folder
    mds_text text;
    char     hash[65];
    int      use;
} file;

typedef struct {
    const mds_plan_catalog      *catalog;
    const mds_plan              *plan;
    const mds_plan_option       *pick;
    const mds_plan_emit_options *o;
    mds_profile                  profile;
    mds_variables                v;
    int                          target;
    file                         files[MAX_FILES];
    int                          n_files;
} emission;

static mds_status find_target(emission *e)
{
    static const char *const names[] = {"skypilot", "slurm", "kubernetes", "dstack"};
    size_t                   k;

    for (k = 0; k < sizeof names / sizeof *names; k++)
        if (!strcmp(e->o->target, names[k])) e->target = 1 << k;
    MDS_CHECK(e->target, MDS_E_USAGE, "--emit %s: must be skypilot, slurm, kubernetes or dstack", e->o->target);
    return MDS_OK;
}

// --------------------------------------------------------------------------------------------------- variables

static mds_status set_number(emission *e, const char *name, double value)
{
    char   text[352]; // the longest double
    size_t n;

    if (!isfinite(value)) return mds_template_set(&e->v, name, "%s", "");
    snprintf(text, sizeof text, "%.6f", value); // never an exponent, which not every reader takes
    for (n = strlen(text); text[n - 1] == '0'; n--) text[n - 1] = '\0';
    if (text[n - 1] == '.') text[n - 1] = '\0';
    return mds_template_set(&e->v, name, "%s", text);
}

static mds_status set_text(emission *e, const char *name, const char *value)
{
    return mds_template_set(&e->v, name, "%s", value ? value : "");
}

static mds_status set_flag(emission *e, const char *name, bool on)
{
    return mds_template_set(&e->v, name, "%s", on ? "1" : "");
}

/// Lower-case letters, digits and single hyphens, at most 40: what Kubernetes, Slurm and the others all take as a name.
static mds_status set_name(emission *e)
{
    char   name[48] = "mdsim";
    size_t n = 5;
    const char *s;

    for (s = e->o->output; *s && n < 40; s++) {
        const bool plain = isalnum((unsigned char)*s) && (unsigned char)*s < 0x80;

        if (plain && s == e->o->output) name[n++] = '-';
        if (plain) name[n++] = (char)tolower((unsigned char)*s);
        if (!plain && name[n - 1] != '-') name[n++] = '-';
    }
    while (name[n - 1] == '-') n--;
    name[n] = '\0';
    return set_text(e, "NAME", name);
}

/// "s3:BUCKET/PREFIX", "gcs:BUCKET/PREFIX", "azureblob:ACCOUNT/CONTAINER/PREFIX" or an absolute folder.
static mds_status set_bucket(emission *e)
{
    const char *bucket = e->profile.bucket, *rest, *slash;
    const bool  s3 = bucket && !strncmp(bucket, "s3:", 3), gcs = bucket && !strncmp(bucket, "gcs:", 4);
    const bool  azure = bucket && !strncmp(bucket, "azureblob:", 10);

    if (!bucket) return MDS_OK;
    MDS_TRY(set_flag(e, "S3", s3));
    MDS_TRY(set_flag(e, "GCS", gcs));
    MDS_TRY(set_flag(e, "AZUREBLOB", azure));
    if (bucket[0] == '/') return set_text(e, "BUCKET", bucket);
    MDS_CHECK(s3 || gcs || azure, MDS_E_INPUT, "bucket '%s': must begin with s3:, gcs:, azureblob: or / (cloud/profiles/default.conf)", bucket);
    rest = strchr(bucket, ':') + 1;
    MDS_CHECK(mds_template_is_identifier(rest) && !strstr(rest, "..") && !strstr(rest, "//"), MDS_E_INPUT,
              "bucket '%s': letters, digits and . _ / - only, and no '..'", bucket);
    if (azure) {
        slash = strchr(rest, '/');
        MDS_CHECK(slash, MDS_E_INPUT, "bucket '%s': must be azureblob:ACCOUNT/CONTAINER/PREFIX", bucket);
        MDS_TRY(mds_template_set(&e->v, "STORAGE_ACCOUNT", "%.*s", (int)(slash - rest), rest));
        rest = slash + 1;
    }
    slash = strchr(rest, '/');
    MDS_CHECK(slash && slash[1] && rest[strlen(rest) - 1] != '/', MDS_E_INPUT,
              "bucket '%s': needs a prefix below the bucket, so that its policy can be confined to it", bucket);
    if (s3) {
        const char *region = e->profile.bucket_region ? e->profile.bucket_region : !strcasecmp(e->pick->machine->provider, "aws") ? e->pick->machine->region : NULL;

        MDS_CHECK(region, MDS_E_INPUT, "bucket '%s': say where it lies (bucket_region = \"us-east-1\"): the machine is one of %s, not of AWS", bucket,
                  e->pick->machine->provider);
        MDS_TRY(set_text(e, "BUCKET_REGION", region));
    }
    MDS_TRY(mds_template_set(&e->v, "BUCKET_NAME", "%.*s", (int)(slash - rest), rest));
    MDS_TRY(set_text(e, "PREFIX", slash + 1));
    return mds_template_set(&e->v, "BUCKET", "STORE:%s", rest);
}

static bool is_arm(const mds_plan_machine *m)
{
    return !strcmp(m->isa, "neon") || !strcmp(m->isa, "sve");
}

/// Processors and memory to ask for: twice what all runs need, but never all of the machine, as a node keeps a share of both
/// for itself and a pod that asks for the whole is never placed.
static mds_status set_needs(emission *e)
{
    const mds_plan_option  *p = e->pick;
    const mds_plan_machine *m = p->machine;
    const double            need = plan_memory_host(&e->plan->request.work) * fmax(1, p->runs), most = isnan(m->memory) ? INFINITY : floor(0.9 * m->memory);
    const double            memory = fmax(fmin(fmax(4, ceil(2 * need)), most), ceil(need));
    const double            cpus = fmax(1, fmin(fmax(1, p->threads) * fmax(1, p->runs), isnan(m->vcpus) ? INFINITY : floor(0.9 * m->vcpus)));

    MDS_TRY(set_number(e, "CPUS", cpus));
    MDS_TRY(mds_template_set(&e->v, "MEMORY", "%.0fGi", memory));
    MDS_TRY(mds_template_set(&e->v, "DSTACK_CPU", "%s%.0f..", is_arm(m) ? "arm:" : "", cpus)); // x86 unless said
    MDS_TRY(mds_template_set(&e->v, "DSTACK_MEMORY", "%.0fGB..", memory));
    MDS_TRY(mds_template_set(&e->v, "DSTACK_DISK", "%.0fGB..", e->profile.disk_gb)); // some machines have one size only
    MDS_TRY(mds_template_set(&e->v, "DISK", "%.0fGi", e->profile.disk_gb));
    return p->gpus_used > 0 ? mds_template_set(&e->v, "DSTACK_GPU", "nvidia:%d", m->gpus) : MDS_OK;
}

/// What the machine is and costs.
static mds_status set_machine(emission *e)
{
    const mds_plan_option  *p = e->pick;
    const mds_plan_machine *m = p->machine;
    char                    cloud[32];
    size_t                  k;

    for (k = 0; k + 1 < sizeof cloud && m->provider[k]; k++) cloud[k] = (char)tolower((unsigned char)m->provider[k]);
    cloud[k] = '\0';
    MDS_TRY(set_text(e, "CLOUD", cloud));
    MDS_TRY(set_text(e, "REGION", m->region));
    MDS_TRY(set_text(e, "INSTANCE", m->instance));
    MDS_TRY(mds_template_set(&e->v, "INFRA", "%s/%s", cloud, m->region));
    MDS_TRY(set_flag(e, "AWS", !strcmp(cloud, "aws")));
    MDS_TRY(set_flag(e, "GCP", !strcmp(cloud, "gcp")));
    MDS_TRY(set_flag(e, "AZURE", !strcmp(cloud, "azure")));
    MDS_TRY(set_flag(e, "NEBIUS", !strcmp(cloud, "nebius")));
    MDS_TRY(set_text(e, "WATCH", e->target == SLURM || e->target == KUBERNETES        ? "none"
                                 : !strcmp(cloud, "aws") || !strcmp(cloud, "gcp") || !strcmp(cloud, "azure") ? cloud
                                                                                                       : "auto"));
    MDS_TRY(set_text(e, "USE_SPOT", p->price == MDS_PLAN_SPOT ? "true" : "false"));
    MDS_TRY(set_text(e, "SPOT_POLICY", p->price == MDS_PLAN_SPOT ? "spot" : "on-demand"));
    MDS_TRY(set_needs(e));
    return set_number(e, "MACHINE_PRICE", isfinite(e->plan->request.max_price) ? e->plan->request.max_price : 1.1 * p->usd_per_h_high);
}

/// How it runs there, and when it stops.
static mds_status set_run(emission *e)
{
    const mds_plan_option  *p = e->pick;
    const mds_plan_request *r = &e->plan->request;
    const bool              slurm = e->target == SLURM;
    const int               replicas = r->replicas > 1 ? r->replicas : 1, together = p->runs > 1 ? p->runs : 1;
    const double            batches = ceil((double)replicas / together); // the last may fill the machine in part only, at its whole price

    MDS_TRY(set_flag(e, "SLURM", slurm));
    MDS_TRY(set_number(e, "RANKS", 1));
    MDS_TRY(set_number(e, "NODES", 1));
    MDS_TRY(set_number(e, "THREADS", fmax(1, p->threads)));
    MDS_TRY(p->gpus_used > 0 ? set_number(e, "GPUS", slurm ? 1 : p->gpus_used) : set_text(e, "GPUS", ""));
    MDS_TRY(set_number(e, "RUNS_PER_GPU", p->runs_per_gpu > 1 ? p->runs_per_gpu : 1));
    MDS_TRY(set_number(e, "RUNS", together));
    MDS_TRY(set_number(e, "REPLICAS", replicas));
    MDS_TRY(replicas > 1 ? set_number(e, "ARRAY", replicas) : set_text(e, "ARRAY", ""));
    MDS_TRY(set_number(e, "STEPS", round(1e3 * r->length / r->work.dt))); // what was planned is what runs
    MDS_TRY(set_number(e, "PRICE", p->usd_per_h * batches / replicas));
    MDS_TRY(set_number(e, "NS_PER_DAY", p->ns_per_day));
    MDS_TRY(set_text(e, "BASIS", mds_plan_basis_name(p->basis)));
    MDS_TRY(set_number(e, "MAX_COST", r->budget / replicas > 0 ? fmax(1e-6, r->budget / replicas) : NAN)); // 0 would be no guard
    MDS_TRY(set_flag(e, "KUBERNETES", e->target == KUBERNETES));
    MDS_TRY(p->basis == MDS_PLAN_MEASURED && e->profile.stop_if_below > 0 ? set_number(e, "STOP_IF_BELOW", e->profile.stop_if_below)
                                                                         : set_text(e, "STOP_IF_BELOW", ""));
    MDS_TRY(set_number(e, "CHECKPOINT_MINUTES", isfinite(p->checkpoint_minutes) ? fmax(0.1, p->checkpoint_minutes) : e->profile.checkpoint_minutes));
    MDS_TRY(set_number(e, "MINUTES", ceil(60 * e->profile.hours)));
    MDS_TRY(set_number(e, "GRACE", ceil(e->profile.grace_seconds)));
    MDS_TRY(set_number(e, "SAVE_SECONDS", 60 * e->profile.save_minutes));
    MDS_TRY(set_number(e, "PART_GB", e->profile.part_gb));
    MDS_TRY(set_number(e, "DISK_GB", ceil(e->profile.disk_gb)));
    MDS_TRY(set_number(e, "IDLE_MINUTES", ceil(e->profile.idle_minutes)));
    MDS_TRY(set_number(e, "MAX_HOURS", ceil(r->deadline)));
    return set_number(e, "DEADLINE_SECONDS", ceil(3600 * r->deadline));
}

static mds_status set_conf(emission *e)
{
    const char *slash = strrchr(e->o->conf, '/');
    char        whole[PATH_MAX];

    MDS_CHECK(mds_template_is_identifier(e->o->output) && !strchr(e->o->output, '/'), MDS_E_INPUT,
              "output.name = '%s': in launch files it must be of letters, digits and . _ - only, without a folder", e->o->output);
    MDS_TRY(set_name(e));
    MDS_TRY(set_text(e, "OUTPUT", e->o->output));
    MDS_TRY(set_text(e, "MDSIM", e->profile.mdsim ? e->profile.mdsim : "mdsim"));
    // on a cluster's own disks the conf stays where it is; anywhere else input/ is brought to the job
    if (e->target != SLURM || e->profile.bucket) return mds_template_set(&e->v, "CONF", "input/%s", slash ? slash + 1 : e->o->conf);
    MDS_CHECK(realpath(e->o->conf, whole), MDS_E_MISSING, "%s: %s", e->o->conf, strerror(errno));
    return set_text(e, "CONF", whole);
}

static mds_status set_profile(emission *e)
{
    const mds_profile *p = &e->profile;

    MDS_TRY(set_text(e, "IMAGE", p->image));
    MDS_TRY(mds_template_set(&e->v, "DOCKER_IMAGE", "docker:%s", p->image ? p->image : ""));
    MDS_TRY(set_text(e, "CLAIM", p->claim));
    MDS_TRY(set_text(e, "PARTITION", p->partition));
    MDS_TRY(set_text(e, "ACCOUNT", p->account));
    MDS_TRY(set_text(e, "QUEUE", p->queue));
    MDS_TRY(set_text(e, "NAMESPACE", p->kube_namespace ? p->kube_namespace : "default"));
    MDS_TRY(set_text(e, "SERVICE_ACCOUNT", p->service_account));
    MDS_TRY(set_text(e, "VPC", p->vpc));
    MDS_TRY(set_text(e, "SECURITY_GROUP", p->security_group));
    return set_text(e, "ROLE", p->role);
}

/// What would start a job that cannot work, or whose results die with its machine.
static mds_status refuse_lost_work(const emission *e)
{
    const mds_plan_option *p = e->pick;

    const char            *instance = p->machine->instance;

    MDS_CHECK(p->ranks <= 1, MDS_E_UNSUPPORTED, "rank %d uses %d GPUs for one run; this version runs on one: pick another", p->rank, p->ranks);
    MDS_CHECK(p->machine->whole, MDS_E_UNSUPPORTED, "rank %d, '%s', is a price without a machine: nothing can be launched on it", p->rank, instance);
    if (e->target == SLURM) return MDS_OK;
    MDS_CHECK(e->profile.image, MDS_E_INPUT,
              "--emit %s needs a profile with an image: build cloud/Dockerfile.cpu or Dockerfile.cuda, and see cloud/profiles/default.conf", e->o->target);
    MDS_CHECK(e->profile.bucket || (e->target == KUBERNETES && e->profile.claim), MDS_E_INPUT,
              "--emit %s needs a profile with a bucket%s: without one the results are gone when the machine is", e->o->target,
              e->target == KUBERNETES ? " or a claim" : "");
    // the value of a label: that is how the pod finds its node
    MDS_CHECK(e->target != KUBERNETES || (mds_template_is_identifier(instance) && !strchr(instance, '/') && strlen(instance) < 64), MDS_E_INPUT,
              "'%s' cannot be the instance type of a Kubernetes node: letters, digits and . _ - only, at most 63", instance);
    return MDS_OK;
}

// -------------------------------------------------------------------------------------------------------- files

static void hash_text(const char *text, size_t n, char out[65])
{
    static const char digits[] = "0123456789abcdef";
    mds_sha256        sha;
    uint8_t           sum[32];
    int               k;

    mds_sha256_init(&sha);
    mds_sha256_add(&sha, text, n);
    mds_sha256_end(&sha, sum);
    for (k = 0; k < 32; k++) {
        out[2 * k] = digits[sum[k] >> 4];
        out[2 * k + 1] = digits[sum[k] & 15];
    }
    out[64] = '\0';
}

/// One file of the folder, in memory.
static mds_status make_file(emission *e, const char *source, const char *name, int use)
{
    file       *f = &e->files[e->n_files];
    const char *percent = strchr(name, '%');
    char       *path = NULL, *text = NULL;
    mds_text    whole = {0};
    size_t      n;
    mds_status  status;

    MDS_ASSERT(e->n_files < MAX_FILES);
    e->n_files++;
    f->use = use;
    MDS_TRY(mds_plan_template(source, &path));
    MDS_TRY_GOTO(mds_file_read(path, &text, &n));
    if (use & VERBATIM)
        mds_text_add_bytes(&f->text, text, n);
    else
        MDS_TRY_GOTO(mds_template_expand(source, text, &e->v, &f->text));
    if (percent)
        mds_text_add(&whole, "%s/%.*s%s%s", e->o->out, (int)(percent - name), name, mds_template_get(&e->v, "NAME"), percent + 1);
    else
        mds_text_add(&whole, "%s/%s", e->o->out, name);
    if (f->text.failed || whole.failed) {
        status = mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory");
        goto fail;
    }
    hash_text(f->text.s, f->text.n, f->hash);
    MDS_TRY_GOTO(mds_copy_text(&f->path, whole.s, SIZE_MAX));
    // the Kubernetes file carries job.env inside
    if (!strcmp(name, "job.env")) MDS_TRY_GOTO(set_text(e, "JOB_ENV", f->text.s));
fail:
    mds_text_free(&whole);
    mds_free(text);
    mds_free(path);
    return status;
}

static mds_status make_files(emission *e)
{
    const char *policy = mds_template_get(&e->v, "S3") ? "aws" : mds_template_get(&e->v, "GCS") ? "gcp" : mds_template_get(&e->v, "AZUREBLOB") ? "azure" : NULL;
    mds_text    source = {0};
    mds_status  status = MDS_OK;
    int         k;

    for (k = 0; k < N_SOURCES; k++)
        if (sources[k].use & e->target) MDS_TRY(make_file(e, sources[k].source, sources[k].name, sources[k].use));
    if (!policy) return MDS_OK;
    mds_text_add(&source, "policies/%s.json", policy);
    status = source.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : make_file(e, source.s, "bucket-policy.json", 0);
    mds_text_free(&source);
    return status;
}

static mds_status write_all(int fd, const char *path, const char *text, size_t n)
{
    size_t done = 0;
    int    why = 0;

    while (done < n && !why) {
        const ssize_t got = write(fd, text + done, n - done);

        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            why = got == 0 ? ENOSPC : errno;
    }
    if (close(fd) && !why) why = errno;
    MDS_CHECK(!why, MDS_E_WRITE, "%s: cannot write: %s", path, strerror(why));
    return MDS_OK;
}

/// Everything, or nothing if a file of that name is there: O_EXCL holds even if somebody else is writing at the same time.
static mds_status write_files(emission *e)
{
    int k;

    MDS_CHECK(!mkdir(e->o->out, 0777) || errno == EEXIST, MDS_E_WRITE, "%s: cannot make this folder: %s", e->o->out, strerror(errno));
    for (k = 0; k < e->n_files; k++)
        MDS_CHECK(!mds_file_exists(e->files[k].path), MDS_E_WRITE, "%s is there already, and nothing is overwritten: give another --out, or move it away",
                  e->files[k].path);
    for (k = 0; k < e->n_files; k++) {
        const file *f = &e->files[k];
        const int   fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, f->use & PROGRAM ? 0777 : 0666);

        MDS_CHECK(fd >= 0, MDS_E_WRITE, "%s: cannot write: %s", f->path, strerror(errno));
        MDS_TRY(write_all(fd, f->path, f->text.s, f->text.n));
    }
    return MDS_OK;
}

static void add_pair(mds_text *out, const char *name, const char *value)
{
    mds_text_add(out, ", \"%s\": ", name);
    mds_text_add_json(out, value ? value : "");
}

/// One line more: what, when, from which prices and which conf, which files. No secrets, as none are known here.
static mds_status audit(const emission *e)
{
    const mds_plan_option *p = e->pick;
    const time_t           now = time(NULL);
    struct tm              utc;
    mds_text               line = {0}, path = {0};
    char                   when[32], conf_hash[65] = "", *conf = NULL;
    size_t                 n;
    mds_status             status = MDS_OK;
    int                    k, fd;

    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    if (mds_file_read(e->o->conf, &conf, &n) == MDS_OK) hash_text(conf, n, conf_hash);
    mds_free(conf);
    mds_text_add(&line, "{ \"time\": \"%s\", \"program\": \"mdsim %s\"", when, MDS_VERSION);
    add_pair(&line, "target", e->o->target);
    add_pair(&line, "conf", e->o->conf);
    add_pair(&line, "conf_sha256", conf_hash);
    add_pair(&line, "prices_sha256", mds_plan_catalog_hash(e->catalog));
    add_pair(&line, "provider", p->machine->provider);
    add_pair(&line, "region", p->machine->region);
    add_pair(&line, "instance", p->machine->instance);
    add_pair(&line, "price_kind", mds_plan_price_name(p->price));
    mds_text_add(&line, ", \"usd_per_h\": %.6g, \"ns_per_day\": %.6g", p->usd_per_h, p->ns_per_day);
    add_pair(&line, "basis", mds_plan_basis_name(p->basis));
    mds_text_add(&line, ", \"files\": {");
    for (k = 0; k < e->n_files; k++) {
        mds_text_add(&line, k ? ", " : " ");
        mds_text_add_json(&line, strrchr(e->files[k].path, '/') + 1);
        mds_text_add(&line, ": \"%s\"", e->files[k].hash);
    }
    mds_text_add(&line, " } }\n");
    mds_text_add(&path, "%s/audit.jsonl", e->o->out);
    fd = line.failed || path.failed ? -1 : open(path.s, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    status = fd < 0 ? mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s/audit.jsonl: cannot write: %s", e->o->out, strerror(errno))
                    : write_all(fd, path.s, line.s, line.n);
    mds_text_free(&line);
    mds_text_free(&path);
    return status;
}

static void say_how(const emission *e)
{
    const char             *name = mds_template_get(&e->v, "NAME");
    const mds_plan_machine *m = e->pick->machine;
    int                     k;

    mds_print("picked #%d: %s %s %s, %s\n", e->pick->rank, m->provider, m->region, m->instance, mds_plan_price_name(e->pick->price));
    for (k = 0; k < e->n_files; k++) mds_print("wrote %s\n", e->files[k].path);
    mds_print("to start it, in %s: ", e->o->out);
    if (e->target == SKYPILOT) mds_print("sky jobs launch %s.sky-task.yaml\n", name);
    if (e->target == SLURM) mds_print("sbatch %s.sbatch\n", name);
    if (e->target == KUBERNETES) mds_print("kubectl apply -f %s.mpijob.yaml\n", name);
    if (e->target == DSTACK) mds_print("dstack apply -f %s.dstack.yml\n", name);
    if (e->pick->gpus_used > 0 && !e->plan->request.gpu_engine)
        mds_print("THIS BUILD HAS NO GPU ENGINE: an image built without nvcc (Dockerfile.cpu) ends such a job at once with exit code 78; no GPU has run one yet\n");
    if (is_arm(m) && e->target != SLURM) mds_print("its processor is an ARM one: the image must be one for linux/arm64\n");
    mds_print("how far to trust it, and how to begin small: docs/cloud-launch.md\n");
}

static mds_status emit(emission *e)
{
    MDS_TRY(find_target(e));
    MDS_CHECK(e->o->out && *e->o->out, MDS_E_USAGE, "--emit needs --out DIR");
    MDS_CHECK(e->o->conf, MDS_E_USAGE, "--emit needs an input file: a job cannot be started from --atoms");
    MDS_TRY(mds_profile_read(e->o->profile, &e->profile));
    MDS_TRY(refuse_lost_work(e));
    MDS_TRY(set_conf(e));
    MDS_TRY(set_profile(e));
    MDS_TRY(set_bucket(e));
    MDS_TRY(set_machine(e));
    MDS_TRY(set_run(e));
    MDS_TRY(make_files(e));
    MDS_TRY(write_files(e));
    MDS_TRY(audit(e));
    say_how(e);
    return MDS_OK;
}

mds_status mds_plan_emit(const mds_plan_catalog *catalog, const mds_plan *plan, const mds_plan_option *pick, const mds_plan_emit_options *options)
{
    emission   e = {.catalog = catalog, .plan = plan, .pick = pick, .o = options};
    mds_status status = emit(&e);
    int        k;

    for (k = 0; k < e.n_files; k++) {
        mds_free(e.files[k].path);
        mds_text_free(&e.files[k].text);
    }
    mds_template_free(&e.v);
    mds_profile_free(&e.profile);
    return status;
}
