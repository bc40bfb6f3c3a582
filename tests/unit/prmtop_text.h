// SPDX-License-Identifier: Apache-2.0
// Small prmtop files for tests: sections by name, changed or dropped one by one, then written to a temporary directory.
#ifndef MDS_TEST_PRMTOP_TEXT_H
#define MDS_TEST_PRMTOP_TEXT_H

#include "base/rng.h"
#include "read/read.h"
#include "test.h"

#include <unistd.h>

typedef struct {
    char     name[84], format[100];
    mds_text data;
} prm_section;

typedef struct {
    prm_section section[96];
    int         n;
} prm_text;

static char prm_directory[64];

static inline void prm_clean(void)
{
    char command[100];

    snprintf(command, sizeof command, "rm -rf '%s'", prm_directory);
    if (system(command)) fprintf(stderr, "could not remove %s\n", prm_directory);
}

/// A path in the test's own temporary directory. Static storage, two at a time.
static inline const char *prm_path(const char *name)
{
    static char path[2][200];
    static int  turn;

    if (!prm_directory[0]) {
        strcpy(prm_directory, "/tmp/mds_amber_XXXXXX");
        if (!mkdtemp(prm_directory)) exit(1);
        (void)atexit(prm_clean);
    }
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", prm_directory, name);
    return path[turn];
}

/// Write a file without waiting for the disk, as thousands of broken ones need it (ext4 flushes a file written over an old one).
static inline void prm_put(const char *path, const char *bytes, size_t n)
{
    FILE *file;

    (void)unlink(path);
    file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, n, file) != n || fclose(file)) exit(1);
}

/// The section, emptied and given a format; added at the end if new.
static inline prm_section *prm_begin(prm_text *t, const char *name, const char *format)
{
    int k = 0;

    while (k < t->n && strcmp(t->section[k].name, name) != 0) k++;
    if (k == t->n) {
        if (t->n == 96) exit(1);
        memset(&t->section[t->n++], 0, sizeof t->section[0]);
        snprintf(t->section[k].name, sizeof t->section[k].name, "%s", name);
    }
    mds_text_free(&t->section[k].data);
    memset(&t->section[k].data, 0, sizeof t->section[k].data);
    snprintf(t->section[k].format, sizeof t->section[k].format, "%s", format);
    return &t->section[k];
}

static inline void prm_ints(prm_text *t, const char *name, int n, const int *value)
{
    prm_section *s = prm_begin(t, name, "(10I8)");

    for (int k = 0; k < n; k++) mds_text_add(&s->data, "%8d%s", value[k], k % 10 == 9 || k == n - 1 ? "\n" : "");
    if (!n) mds_text_add(&s->data, "\n");
}

static inline void prm_reals(prm_text *t, const char *name, int n, const double *value)
{
    prm_section *s = prm_begin(t, name, "(5E16.8)");

    for (int k = 0; k < n; k++) mds_text_add(&s->data, "%16.8E%s", value[k], k % 5 == 4 || k == n - 1 ? "\n" : "");
    if (!n) mds_text_add(&s->data, "\n");
}

/// Names separated by blanks, written as 20a4.
static inline void prm_names(prm_text *t, const char *name, const char *words)
{
    prm_section *s = prm_begin(t, name, "(20a4)");
    int          k = 0, used;
    char         word[8];

    while (sscanf(words, "%7s%n", word, &used) == 1) {
        mds_text_add(&s->data, "%-4.4s%s", word, k % 20 == 19 ? "\n" : "");
        words += used;
        k++;
    }
    mds_text_add(&s->data, "\n");
}

static inline void prm_raw(prm_text *t, const char *name, const char *format, const char *data)
{
    mds_text_add(&prm_begin(t, name, format)->data, "%s", data);
}

static inline void prm_drop(prm_text *t, const char *name)
{
    for (int k = 0; k < t->n; k++) {
        if (strcmp(t->section[k].name, name) != 0) continue;
        mds_text_free(&t->section[k].data);
        memmove(&t->section[k], &t->section[k + 1], (size_t)(t->n - k - 1) * sizeof t->section[0]);
        t->n--;
        return;
    }
}

