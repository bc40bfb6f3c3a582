#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Objects compiled with the flags of an instruction set level define no symbol without the level's name. The linker keeps
# one copy of a symbol that several objects define: without this rule it could keep one that an older machine cannot run.
cd "$MDS_BUILD" || exit 1
found=0
bad=0
for object in $(find src -path '*_avx*' -name '*.o' -o -path '*_generic*' -name '*.o'); do
    level=$(expr "$object" : '.*_\(avx[0-9]*\|generic\)\.dir/') || continue
    found=$((found + 1))
    # B D R T V W: defined and visible outside; weak ones too
    for symbol in $(nm --defined-only --extern-only "$object" | awk '{ print $3 }'); do
        case $symbol in
        *_"$level") ;;
        __asan_* | __odr_asan* | *_"$level".*) ;; # sanitizers add their own
        *)
            echo "$object: $symbol does not end in _$level"
            bad=$((bad + 1))
            ;;
        esac
    done
done
echo "$found objects looked at, $bad symbols wrong"
[ "$found" -gt 0 ] && [ "$bad" -eq 0 ]
