#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mdsim against GROMACS on the same cores, at the same physics and a known accuracy.
#
#     benchmarks/compare_gromacs.sh [--quick] [--systems dhfr,water24k,...] [--threads 1,2] [--pairs 5] [--help]
#     GMX=gmx:/opt/gromacs-avx512/bin/gmx MDSIM=build/mdsim benchmarks/compare_gromacs.sh
#
# The distribution's python first: it has the distribution's numpy.
here=$(dirname "$(readlink -f "$0")")
for python in /usr/bin/python3 python3; do
    command -v "$python" >/dev/null && "$python" -c 'import numpy' 2>/dev/null && exec "$python" "$here/compare/gromacs.py" "$@"
done
echo "skipped: python3 with numpy is not installed"
exit 77
