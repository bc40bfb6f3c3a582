// SPDX-License-Identifier: Apache-2.0
// Transforms of a small mesh as products with the matrices of cosines and sines, by cuBLAS: n flops a point and direction in place of
// log n, but in kernels that run near a chip's peak. Chosen where the start-up tuner finds it faster (engine/tune.c), never by itself.
//
// Real and imaginary parts are columns of their own, so a complex transform is one real product. Layouts, innermost last; h = n2/2 + 1:
//   real    [x][y][z]
//   z    -> [x][y][part][k2]     one product (2h x n2)(n2 x n0 n1)
//   y    -> [k1][x][part][k2]    for each part of the result: n0 products (h x 2 n1)(2 n1 x n1), which also exchange x and y
//   x    -> [k1][k0][part][k2]   n1 products (h x 2 n0)(2 n0 x 2 n0)
// and back with the same matrices transposed: inverse turns are the complex conjugates. Of each pair of opposite waves the half
// k2 >= 0 is there; solve gives it the weight of both. Flops: 4 h n0 n1 (n2 + 2 n1 + 2 n0) each way.
#include "mesh.h"

#include "base/units.h"

#include <math.h>

#define BLAS_TRY(call)                                                                                       \
    do {                                                                                                     \
        const cublasStatus_t blas_error = (call);                                                            \
        if (blas_error != CUBLAS_STATUS_SUCCESS) MDS_FAIL(MDS_E_DEVICE, "%s: cuBLAS error %d", #call, (int)blas_error); \
    } while (0)

/// Part `to` of wave k from part `from` of point n, of a length: e^(-2 pi i k n/length).
static double entry(int n, int from, int k, int to, int length)
{
    const double angle = 2 * MDS_PI * (double)((int64_t)n * k % length) / length;

    return from == to ? cos(angle) : to == 0 ? sin(angle) : -sin(angle);
}

/// A matrix of n rows and `columns`, stored by columns; row and column to point, wave and parts: by `which` (MESH_DFT_Z ...).
static mds_status copy_matrix(gpu_mesh *m, int which)
{
    const int *n = m->view.n, h = m->view.half;
    const int  rows = which == MESH_DFT_Z ? 2 * h : 2 * (which == MESH_DFT_X ? n[0] : n[1]);
    const int  columns = which == MESH_DFT_Z ? n[2] : which == MESH_DFT_X ? 2 * n[0] : n[1];
    float     *matrix;
    mds_status status;

    MDS_TRY(mds_alloc(&matrix, (size_t)rows * (size_t)columns, sizeof *matrix));
    for (int c = 0; c < columns; c++)
        for (int r = 0; r < rows; r++) {
            double e;

            if (which == MESH_DFT_Z) e = entry(c, 0, r % h, r / h, n[2]);
            else if (which == MESH_DFT_X) e = entry(r / 2, r % 2, c / 2, c % 2, n[0]);
            else e = entry(r / 2, r % 2, c, which == MESH_DFT_Y_IM, n[1]);
            matrix[(size_t)c * (size_t)rows + (size_t)r] = (float)e;
        }
    status = gpu_copy_in(&m->dft[which], matrix, (size_t)rows * (size_t)columns);
    mds_free(matrix);
    return status;
}

void GPU_NAME(mesh_dft_close)(gpu_mesh *m)
{
    for (int k = 0; k < MESH_DFT_MATRICES; k++) {
        GPU_NAME(release)(m->dft[k]);
        m->dft[k] = NULL;
    }
    GPU_NAME(release)(m->second);
    m->second = NULL;
    if (m->blas) (void)cublasDestroy(m->blas);
    m->blas = NULL;
}

mds_status GPU_NAME(mesh_dft_open)(mds_device *d)
{
    gpu_mesh    *m = d->mesh;
    mesh_view   *v = &m->view;
    const size_t waves = (size_t)v->n[0] * (size_t)v->n[1] * (size_t)v->half;

    MDS_TRY(gpu_alloc(&v->wave, waves));
    MDS_TRY(gpu_alloc(&m->second, 2 * waves));
    for (int k = 0; k < MESH_DFT_MATRICES; k++) MDS_TRY(copy_matrix(m, k));
    BLAS_TRY(cublasCreate(&m->blas));
    BLAS_TRY(cublasSetStream(m->blas, d->mesh_stream));
    return MDS_OK;
}

/// c = op(a) op(b) + beta c for each of `count` triples.
typedef struct {
    const float *a, *b;
    float       *c;
    int          m, n, k, lda, ldb, ldc;
    long long    stride_a, stride_b, stride_c;
    int          count;
} product;

static mds_status multiply(cublasHandle_t blas, cublasOperation_t opa, cublasOperation_t opb, const product *p, float beta)
{
    const float one = 1;

    BLAS_TRY(cublasSgemmStridedBatched(blas, opa, opb, p->m, p->n, p->k, &one, p->a, p->lda, p->stride_a, p->b, p->ldb, p->stride_b, &beta,
                                       p->c, p->ldc, p->stride_c, p->count));
    return MDS_OK;
}

mds_status GPU_NAME(mesh_dft)(mds_device *d, bool back)
{
    gpu_mesh *m = d->mesh;
    const int h = m->view.half, n0 = m->view.n[0], n1 = m->view.n[1], n2 = m->view.n[2];
    float    *first = (float *)m->view.wave, *second = m->second, *real = m->view.real;
    const float *const *f = m->dft;

    if (!back) {
        const product z = {f[MESH_DFT_Z], real, first, 2 * h, n0 * n1, n2, 2 * h, n2, 2 * h, 0, 0, 0, 1};

        MDS_TRY(multiply(m->blas, CUBLAS_OP_N, CUBLAS_OP_N, &z, 0));
        for (int part = 0; part < 2; part++) {
            const product y = {first, f[MESH_DFT_Y_RE + part], second + part * h, h, n1, 2 * n1, h, 2 * n1, 2 * h * n0,
                               2LL * h * n1, 0, 2LL * h, n0};

            MDS_TRY(multiply(m->blas, CUBLAS_OP_N, CUBLAS_OP_N, &y, 0));
        }
        const product x = {second, f[MESH_DFT_X], first, h, 2 * n0, 2 * n0, h, 2 * n0, h, 2LL * h * n0, 0, 2LL * h * n0, n1};
        return multiply(m->blas, CUBLAS_OP_N, CUBLAS_OP_N, &x, 0);
    }
    const product x = {first, f[MESH_DFT_X], second, h, 2 * n0, 2 * n0, h, 2 * n0, h, 2LL * h * n0, 0, 2LL * h * n0, n1};
    MDS_TRY(multiply(m->blas, CUBLAS_OP_N, CUBLAS_OP_T, &x, 0));
    for (int part = 0; part < 2; part++) {
        const product y = {second + part * h, f[MESH_DFT_Y_RE + part], first, h, 2 * n1, n1, 2 * h * n0, 2 * n1, h, 2LL * h, 0,
                           2LL * h * n1, n0};

        MDS_TRY(multiply(m->blas, CUBLAS_OP_N, CUBLAS_OP_T, &y, part ? 1.0f : 0.0f));
    }
    const product z = {f[MESH_DFT_Z], first, real, n2, n0 * n1, 2 * h, 2 * h, 2 * h, n2, 0, 0, 0, 1};
    return multiply(m->blas, CUBLAS_OP_T, CUBLAS_OP_N, &z, 0);
}
