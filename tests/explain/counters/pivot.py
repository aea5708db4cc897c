# Turns the profiler's raw CSV files into the columns the test reads: one line for each launch, in order.
import csv
import sys


def total(row, part):
    """Sum of the `.sum` counters whose name holds `part`; a run reads only those of the kernel's own operation."""
    return sum(int(float(v.replace(",", ""))) for k, v in row.items() if part in k and k.endswith(".sum"))


print("kernel\trequests\tsectors\twavefronts\tconflicts")
for name in sys.argv[1:]:
    lines = [line for line in open(name) if line.startswith('"')]
    for row in csv.DictReader(lines):
        if row["ID"]:
            kernel = row["Kernel Name"].split("(")[0].replace("void ", "")
            counts = [total(row, part) for part in ("t_requests", "t_sectors", "wavefronts", "bank_conflicts")]
            print(kernel, *counts, sep="\t")
