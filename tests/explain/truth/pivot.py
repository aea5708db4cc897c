"""Turns the profiler's long CSV (one line for each metric) into one line for each launch: pivot.py counters.csv."""
import csv
import sys

rows = {}
metrics = []
lines = [line for line in open(sys.argv[1]) if line.startswith('"')]
for line in csv.DictReader(lines):
    launch = int(line["ID"])
    row = rows.setdefault(launch, {"id": launch, "kernel": line["Kernel Name"],
                                   "grid": line["Grid Size"].replace(" ", ""),
                                   "block": line["Block Size"].replace(" ", "")})
    if line["Metric Name"] not in metrics:
        metrics.append(line["Metric Name"])
    row[line["Metric Name"]] = line["Metric Value"].replace(",", "")
columns = ["id", "kernel", "grid", "block", *metrics]
print(*columns, sep="\t")
for row in rows.values():
    print(*(row.get(column, "") for column in columns), sep="\t")
