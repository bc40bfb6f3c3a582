// SPDX-License-Identifier: Apache-2.0
// The smallest test harness that says what went wrong: counts checks, prints each failure with both values, and makes
// the exit code the verdict (0 good, 1 bad, 77 skipped). A test that checked nothing fails.
#ifndef MDS_TEST_H
#define MDS_TEST_H

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_checks, test_failures;

#define TEST_TRUE(condition)                                                                                 \
    do {                                                                                                     \
        test_checks++;                                                                                       \
        if (!(condition)) {                                                                                  \
            test_failures++;                                                                                 \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                          \
        }                                                                                                    \
    } while (0)

/// |got - want| <= tolerance, with both values printed on failure. The reason for the tolerance stands beside the call.
#define TEST_NEAR(got, want, tolerance)                                                                      \
    do {                                                                                                     \
        const double test_got = (got), test_want = (want), test_tol = (tolerance);                           \
        test_checks++;                                                                                       \
        if (!(fabs(test_got - test_want) <= test_tol)) {                                                     \
            test_failures++;                                                                                 \
            fprintf(stderr, "%s:%d: failed: %s = %.12g, wanted %.12g within %.3g (off by %.3g)\n", __FILE__, \
                    __LINE__, #got, test_got, test_want, test_tol, test_got - test_want);                    \
        }                                                                                                    \
    } while (0)

#define TEST_INT(got, want)                                                                                  \
    do {                                                                                                     \
        const long long test_got = (long long)(got), test_want = (long long)(want);                          \
        test_checks++;                                                                                       \
        if (test_got != test_want) {                                                                         \
            test_failures++;                                                                                 \
            fprintf(stderr, "%s:%d: failed: %s = %lld, wanted %lld\n", __FILE__, __LINE__, #got, test_got,   \
                    test_want);                                                                              \
        }                                                                                                    \
    } while (0)

/// The call succeeds; its message is printed if not.
#define TEST_OK(call)                                                                                        \
    do {                                                                                                     \
        test_checks++;                                                                                       \
        if ((call) != MDS_OK) {                                                                              \
            test_failures++;                                                                                 \
            fprintf(stderr, "%s:%d: failed: %s: %s\n", __FILE__, __LINE__, #call, mds_error_text());         \
        }                                                                                                    \
    } while (0)

/// The call fails with this status and its message contains `text`.
#define TEST_FAILS(call, status, text)                                                                       \
    do {                                                                                                     \
        const mds_status test_status = (call);                                                               \
        test_checks++;                                                                                       \
        if (test_status != (status) || !strstr(mds_error_text(), (text))) {                                  \
            test_failures++;                                                                                 \
            fprintf(stderr, "%s:%d: failed: %s gave status %d, message \"%s\"; wanted %d with \"%s\"\n",     \
                    __FILE__, __LINE__, #call, (int)test_status, mds_error_text(), (int)(status), (text));   \
        }                                                                                                    \
    } while (0)

/// What the test needs is not there: say so and end as skipped.
#define TEST_SKIP(...)                                                                                       \
    do {                                                                                                     \
        printf("skipped: " __VA_ARGS__);                                                                     \
        printf("\n");                                                                                        \
        exit(77);                                                                                            \
    } while (0)

static inline int test_end(void)
{
    if (!test_checks) fprintf(stderr, "no check was made\n");
    printf("%d checks, %d failures\n", test_checks, test_failures);
    return test_failures || !test_checks;
}

#endif
