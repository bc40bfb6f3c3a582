// SPDX-License-Identifier: Apache-2.0
// mdsim: arguments in, exit code out.
#include "base/base.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

/// Start over with short spinning at barriers, unless the user has said how to wait. libgomp reads this before main; its
/// default of some milliseconds stops all threads whenever one has lost its core (docs/decisions/004-waiting.md). Not where the
/// user binds threads: libgomp has bound this one by now, and a second start would find its core only.
static void wait_politely(char **argv)
{
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
    if (getenv("OMP_PROC_BIND") || getenv("OMP_PLACES") || getenv("GOMP_CPU_AFFINITY")) return;
    if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0) execv("/proc/self/exe", argv); // only returns when it cannot
}

int main(int argc, char **argv)
{
    wait_politely(argv);
    mds_memory_setup();
    return mds_cli(argc, argv);
}
