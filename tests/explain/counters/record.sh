#!/bin/bash
# Records the counters of patterns.cu into patterns.tsv; needs nvcc, ncu and a GPU of compute capability 9.0.
set -eu
cd "$(dirname "$0")"
out=${OUT:-.}
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
nvcc -std=c++17 -O3 -arch=sm_90 -o "$work/patterns" patterns.cu
metrics=()
for op in ld st red atom; do
  metrics+=(l1tex__t_requests_pipe_lsu_mem_global_op_$op.sum l1tex__t_sectors_pipe_lsu_mem_global_op_$op.sum)
done
metrics+=(l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum)
for op in ld st atom; do
  metrics+=(l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_$op.sum l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$op.sum)
done
list=$(IFS=,; echo "${metrics[*]}")
ncu --clock-control none --cache-control none --metrics "$list" --csv --page raw --print-units base \
  --log-file "$out/patterns.csv" "$work/patterns" >/dev/null
python3 pivot.py "$out/patterns.csv" >"$out/patterns.tsv"
