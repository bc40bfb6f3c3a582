// SPDX-License-Identifier: Apache-2.0
// The fence is seen to hold: a child that touches past a block, or a freed one, ends with SIGSEGV; one that keeps within it does not.
#include "base/base.h"
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char sink;

/// The signal that ends a child which reads byte `at` of a block of n bytes, after freeing it if asked to; 0: none does.
static int signal_of(size_t n, size_t at, bool freed)
{
    const pid_t child = fork();
    int         status = 0;

    if (child == 0) {
        char *block = NULL;

        signal(SIGSEGV, SIG_DFL);
        if (mds_alloc(&block, n, 1) != MDS_OK) _exit(1);
        memset(block, 1, n);
        if (freed) mds_free(block);
        sink = ((volatile char *)block)[at];
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void the_fence_holds(void)
{
    static const size_t sizes[] = {64, 4096, 4160, 1 << 20};
    size_t              k;

    for (k = 0; k < 4; k++) {
        TEST_INT(signal_of(sizes[k], sizes[k] - 1, false), 0);
        TEST_INT(signal_of(sizes[k], sizes[k], false), SIGSEGV);
        TEST_INT(signal_of(sizes[k], 0, true), SIGSEGV);
    }
    TEST_INT(signal_of(100, 127, false), 0); // the grain: sizes are rounded to 64 bytes
    TEST_INT(signal_of(100, 128, false), SIGSEGV);
}

int main(void)
{
    the_fence_holds();
    return test_end();
}
