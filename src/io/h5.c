// SPDX-License-Identifier: Apache-2.0
// HDF5 helpers, and what a trajectory says once: species, masses, charges, bonds, names.
#include "io/h5.h"

#include <stdlib.h>
#include <string.h>

hid_t mds_h5_access(int32_t n_atoms)
{
    const hid_t  access = H5Pcreate(H5P_FILE_ACCESS);
    const size_t frame = 12 * (size_t)n_atoms + 4096, cache = frame > (1u << 20) ? frame + (1u << 20) : 1u << 20;

    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
    H5Pset_cache(access, 0, 521, cache, 0.75);
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MINOR == 12 && H5_VERS_RELEASE == 0)
    H5Pset_file_locking(access, 0, 1);
#endif
    return access;
}

static herr_t note_failure(hid_t stack, void *failed)
{
    (void)stack;
    *(bool *)failed = true;
    return 0;
}

void mds_h5_watch(bool *failed)
{
    H5Eset_auto2(H5E_DEFAULT, failed ? note_failure : NULL, failed);
}

static void attribute(hid_t object, const char *name, hid_t type, hid_t space, const void *data)
{
    const hid_t a = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

    H5Awrite(a, type, data);
    H5Aclose(a);
    H5Sclose(space);
}

static hid_t text_type(void)
{
    const hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

void mds_h5_text_attribute(hid_t object, const char *name, const char *text)
{
    const hid_t type = text_type();

    attribute(object, name, type, H5Screate(H5S_SCALAR), &text);
    H5Tclose(type);
}

void mds_h5_texts_attribute(hid_t object, const char *name, int n, const char *const *texts)
{
    const hid_t   type = text_type();
    const hsize_t size = (hsize_t)n;

    attribute(object, name, type, H5Screate_simple(1, &size, NULL), texts);
    H5Tclose(type);
}

void mds_h5_int_attribute(hid_t object, const char *name, int n, const int *values)
{
    const hsize_t size = (hsize_t)n;

    attribute(object, name, H5T_NATIVE_INT, n > 1 ? H5Screate_simple(1, &size, NULL) : H5Screate(H5S_SCALAR), values);
}

static int extents(hid_t set, hsize_t size[3])
{
    const hid_t space = H5Dget_space(set);
    const int   rank = H5Sget_simple_extent_ndims(space);

    if (rank < 1 || rank > 3 || H5Sget_simple_extent_dims(space, size, NULL) < 0) {
        H5Sclose(space);
        return 0;
    }
    H5Sclose(space);
    return rank;
}

int64_t mds_h5_length(hid_t set)
{
    hsize_t size[3];

    return extents(set, size) ? (int64_t)size[0] : -1;
}

int32_t mds_h5_rows(hid_t set)
{
    hsize_t size[3];

    return extents(set, size) > 1 && size[1] <= INT32_MAX ? (int32_t)size[1] : 0;
}

bool mds_h5_has_shape(hid_t set, int rank, int32_t rows)
{
    hsize_t size[3];

    return extents(set, size) == rank && (rank == 1 || (size[1] == (hsize_t)rows && size[2] == 3));
}

bool mds_h5_set_length(hid_t set, int64_t n)
{
    hsize_t size[3];

    if (!extents(set, size)) return false;
    size[0] = (hsize_t)n;
    return H5Dset_extent(set, size) >= 0;
}

bool mds_h5_read_row(hid_t set, hid_t type, int64_t k, void *out)
{
    hsize_t   size[3], start[3] = {(hsize_t)k, 0, 0};
    const int rank = extents(set, size);
    hid_t     there, here;
    bool      good;

    if (!rank || k < 0 || (hsize_t)k >= size[0]) return false;
    size[0] = 1;
    there = H5Dget_space(set);
    here = H5Screate_simple(rank, size, NULL);
    H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, size, NULL);
    good = H5Dread(set, type, here, there, H5P_DEFAULT, out) >= 0;
    H5Sclose(here);
    H5Sclose(there);
    return good;
}

// ----------------------------------------------------------------------------------------- written once

