// SPDX-License-Identifier: Apache-2.0
// The thread that writes frames beside the run: order, two buffers and no more, marks, failures.
#include "engine/engine.h"
#include "test.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  opened = PTHREAD_COND_INITIALIZER;
static int64_t         gate, written[64], n_written, mark_seen, fail_at; // the disk takes frames up to step `gate`

static mds_status write_frame(void *arg, const mds_frame *frame)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    while (frame->step > gate) pthread_cond_wait(&opened, &lock);
    pthread_mutex_unlock(&lock);
    if (frame->step == fail_at) MDS_FAIL(MDS_E_WRITE, "the disk is full at step %lld", (long long)frame->step);
    written[n_written++] = (int64_t)frame->x[0][0]; // what lies in the buffer when it is written
    return MDS_OK;
}

static void mark(void *arg)
{
    (void)arg;
    mark_seen = n_written;
}

static void *open_gate(void *arg)
{
    const struct timespec pause = {0, 30000000}; // the run is waiting by then; should it be late, only the counted wait is missed

    nanosleep(&pause, NULL);
    pthread_mutex_lock(&lock);
    gate = *(int64_t *)arg;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static mds_writer *begin(int64_t first_gate, int64_t failure)
{
    const mds_writer_job job = {write_frame, mark, NULL};
    mds_writer          *w = NULL;

    gate = first_gate;
    fail_at = failure;
    n_written = 0;
    mark_seen = -1;
    TEST_OK(mds_writer_open(&job, &w));
    return w;
}

/// What a step does: into the free buffer, then over.
static mds_status send(mds_writer *w, double (*buffer)[1][3], int64_t step)
{
    mds_frame frame = {.step = step, .n = 1};
    int       k;

    MDS_TRY(mds_writer_buffer(w, &k));
    buffer[k][0][0] = (double)step;
    frame.x = buffer[k];
    return mds_writer_give(w, &frame);
}

static void frames_come_in_order_as_they_were_given(void)
{
    double             buffer[2][1][3];
    mds_writer        *w = begin(1000, -1);
    mds_writer_figures f;
    bool               marked;
    int64_t            k;

    for (k = 0; k < 50; k++) TEST_OK(send(w, buffer, k));
    TEST_OK(mds_writer_wait(w, &marked));
    TEST_INT(n_written, 50);
    for (k = 0; k < 50; k++) TEST_INT(written[k], k);
    TEST_TRUE(marked); // none was asked for
    mds_writer_look(w, &f);
    TEST_INT(f.frames, 50);
    TEST_OK(mds_writer_close(w));
}

static void the_run_waits_when_both_buffers_are_full_and_only_then(void)
{
    double             buffer[2][1][3];
    mds_writer        *w = begin(-1, -1);
    mds_writer_figures f;
    pthread_t          helper;
    int64_t            all = 1000;
    bool               marked;

    TEST_OK(send(w, buffer, 0));
    TEST_OK(send(w, buffer, 1)); // nothing is written yet: no wait
    mds_writer_look(w, &f);
    TEST_INT(f.waits, 0);
    TEST_INT(f.frames, 0);
    pthread_create(&helper, NULL, open_gate, &all);
    TEST_OK(send(w, buffer, 2));
    pthread_join(helper, NULL);
    TEST_OK(mds_writer_wait(w, &marked));
    mds_writer_look(w, &f);
    TEST_INT(f.waits, 1);
    TEST_TRUE(f.waited > 0.001); // the gate opens after 30 ms
    TEST_TRUE(f.busy > 0.001);
    TEST_INT(n_written, 3);
    TEST_TRUE(written[0] == 0 && written[1] == 1 && written[2] == 2);
    TEST_OK(mds_writer_close(w));
}

static void a_mark_stands_for_what_was_given_before_it(void)
{
    double      buffer[2][1][3];
    mds_writer *w = begin(-1, -1);
    pthread_t   helper;
    int64_t     all = 1000;
    bool        marked;

    TEST_OK(mds_writer_mark(w));
    TEST_INT(mark_seen, 0); // nothing given: at once
    TEST_OK(send(w, buffer, 0));
    TEST_OK(mds_writer_mark(w));
    TEST_INT(mark_seen, 0); // not yet
    TEST_OK(send(w, buffer, 1));
    pthread_create(&helper, NULL, open_gate, &all);
    TEST_OK(mds_writer_wait(w, &marked));
    pthread_join(helper, NULL);
    TEST_TRUE(marked);
    TEST_INT(mark_seen, 1);
    TEST_INT(n_written, 2);
    TEST_OK(mds_writer_close(w));
}

static void a_failure_reaches_the_run_and_its_mark_does_not(void)
{
    double      buffer[2][1][3];
    mds_writer *w = begin(-1, 2);
    pthread_t   helper;
    int64_t     all = 1000;
    bool        marked;

    gate = 1;
    TEST_OK(send(w, buffer, 0));
    TEST_OK(send(w, buffer, 1));
    TEST_OK(mds_writer_wait(w, &marked));
    TEST_OK(mds_writer_mark(w));
    TEST_INT(mark_seen, 2);
    TEST_OK(send(w, buffer, 2));
    TEST_OK(mds_writer_mark(w));
    TEST_OK(send(w, buffer, 3));
    pthread_create(&helper, NULL, open_gate, &all);
    TEST_FAILS(mds_writer_wait(w, &marked), MDS_E_WRITE, "the disk is full at step 2");
    pthread_join(helper, NULL);
    TEST_TRUE(!marked);
    TEST_INT(mark_seen, 2);
    TEST_INT(n_written, 2); // frame 3 would leave a gap
    TEST_FAILS(send(w, buffer, 4), MDS_E_WRITE, "the disk is full at step 2");
    TEST_FAILS(mds_writer_mark(w), MDS_E_WRITE, "the disk is full at step 2");
    TEST_FAILS(mds_writer_close(w), MDS_E_WRITE, "the disk is full at step 2");
}

static void closing_writes_what_is_left(void)
{
    double      buffer[2][1][3];
    mds_writer *w = begin(-1, -1);
    pthread_t   helper;
    int64_t     all = 1000;

    TEST_OK(send(w, buffer, 0));
    TEST_OK(send(w, buffer, 1));
    pthread_create(&helper, NULL, open_gate, &all);
    TEST_OK(mds_writer_close(w));
    pthread_join(helper, NULL);
    TEST_INT(n_written, 2);
    TEST_OK(mds_writer_close(NULL));
}

int main(void)
{
    frames_come_in_order_as_they_were_given();
    the_run_waits_when_both_buffers_are_full_and_only_then();
    a_mark_stands_for_what_was_given_before_it();
    a_failure_reaches_the_run_and_its_mark_does_not();
    closing_writes_what_is_left();
    return test_end();
}
