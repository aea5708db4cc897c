#!/bin/bash
# Records the counters of truth.cu and single_block.cu; needs nvcc, ncu and a GPU of compute capability 9.0. OUT is the
# folder for the results.
set -eu
cd "$(dirname "$0")"
out=${OUT:-.}
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
record() {
  nvcc -O3 -lineinfo -arch=sm_90 -Xptxas -v -o "$work/$1" "$1.cu" 2>"$out/$1.ptxas.txt"
  ncu --clock-control none --cache-control all --metrics "$2" --csv --print-units base --log-file "$work/$1.csv" \
    "$work/$1" >/dev/null
  python3 pivot.py "$work/$1.csv" >"$out/$3"
}
[ "${1:-truth}" = truth ] && record truth "$(paste -sd, metrics.txt)" h200_counters.tsv
record single_block "$(grep _shared_op_ metrics.txt | paste -sd,)" h200_single_block.tsv
