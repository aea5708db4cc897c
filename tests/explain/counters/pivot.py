# Turns the profiler's raw CSV into the columns the test reads: one line for each launch, in order.
import csv
import sys

lines = [line for line in open(sys.argv[1]) if line.startswith('"')]
rows = [row for row in csv.DictReader(lines) if row["ID"]]


def value(row, name):
    return int(float(row[name].replace(",", "")))


print("id\tkernel\trequests\tsectors\twavefronts\tconflicts")
for row in rows:
    name = row["Kernel Name"].split("(")[0].replace("void ", "")
    requests = sectors = wavefronts = conflicts = 0
    for op in ("ld", "st", "red", "atom"):
        requests_of = value(row, f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum")
        # The index array and results travel through memory too: count only the operation the kernel is about.
        about = {"ld": "global_load", "st": "global_store", "red": "global_red", "atom": "global_atom"}[op]
        if name.startswith(about):
            requests += requests_of
            sectors += value(row, f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum")
    if name.startswith("local_load"):
        requests = value(row, "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum")
        sectors = value(row, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum")
    for op in ("ld", "st", "atom"):
        conflicts += value(row, f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum")
        wavefronts += value(row, f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum")
    print(f"{row['ID']}\t{name}\t{requests}\t{sectors}\t{wavefronts}\t{conflicts}")
