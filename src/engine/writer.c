// SPDX-License-Identifier: Apache-2.0
// Frames written beside the run: one thread, two buffers.
//
// A backend whose frames arrive by themselves (backend.h, `view`) leaves them in memory that stays as it is until the slot is observed
// again. So the frame is neither copied nor compressed by the thread that drives the device: it goes on with the next step while a
// thread here writes. Only when both buffers wait to be written must the run wait too; that is counted, and the log says it.
//
// The thread calls nothing of the device. What it touches (the trajectory) is the driver's again after mds_writer_wait.
#include "engine/engine.h"

#include <pthread.h>
#include <signal.h>

enum { BUFFERS = 2 };

struct mds_writer {
    mds_writer_job  job;
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  given, done;
    // under the lock
    mds_frame  frame[BUFFERS];     // frame number k of the run is in k % BUFFERS
    int64_t    n_given, n_done;
    int64_t    mark_at;            // job.mark is due when n_done gets there; -1: none is
    bool       ends;
    mds_status status;             // the first failure; what comes later is dropped
    mds_text   message;
    mds_writer_figures figures;
};

static void mark_if_due(mds_writer *w)
{
    if (w->mark_at < 0 || w->n_done < w->mark_at || w->status != MDS_OK) return;
    w->job.mark(w->job.arg);
    w->mark_at = -1;
}

/// Write the oldest frame, without the lock.
static void write_next(mds_writer *w)
{
    const mds_frame frame = w->frame[w->n_done % BUFFERS];
    const bool      drop = w->status != MDS_OK;
    const double    began = mds_clock();
    mds_status      status = MDS_OK;

    pthread_mutex_unlock(&w->lock);
    if (!drop) status = w->job.write(w->job.arg, &frame);
    pthread_mutex_lock(&w->lock);
    if (status != MDS_OK) {
        w->status = status;
        mds_text_add(&w->message, "%s", mds_error_text());
    }
    w->figures.frames += !drop;
    w->figures.busy += mds_clock() - began;
    w->n_done++;
    mark_if_due(w);
    pthread_cond_signal(&w->done);
}

static void *work(void *arg)
{
    mds_writer *w = arg;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->n_done == w->n_given && !w->ends) pthread_cond_wait(&w->given, &w->lock);
        if (w->n_done == w->n_given) break;
        write_next(w);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

mds_status mds_writer_open(const mds_writer_job *job, mds_writer **out)
{
    mds_writer *w;
    sigset_t    all, before;
    int         error;

    *out = NULL;
    MDS_TRY(mds_alloc(&w, 1, sizeof *w));
    w->job = *job;
    w->mark_at = -1;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->given, NULL);
    pthread_cond_init(&w->done, NULL);
    sigfillset(&all); // signals are the driver's
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        mds_free(w);
        MDS_FAIL(MDS_E_MEMORY, "no thread to write the trajectory: error %d", error);
    }
    *out = w;
    return MDS_OK;
}

/// The failure of the thread as one of the caller.
static mds_status status_of(const mds_writer *w)
{
    return w->status == MDS_OK ? MDS_OK : mds_fail(w->status, __FILE__, __LINE__, "%s", w->message.s ? w->message.s : "");
}

mds_status mds_writer_buffer(mds_writer *w, int *buffer)
{
    const double began = mds_clock();
    mds_status   status;

    pthread_mutex_lock(&w->lock);
    if (w->n_given - w->n_done == BUFFERS) {
        while (w->n_given - w->n_done == BUFFERS) pthread_cond_wait(&w->done, &w->lock);
        w->figures.waits++;
        w->figures.waited += mds_clock() - began;
    }
    *buffer = (int)(w->n_given % BUFFERS);
    status = status_of(w);
    pthread_mutex_unlock(&w->lock);
    return status;
}

mds_status mds_writer_give(mds_writer *w, const mds_frame *frame)
{
    mds_status status;

    pthread_mutex_lock(&w->lock);
    MDS_ASSERT(w->n_given - w->n_done < BUFFERS);
    w->frame[w->n_given % BUFFERS] = *frame;
    w->n_given++;
    status = status_of(w);
    pthread_cond_signal(&w->given);
    pthread_mutex_unlock(&w->lock);
    return status;
}

mds_status mds_writer_mark(mds_writer *w)
{
    mds_status status;

    pthread_mutex_lock(&w->lock);
    status = status_of(w);
    if (status == MDS_OK) {
        w->mark_at = w->n_given;
        mark_if_due(w);
    }
    pthread_mutex_unlock(&w->lock);
    return status;
}

mds_status mds_writer_wait(mds_writer *w, bool *marked)
{
    mds_status status;

    pthread_mutex_lock(&w->lock);
    while (w->n_done < w->n_given) pthread_cond_wait(&w->done, &w->lock);
    status = status_of(w);
    *marked = w->mark_at < 0;
    pthread_mutex_unlock(&w->lock);
    return status;
}

void mds_writer_look(mds_writer *w, mds_writer_figures *out)
{
    pthread_mutex_lock(&w->lock);
    *out = w->figures;
    pthread_mutex_unlock(&w->lock);
}

mds_status mds_writer_close(mds_writer *w)
{
    mds_status status;

    if (!w) return MDS_OK;
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_signal(&w->given);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    status = status_of(w);
    pthread_cond_destroy(&w->given);
    pthread_cond_destroy(&w->done);
    pthread_mutex_destroy(&w->lock);
    mds_text_free(&w->message);
    mds_free(w);
    return status;
}
