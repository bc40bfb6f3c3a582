// SPDX-License-Identifier: Apache-2.0
// mdsim: arguments in, exit code out.
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return mds_cli(argc, argv);
}