static hid_t plain(hid_t group, const char *name, hid_t file_type, hid_t type, int rank, const hsize_t *size, const void *data)
{
    const hid_t space = H5Screate_simple(rank, size, NULL);
    const hid_t set = H5Dcreate2(group, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Sclose(space);
    return set;
}

static void plain_texts(hid_t group, const char *name, hsize_t n, size_t width, const char *texts)
{
    const hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, width);
    H5Dclose(plain(group, name, type, type, 1, &n, texts)); // VMD's reader wants fixed-length strings here
    H5Tclose(type);
}

/// Species: each distinct (name, atomic number) of an atom is one. Fills species_of, first atom of each; returns the number.
static int32_t find_species(const mds_system *s, int32_t *species_of, int32_t *first)
{
    enum { SLOTS = 1 << 14 };
    static int32_t slots[SLOTS]; // species + 1
    int32_t        n = 0, i;

    memset(slots, 0, sizeof slots);
    for (i = 0; i < s->n_atoms; i++) {
        uint64_t key;
        uint32_t at;

        memcpy(&key, s->name.atom[i], 8);
        key = (key ^ (uint64_t)(uint32_t)s->atomic_number[i]) * 0x9E3779B97F4A7C15u;
        at = (uint32_t)(key >> 50) % SLOTS;
        while (slots[at] && (memcmp(s->name.atom[first[slots[at] - 1]], s->name.atom[i], 8) ||
                             s->atomic_number[first[slots[at] - 1]] != s->atomic_number[i]))
            at = (at + 1) % SLOTS;
        if (!slots[at]) {
            if (n >= SLOTS / 2) { // names without end: all further atoms share the last species
                species_of[i] = n - 1;
                continue;
            }
            first[n] = i;
            slots[at] = ++n;
        }
        species_of[i] = slots[at] - 1;
    }
    return n;
}

