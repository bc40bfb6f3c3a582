// SPDX-License-Identifier: Apache-2.0
// Spread and gather for rows of one vector: included by isa_mesh.c once for each width, with
//   ROW       one or two vectors of floats that cover the `order` points of a row (the last weights are 0 where it is longer)
//   NAME(f)   name of a function of this width

ALWAYS ROW NAME(load)(const float *p)
{
    ROW v;

    memcpy(&v, p, sizeof v);
    return v;
}

/// Weights of the points along z for one atom, and their slopes.
ALWAYS ROW NAME(along)(const float *theta, int order, float y)
{
    ROW w = NAME(load)(theta + (order - 1) * LANES);

#pragma GCC unroll 8
    for (int j = order - 2; j >= 0; j--) w = NAME(horner)(w, y, NAME(load)(theta + j * LANES));
    return w;
}

ALWAYS ROW NAME(rise)(const float *theta, int order, float y)
{
    ROW w = NAME(scale)(NAME(load)(theta + (order - 1) * LANES), (float)(order - 1));

#pragma GCC unroll 8
    for (int j = order - 2; j >= 1; j--) w = NAME(horner)(w, y, NAME(scale)(NAME(load)(theta + j * LANES), (float)j));
    return w;
}

/// Row b of a plane, at p + b row floats: bytes, so that the multiples fit into addresses.
ALWAYS float *NAME(at)(const view *v, const char *p, int b)
{
    switch (b) {
    case 0: return (float *)p;
    case 1: return (float *)(p + v->row);
    case 2: return (float *)(p + 2 * v->row);
    case 3: return (float *)(p + v->row3);
    case 4: return (float *)(p + 4 * v->row);
    case 5: return (float *)(p + v->row3 + 2 * v->row);
    case 6: return (float *)(p + 2 * v->row3);
    default: return (float *)(p + v->row3 + 4 * v->row);
    }
}

ALWAYS void NAME(spread_atom)(const view *v, int order, const mesh_block *block, const float (*x)[MESH_BLOCK],
                              const float (*y)[MESH_BLOCK], int i)
{
    const int32_t start = block->start[i];
    const char   *plane = v->slab + 4 * (ptrdiff_t)(start + (start < v->split ? v->before : v->after));
    const ROW     z = NAME(scale)(NAME(along)(v->theta, order, block->y[2][i]), block->q[i]);
    ROW           yz[MESH_MAX_ORDER];

#pragma GCC unroll 8
    for (int b = 0; b < order; b++) yz[b] = NAME(scale)(z, y[b][i]);
#pragma GCC unroll 8
    for (int a = 0; a < order; a++) {
        const float along_x = x[a][i];

#pragma GCC unroll 8
        for (int b = 0; b < order; b++) {
            float    *line = NAME(at)(v, plane, b);
            const ROW sum = NAME(add)(NAME(load)(line), along_x, yz[b]);

            memcpy(line, &sum, sizeof sum);
        }
        plane += v->plane;
    }
}

ALWAYS void NAME(spread)(const mesh_job *job, int order)
{
    const view v = view_of(job);

    for (int32_t k = 0; k < job->n; k++) {
        const mesh_block *block = job->block + k;
        float             x[MESH_MAX_ORDER][MESH_BLOCK], y[MESH_MAX_ORDER][MESH_BLOCK];

        weights(v.theta, order, block->y[0], x);
        weights(v.theta, order, block->y[1], y);
        for (int i = 0; i < MESH_BLOCK; i++)
            if (block->q[i] != 0) 
                NAME(spread_atom)(&v, order, block, (const float(*)[MESH_BLOCK])x, (const float(*)[MESH_BLOCK])y, i);
    }
}

ALWAYS void NAME(gather_atom)(const view *v, int order, const mesh_block *block, const float (*w)[MESH_MAX_ORDER][MESH_BLOCK],
                              int i, row4 (*part)[MESH_BLOCK])
{
    const char *plane = v->slab + 4 * (ptrdiff_t)block->start[i];
    const ROW   z = NAME(along)(v->theta, order, block->y[2][i]), dz = NAME(rise)(v->theta, order, block->y[2][i]);
    ROW         fx = {0}, fy = {0}, fz = {0};

#pragma GCC unroll 8
    for (int a = 0; a < order; a++) {
        ROW s = {0}, d = {0};

#pragma GCC unroll 8
        for (int b = 0; b < order; b++) {
            const ROW line = NAME(load)(NAME(at)(v, plane, b));

            s = NAME(add)(s, w[1][b][i], line);
            d = NAME(add)(d, w[3][b][i], line);
        }
        fx = NAME(add)(fx, w[2][a][i], s);
        fy = NAME(add)(fy, w[0][a][i], d);
        fz = NAME(add)(fz, w[0][a][i], s);
        plane += v->plane;
    }
    part[1][i] = NAME(product)(fx, z); // along the first axis of the mesh, y
    part[0][i] = NAME(product)(fy, z);
    part[2][i] = NAME(product)(fz, dz);
}

ALWAYS void NAME(gather)(const mesh_job *job, int order)
{
    const view v = view_of(job);

    for (int32_t k = 0; k < job->n; k++) {
        const mesh_block *block = job->block + k;
        float             w[4][MESH_MAX_ORDER][MESH_BLOCK]; // x, y, slopes of x, of y
        row4              part[3][MESH_BLOCK];

        weights(v.theta, order, block->y[0], w[0]);
        weights(v.theta, order, block->y[1], w[1]);
        slopes(v.theta, order, block->y[0], w[2]);
        slopes(v.theta, order, block->y[1], w[3]);
        for (int i = 0; i < MESH_BLOCK; i++) {
            if (block->q[i] != 0)
                NAME(gather_atom)(&v, order, block, (const float(*)[MESH_MAX_ORDER][MESH_BLOCK])w, i, part);
            else
                part[0][i] = part[1][i] = part[2][i] = (row4){0};
        }
        add_forces(job, block, job->line + (size_t)k * (MESH_BLOCK * 4), part);
    }
}

#undef ROW
#undef NAME
