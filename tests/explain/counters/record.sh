#!/bin/bash
# Records the counters of patterns.cu into patterns.tsv; needs nvcc, ncu and a GPU of compute capability 9.0.
set -eu
cd "$(dirname "$0")"
out=${OUT:-.}
work=$(mktemp -d)
export PATH=$PATH:/usr/local/cuda/bin
nvcc -std=c++17 -O3 -arch=sm_90 -o "$work/patterns" patterns.cu

# One run for each memory space: few counters at a time take few passes.
record() {
  local list
  list=$(IFS=,; echo "${*:2}")
  ncu --clock-control none --cache-control none --kernel-name "regex:$1" --metrics "$list" --csv --page raw \
    --print-units base --log-file "$work/$1.csv" "$work/patterns" >/dev/null
}
shared=()
for op in ld st atom; do
  shared+=(l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_$op.sum l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$op.sum)
done
record shared "${shared[@]}"
for op in ld:load st:store red:red atom:atom; do
  record "global_${op#*:}" l1tex__t_{requests,sectors}_pipe_lsu_mem_global_op_${op%:*}.sum
done
record local l1tex__t_{requests,sectors}_pipe_lsu_mem_local_op_ld.sum
python3 pivot.py "$work"/{shared,global_load,global_store,global_red,global_atom,local}.csv >"$out/patterns.tsv"
