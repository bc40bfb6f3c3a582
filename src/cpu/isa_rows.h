// SPDX-License-Identifier: Apache-2.0
// Spread and gather for rows of one vector: included by isa_mesh.c once for each width, with
//   ROW       vector of floats that covers the `order` points of a row (the last weights are 0 where it is
//   longer) NAME(f)   name of a function of this width

ALWAYS ROW NAME(load)(const float *p)
{
    ROW v;

    memcpy(&v, p, sizeof v);
    return v;
}

/// Weights of the points along one direction, and their slopes.
ALWAYS ROW NAME(weights)(const float *theta, int order, float y)
{
    ROW w = NAME(load)(theta + (order - 1) * LANES);

#pragma GCC unroll 8
    for (int j = order - 2; j >= 0; j--) w = w * y + NAME(load)(theta + j * LANES);
    return w;
}

ALWAYS ROW NAME(slopes)(const float *theta, int order, float y)
{
    ROW w = (float)(order - 1) * NAME(load)(theta + (order - 1) * LANES);

#pragma GCC unroll 8
    for (int j = order - 2; j >= 1; j--) w = w * y + (float)j * NAME(load)(theta + j * LANES);
    return w;
}

ALWAYS void NAME(spread)(const mesh_job *job, int order)
{
    const ptrdiff_t row = job->row, plane = job->plane;

    for (int32_t i = 0; i < job->n; i++) {
        const mesh_atom atom = job->atom[i];
        float          *grid = job->slab + job->start[i];
        const ROW       x = NAME(weights)(job->theta, order, atom.y[0]);
        const ROW       y = NAME(weights)(job->theta, order, atom.y[1]);
        const ROW       z = NAME(weights)(job->theta, order, atom.y[2]) * atom.q;

#pragma GCC unroll 8
        for (int b = 0; b < order; b++) {
            const ROW yz = y[b] * z;

#pragma GCC unroll 8
            for (int a = 0; a < order; a++) {
                float    *line = grid + a * plane + b * row;
                const ROW sum = NAME(load)(line) + x[a] * yz;

                memcpy(line, &sum, sizeof sum);
            }
        }
    }
}

ALWAYS void NAME(gather)(const mesh_job *job, int order)
{
    const ptrdiff_t row = job->row, plane = job->plane;

    for (int32_t i = 0; i < job->n; i++) {
        const mesh_atom atom = job->atom[i];
        const float    *grid = job->slab + job->start[i];
        const ROW       x = NAME(weights)(job->theta, order, atom.y[0]),
                  dx = NAME(slopes)(job->theta, order, atom.y[0]);
        const ROW y = NAME(weights)(job->theta, order, atom.y[1]),
                  dy = NAME(slopes)(job->theta, order, atom.y[1]);
        const ROW z = NAME(weights)(job->theta, order, atom.y[2]),
                  dz = NAME(slopes)(job->theta, order, atom.y[2]);
        ROW   fx = {0}, fy = {0}, fz = {0};
        float sum[3] = {0, 0, 0};

#pragma GCC unroll 8
        for (int a = 0; a < order; a++) {
            ROW s = {0}, d = {0};

#pragma GCC unroll 8
            for (int b = 0; b < order; b++) {
                const ROW line = NAME(load)(grid + a * plane + b * row);

                s += y[b] * line;
                d += dy[b] * line;
            }
            fx += dx[a] * s;
            fy += x[a] * d;
            fz += x[a] * s;
        }
        fx *= z;
        fy *= z;
        fz *= dz;
#pragma GCC unroll 8
        for (int k = 0; k < order; k++) {
            sum[0] += fx[k];
            sum[1] += fy[k];
            sum[2] += fz[k];
        }
        for (int k = 0; k < 3; k++) job->force[i][k] = -atom.q * sum[k];
    }
}

#undef ROW
#undef NAME