static void write_vmd_structure(hid_t file, const mds_system *s, int32_t n_species, const int32_t *first, hsize_t n_bonds,
                                const int32_t *from, const int32_t *to)
{
    const hid_t   parameters = H5Gcreate2(file, "parameters", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t   vmd = H5Gcreate2(parameters, "vmd_structure", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t n = (hsize_t)n_species, residues = (hsize_t)s->name.n_residues, atoms = (hsize_t)s->n_atoms;
    int32_t      *number = NULL;
    char(*name)[8] = NULL;
    int32_t       k;

    if (mds_alloc(&number, (size_t)n, sizeof *number) == MDS_OK && mds_alloc(&name, (size_t)n, sizeof *name) == MDS_OK) {
        for (k = 0; k < n_species; k++) number[k] = k;
        H5Dclose(plain(vmd, "indexOfSpecies", H5T_STD_I32LE, H5T_NATIVE_INT32, 1, &n, number));
        for (k = 0; k < n_species; k++) {
            number[k] = s->atomic_number[first[k]];
            memcpy(name[k], s->name.atom[first[k]], 8);
        }
        H5Dclose(plain(vmd, "atomicnumber", H5T_STD_I32LE, H5T_NATIVE_INT32, 1, &n, number));
        plain_texts(vmd, "name", n, 8, name[0]);
        plain_texts(vmd, "type", n, 8, name[0]);
    }
    mds_free(number);
    mds_free(name);
    if (residues) {
        H5Dclose(plain(vmd, "resid", H5T_STD_I32LE, H5T_NATIVE_INT32, 1, &atoms, s->name.residue_of));
        plain_texts(vmd, "resname", residues, 8, s->name.residue[0]);
    }
    if (n_bonds) {
        H5Dclose(plain(vmd, "bond_from", H5T_STD_I32LE, H5T_NATIVE_INT32, 1, &n_bonds, from));
        H5Dclose(plain(vmd, "bond_to", H5T_STD_I32LE, H5T_NATIVE_INT32, 1, &n_bonds, to));
    }
    H5Gclose(vmd);
    H5Gclose(parameters);
}

/// Bonds for people to look at: bond terms and constraints (but not the H-H side of rigid waters).
static mds_status collect_bonds(const mds_system *s, int64_t *n, int64_t (**pairs)[2])
{
    static const mds_term_kind kinds[] = {MDS_TERM_BOND, MDS_TERM_BOND_G96, MDS_TERM_BOND_MORSE};
    int64_t                    most = s->constraint.n;
    size_t                     k;
    int32_t                    row;

    for (k = 0; k < 3; k++) most += s->term[kinds[k]].n;
    *n = 0;
    MDS_TRY(mds_alloc(pairs, (size_t)most, sizeof **pairs));
    for (k = 0; k < 4; k++) {
        const int32_t *atom = k < 3 ? s->term[kinds[k]].atom : s->constraint.atom;
        const int32_t  rows = k < 3 ? s->term[kinds[k]].n : s->constraint.n;

        for (row = 0; row < rows; row++) {
            const int32_t a = atom[2 * row], b = atom[2 * row + 1];

            if (k == 3 && s->atomic_number[a] == 1 && s->atomic_number[b] == 1) continue;
            (*pairs)[*n][0] = a;
            (*pairs)[(*n)++][1] = b;
        }
    }
    return MDS_OK;
}

static void write_connectivity(hid_t file, hid_t particles, int64_t n, const int64_t (*pairs)[2])
{
    const hsize_t size[2] = {(hsize_t)n, 2};
    const hid_t   group = H5Gcreate2(file, "connectivity", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t   set = plain(group, "bonds", H5T_STD_I64LE, H5T_NATIVE_INT64, 2, size, pairs);
    hobj_ref_t    reference;

    (void)particles;
    H5Rcreate(&reference, file, "/particles/trajectory", H5R_OBJECT, -1);
    attribute(set, "particles_group", H5T_STD_REF_OBJ, H5Screate(H5S_SCALAR), &reference);
    H5Dclose(set);
    H5Gclose(group);
}

void mds_h5_topology(hid_t file, hid_t particles, const mds_system *s)
{
    const hsize_t n = (hsize_t)s->n_atoms;
    int32_t      *species = NULL, *first = NULL, *from = NULL, n_species, k;
    int64_t(*pairs)[2] = NULL, n_bonds = 0;
    hid_t         set;

    if (mds_alloc(&species, n, sizeof *species) != MDS_OK || mds_alloc(&first, n, sizeof *first) != MDS_OK ||
        collect_bonds(s, &n_bonds, &pairs) != MDS_OK || mds_alloc(&from, 2 * (size_t)n_bonds, sizeof *from) != MDS_OK)
        goto fail; // names are a service: a trajectory without them is still one
    n_species = find_species(s, species, first);
    H5Dclose(plain(particles, "species", H5T_STD_I32LE, H5T_NATIVE_INT32, 1, &n, species));
    set = plain(particles, "mass", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, 1, &n, s->mass);
    mds_h5_text_attribute(set, "unit", "u");
    H5Dclose(set);
    set = plain(particles, "charge", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, 1, &n, s->charge);
    mds_h5_text_attribute(set, "unit", "e");
    mds_h5_text_attribute(set, "type", "effective");
    H5Dclose(set);
    for (k = 0; k < n_bonds; k++) {
        from[k] = (int32_t)pairs[k][0];
        from[n_bonds + k] = (int32_t)pairs[k][1];
    }
    if (n_bonds) write_connectivity(file, particles, n_bonds, (const int64_t(*)[2])pairs);
    write_vmd_structure(file, s, n_species, first, (hsize_t)n_bonds, from, from + n_bonds);
fail:
    mds_free(species);
    mds_free(first);
    mds_free(from);
    mds_free(pairs);
}

void mds_h5_parameters(hid_t file, const mds_h5md_options *o)
{
    const bool  there = H5Lexists(file, "parameters", H5P_DEFAULT) > 0;
    const hid_t parameters = there ? H5Gopen2(file, "parameters", H5P_DEFAULT) : H5Gcreate2(file, "parameters", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t group = H5Gcreate2(parameters, "mdsim", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t one = 1;

    // attributes are limited to 64 kB: a long input goes into a dataset
    if (o->input_text && o->input_text[0]) plain_texts(group, "input", one, strlen(o->input_text), o->input_text);
    mds_h5_text_attribute(group, "version", o->creator_version ? o->creator_version : "");
    H5Dclose(plain(group, "seed", H5T_STD_U64LE, H5T_NATIVE_UINT64, 1, &one, &o->seed));
    H5Gclose(group);
    H5Gclose(parameters);
}
