#!/bin/bash
# Records the counters of truth.cu; needs nvcc, ncu and a GPU of compute capability 9.0. OUT is the folder for the results.
set -eu
cd "$(dirname "$0")"
out=${OUT:-.}
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
nvcc -O3 -lineinfo -arch=sm_90 -Xptxas -v -o "$work/truth" truth.cu 2>"$out/ptxas.txt"
ncu --clock-control none --cache-control all --metrics "$(paste -sd, metrics.txt)" --csv --print-units base \
  --log-file "$work/counters.csv" "$work/truth" >/dev/null
python3 pivot.py "$work/counters.csv" >"$out/h200_counters.tsv"
