// SPDX-License-Identifier: Apache-2.0
// mdsim bench --compare OLD.json: the speed of each case over that of the same case in an earlier file.
//
// The reader takes any JSON [rfc 8259] and keeps what it needs from the objects of the outermost array; deeper
// values are skipped. Bad input is refused with its byte.
#include "cli/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

typedef struct {
    const char *path, *text, *at;
} json;

/// What a comparison needs of an old case.
typedef struct {
    char   name[64], isa[16], device[128], date[16];
    double n_atoms, threads, ms, spread, dt_fs;
} old_case;

static mds_status bad(const json *j, const char *what)
{
    MDS_FAIL(MDS_E_INPUT, "%s: byte %lld: %s: not a result of mdsim bench --json", j->path, (long long)(j->at - j->text), what);
}

static void blanks(json *j)
{
    j->at += strspn(j->at, " \t\r\n");
}

/// A string into `out` (cut to its size); escapes other than \" \\ \/ become '?': names of ours have none.
static mds_status string(json *j, char *out, size_t size)
{
    size_t n = 0;

    if (*j->at != '"') return bad(j, "a text is expected");
    for (j->at++; *j->at && *j->at != '"'; j->at++) {
        char c = *j->at;

        if ((unsigned char)c < 32) return bad(j, "a text that does not end");
        if (c == '\\') {
            c = *++j->at;
            if (!c) break;
            if (c != '"' && c != '\\' && c != '/') c = '?';
        }
        if (n + 1 < size) out[n++] = c;
    }
    if (size) out[n] = '\0';
    if (*j->at != '"') return bad(j, "a text that does not end");
    j->at++;
    return MDS_OK;
}

static mds_status skip(json *j, int depth);

static mds_status number(json *j, double *out)
{
    char *end;

    if (!strncmp(j->at, "null", 4)) {
        *out = NAN;
        j->at += 4;
        return MDS_OK;
    }
    if (*j->at != '-' && (*j->at < '0' || *j->at > '9')) return bad(j, "a number is expected");
    *out = strtod(j->at, &end);
    j->at = end;
    return MDS_OK;
}

/// Members of an object or values of an array, all skipped.
static mds_status skip_inside(json *j, char closing, int depth)
{
    j->at++;
    blanks(j);
    if (*j->at == closing) {
        j->at++;
        return MDS_OK;
    }
    for (;;) {
        if (closing == '}') {
            MDS_TRY(string(j, NULL, 0));
            blanks(j);
            if (*j->at != ':') return bad(j, "':' is expected");
            j->at++;
            blanks(j);
        }
        MDS_TRY(skip(j, depth + 1));
        blanks(j);
        if (*j->at != ',' && *j->at != closing) return bad(j, "',' is expected");
        if (*j->at++ == closing) return MDS_OK;
        blanks(j);
    }
}

static mds_status skip(json *j, int depth)
{
    double number_here;

    if (depth > MAX_DEPTH) return bad(j, "nested too deeply");
    if (*j->at == '"') return string(j, NULL, 0);
    if (*j->at == '{') return skip_inside(j, '}', depth);
    if (*j->at == '[') return skip_inside(j, ']', depth);
    if (!strncmp(j->at, "true", 4) || !strncmp(j->at, "false", 5)) {
        j->at += *j->at == 't' ? 4 : 5;
        return MDS_OK;
    }
    return number(j, &number_here);
}

static mds_status member(json *j, old_case *c)
{
    char key[64];

    MDS_TRY(string(j, key, sizeof key));
    blanks(j);
    if (*j->at != ':') return bad(j, "':' is expected");
    j->at++;
    blanks(j);
    if (!strcmp(key, "case")) return string(j, c->name, sizeof c->name);
    if (!strcmp(key, "isa")) return string(j, c->isa, sizeof c->isa);
    if (!strcmp(key, "device")) return string(j, c->device, sizeof c->device);
    if (!strcmp(key, "date")) return string(j, c->date, sizeof c->date);
    if (!strcmp(key, "n_atoms")) return number(j, &c->n_atoms);
    if (!strcmp(key, "threads")) return number(j, &c->threads);
    if (!strcmp(key, "ms_per_step")) return number(j, &c->ms);
    if (!strcmp(key, "spread")) return number(j, &c->spread);
    if (!strcmp(key, "dt_fs")) return number(j, &c->dt_fs);
    return skip(j, 1);
}

static mds_status read_case(json *j, old_case *c)
{
    *c = (old_case){.n_atoms = NAN, .threads = NAN, .ms = NAN, .spread = NAN, .dt_fs = NAN};
    if (*j->at != '{') return bad(j, "an object is expected");
    j->at++;
    blanks(j);
    while (*j->at != '}') {
        MDS_TRY(member(j, c));
        blanks(j);
        if (*j->at == '}') break;
        if (*j->at != ',') return bad(j, "',' is expected");
        j->at++;
        blanks(j);
    }
    j->at++;
    if (!c->name[0] || !(c->ms > 0)) return bad(j, "a case without name or time");
    return MDS_OK;
}

/// One line for every new case that the old one is the same work as.
static int compare_case(const old_case *old, const bench_case *cases, int n, bool print)
{
    int k, found = 0;

    for (k = 0; k < n; k++) {
        const mds_bench_result *r = &cases[k].r;
        const double            ratio = old->ms / r->ms_per_step, noise = fmax(r->spread, old->spread);

        if (strcmp(old->name, cases[k].name) || old->n_atoms != r->n_atoms || old->threads != r->threads || fabs(old->dt_fs - r->dt_fs) > 1e-9) continue;
        found++;
        if (!print) continue;
        mds_print("%-14s %9d %7d %10.4f %10.4f %8.3f  %s%s\n", old->name, r->n_atoms, r->threads, old->ms, r->ms_per_step, ratio,
                  fabs(ratio - 1) <= noise ? "within the spread" : ratio > 1 ? "faster" : "slower",
                  strcmp(old->device, r->device) ? "; another machine" : strcmp(old->isa, r->isa) ? "; another instruction set" : "");
    }
    return found;
}

static mds_status compare_all(json *j, const bench_case *cases, int n, bool print)
{
    old_case old;
    int      found = 0;

    blanks(j);
    if (*j->at != '[') return bad(j, "an array is expected");
    j->at++;
    blanks(j);
    while (*j->at != ']') {
        MDS_TRY(read_case(j, &old));
        if (print && !found) mds_print("\nagainst %s (%s):\n%-14s %9s %7s %10s %10s %8s\n", j->path, old.date, "case", "atoms", "threads", "old ms", "new ms", "speed");
        found += compare_case(&old, cases, n, print) + 1;
        blanks(j);
        if (*j->at == ',') {
            j->at++;
            blanks(j);
        } else if (*j->at != ']') {
            return bad(j, "',' is expected");
        }
    }
    j->at++;
    blanks(j);
    return *j->at ? bad(j, "something follows the end") : MDS_OK;
}

mds_status bench_compare(const char *path, const bench_case *cases, int n, bool print)
{
    char      *text;
    size_t     size;
    json       j = {.path = path};
    mds_status status;

    MDS_TRY(mds_file_read(path, &text, &size));
    j.text = j.at = text;
    status = compare_all(&j, cases, n, print);
    mds_free(text);
    return status;
}
