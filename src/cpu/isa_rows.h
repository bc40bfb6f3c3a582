// SPDX-License-Identifier: Apache-2.0
// Spread and gather for rows of one vector: included by isa_mesh.c once for each width, with
//   ROW       vector of floats that covers the `order` points of a row (the last weights are 0 where it is longer)
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
    for (int j = order - 2; j >= 0; j--) w = w * y + NAME(load)(theta + j * LANES);
    return w;
}

ALWAYS ROW NAME(rise)(const float *theta, int order, float y)
{
    ROW w = (float)(order - 1) * NAME(load)(theta + (order - 1) * LANES);

#pragma GCC unroll 8
    for (int j = order - 2; j >= 1; j--) w = w * y + (float)j * NAME(load)(theta + j * LANES);
    return w;
}

ALWAYS void NAME(spread_atom)(const mesh_job *job, int order, const mesh_block *block, const block16 *x,
                              const block16 *y, int i)
{
    const ptrdiff_t row = job->row, plane = job->plane;
    const int32_t   start = block->start[i];
    float          *grid = job->slab + start + (start < job->split ? job->before : job->after);
    const ROW       z = NAME(along)(job->theta, order, block->y[2][i]) * block->q[i];

#pragma GCC unroll 8
    for (int b = 0; b < order; b++) {
        const ROW yz = ((const float *)&y[b])[i] * z;

#pragma GCC unroll 8
        for (int a = 0; a < order; a++) {
            float    *line = grid + a * plane + b * row;
            const ROW sum = NAME(load)(line) + ((const float *)&x[a])[i] * yz;

            memcpy(line, &sum, sizeof sum);
        }
    }
}

/// Blocks go in STREAMS streams side by side, and turns alternate among them: neighbours in time are then far apart in
/// space. The order, and so the sums, depend on the number of blocks alone.
ALWAYS void NAME(spread)(const mesh_job *job, int order)
{
    block16       x[STREAMS][MESH_MAX_ORDER], y[STREAMS][MESH_MAX_ORDER];
    const int32_t length = (job->n + STREAMS - 1) / STREAMS;

    for (int32_t k = 0; k < length; k++) {
        const mesh_block *block[STREAMS];
        int               n = 0;

        for (int s = 0; s < STREAMS; s++) {
            if (s * length + k >= job->n) break;
            block[s] = job->block + s * length + k;
            weights(job->theta, order, block[s]->y[0], x[s]);
            weights(job->theta, order, block[s]->y[1], y[s]);
            n++;
        }
        for (int i = 0; i < MESH_BLOCK; i++)
            for (int s = 0; s < n; s++)
                if (block[s]->q[i] != 0) NAME(spread_atom)(job, order, block[s], x[s], y[s], i);
    }
}

ALWAYS void NAME(gather_atom)(const mesh_job *job, int order, const mesh_block *block, const block16 (*w)[MESH_MAX_ORDER],
                              int i, row4 (*part)[MESH_BLOCK])
{
    const ptrdiff_t row = job->row, plane = job->plane;
    const float    *grid = job->slab + block->start[i];
    const ROW       z = NAME(along)(job->theta, order, block->y[2][i]), dz = NAME(rise)(job->theta, order, block->y[2][i]);
    ROW             fx = {0}, fy = {0}, fz = {0};

#pragma GCC unroll 8
    for (int a = 0; a < order; a++) {
        ROW s = {0}, d = {0};

#pragma GCC unroll 8
        for (int b = 0; b < order; b++) {
            const ROW line = NAME(load)(grid + a * plane + b * row);

            s += ((const float *)&w[1][b])[i] * line;
            d += ((const float *)&w[3][b])[i] * line;
        }
        fx += ((const float *)&w[2][a])[i] * s;
        fy += ((const float *)&w[0][a])[i] * d;
        fz += ((const float *)&w[0][a])[i] * s;
    }
    part[0][i] = NAME(fold)(fx * z);
    part[1][i] = NAME(fold)(fy * z);
    part[2][i] = NAME(fold)(fz * dz);
}

ALWAYS void NAME(gather)(const mesh_job *job, int order)
{
    for (int32_t k = 0; k < job->n; k++) {
        const mesh_block *block = job->block + k;
        block16           w[4][MESH_MAX_ORDER]; // x, y, slopes of x, of y
        row4              part[3][MESH_BLOCK];

        weights(job->theta, order, block->y[0], w[0]);
        weights(job->theta, order, block->y[1], w[1]);
        slopes(job->theta, order, block->y[0], w[2]);
        slopes(job->theta, order, block->y[1], w[3]);
        for (int i = 0; i < MESH_BLOCK; i++) {
            if (block->q[i] != 0)
                NAME(gather_atom)(job, order, block, (const block16(*)[MESH_MAX_ORDER])w, i, part);
            else
                part[0][i] = part[1][i] = part[2][i] = (row4){0};
        }
        add_forces(job, block, job->line + (size_t)k * (MESH_BLOCK * 4), part);
    }
}

#undef ROW
#undef NAME
