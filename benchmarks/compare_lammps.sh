#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mdsim against LAMMPS on the Lennard-Jones liquid of LAMMPS' own benchmark.
#
#     benchmarks/compare_lammps.sh [--quick] [--cells 40] [--threads 1,2] [--pairs 5] [--steps 200] [--help]
#     LMP=lmp MDSIM=build/mdsim benchmarks/compare_lammps.sh
#
# The distribution's python first: it has the distribution's numpy.
here=$(dirname "$(readlink -f "$0")")
for python in /usr/bin/python3 python3; do
    command -v "$python" >/dev/null && "$python" -c 'import numpy' 2>/dev/null && exec "$python" "$here/compare/lammps.py" "$@"
done
echo "skipped: python3 with numpy is not installed"
exit 77
