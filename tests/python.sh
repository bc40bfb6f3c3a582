#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run a python test. The distribution's python first: its packages (numpy, h5py, MDAnalysis) are what quickstart.sh
# installs. Looked for when the test runs, since python may come after the build was configured.
for python in /usr/bin/python3 python3; do
    command -v "$python" >/dev/null && exec "$python" "$@"
done
echo "skipped: python3 is not installed"
exit 77