static inline void prm_free(prm_text *t)
{
    for (int k = 0; k < t->n; k++) mds_text_free(&t->section[k].data);
    t->n = 0;
}

/// The whole file as text. Owner: caller, mds_text_free.
static inline mds_text prm_whole(const prm_text *t)
{
    mds_text out = {0};

    mds_text_add(&out, "%%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/26  12:00:00\n");
    for (int k = 0; k < t->n; k++)
        mds_text_add(&out, "%%FLAG %s\n%%FORMAT%s\n%s", t->section[k].name, t->section[k].format,
                     t->section[k].data.s ? t->section[k].data.s : "\n");
    return out;
}

static inline const char *prm_write(const prm_text *t, const char *file_name)
{
    const char *path = prm_path(file_name);
    mds_text    all = prm_whole(t);

    prm_put(path, all.s, all.n);
    mds_text_free(&all);
    return path;
}

/// POINTERS of a file by its parts; the rest 0.
typedef struct {
    int atoms, types, bonds_h, bonds, angles_h, angles, dihedrals_h, dihedrals, excluded, residues, bond_types, angle_types,
        dihedral_types, hbond, box, extra;
} prm_counts;

static inline void prm_pointers(prm_text *t, prm_counts c)
{
    const int value[31] = {c.atoms, c.types, c.bonds_h, c.bonds, c.angles_h, c.angles, c.dihedrals_h, c.dihedrals, 0, 0,
                           c.excluded, c.residues, c.bonds, c.angles, c.dihedrals, c.bond_types, c.angle_types,
                           c.dihedral_types, c.types, c.hbond, 0, 0, 0, 0, 0, 0, 0, c.box, 0, 0, c.extra};

    prm_ints(t, "POINTERS", 31, value);
}

/// Bytes changed, lines lost, the end cut off: whatever comes, a verdict with a message and no crash (sanitizers watch).
static inline void prm_broken_files_never_crash(const prm_text *t, uint64_t seed)
{
    const char            *path = prm_path("broken.prmtop");
    const mds_read_request request = {.topology = path};
    mds_text               whole = prm_whole(t);
    int                    round, good = 0;

    for (round = 0; round < 1500; round++) {
        static const char nasty[] = "0123456789-+.Ee* \n%()a\0\x80";
        mds_text          copy = {0};
        mds_system        system = {0};
        mds_read_report   report = {0};
        mds_box           box;
        mds_status        status;
        double            u[4];
        int               k;

        mds_text_add_bytes(&copy, whole.s, whole.n);
        mds_uniform4(seed, MDS_RNG_MAKE, (uint64_t)round, 0, u);
        for (k = 0; k <= (int)(4 * u[0]); k++) {
            double w[4];

            mds_uniform4(seed, MDS_RNG_MAKE, (uint64_t)round, (uint32_t)k + 1, w);
            copy.s[(size_t)(w[0] * (double)copy.n)] = nasty[(size_t)(w[1] * (sizeof nasty - 1))];
        }
        if (u[1] < 0.1) copy.n = (size_t)(u[2] * (double)copy.n);
        prm_put(path, copy.s, copy.n);
        mds_text_free(&copy);
        mds_error_clear();
        status = mds_read_prmtop(&request, &system, &box, &report);
        if (status == MDS_OK) {
            good++;
            status = mds_system_freeze(&system);
        }
        if (status != MDS_OK && !mds_error_text()[0]) TEST_TRUE(false && "a failure without a message");
        mds_system_free(&system);
        mds_read_report_free(&report);
    }
    mds_text_free(&whole);
    TEST_TRUE(good > 0 && good < 1500); // some damage is harmless (a digit of a mass), most is not
}

#define INTS(t, name, ...)                                                                                   \
    prm_ints(t, name, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__})
#define REALS(t, name, ...)                                                                                  \
    prm_reals(t, name, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (const double[]){__VA_ARGS__})

#endif
