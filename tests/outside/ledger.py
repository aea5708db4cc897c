"""Compares what cases of another project gave with a ledger of ours: names, outcomes and reasons, nothing of theirs."""


def read(path):
    """{name: (outcome, reason)} of the cases that do not pass."""
    ledger = {}
    if path.exists():
        for line in path.read_text().splitlines():
            if line and line[0] != "#":
                name, outcome, *reason = line.split("\t")
                ledger[name] = (outcome, reason[0] if reason else "")
    return ledger


def judge(path, title, outcomes, bless):
    """Prints what differs from the ledger at path and gives the exit status; with bless writes the ledger instead.

    outcomes: {name: "pass" or "KIND: DETAIL"}. A case that passes against the ledger is told, and is no failure.
    """
    ledger = read(path)
    unexpected = 0
    for name, outcome in sorted(outcomes.items()):
        kind, expected = outcome.split(":")[0], ledger.get(name, ("pass", ""))[0]
        if kind != expected:
            unexpected += kind != "pass"
            print(f"{name}: {outcome}; the ledger says {expected}")
    for name in sorted(ledger.keys() - outcomes.keys()):
        print(f"{name}: in the ledger, and no case of that name was found")
    if not bless:
        return 1 if unexpected else 0
    path.write_text(f"# {title} that do not pass: name, outcome, reason.\n" + "".join(
        f"{name}\t{outcome.split(':')[0]}\t{ledger.get(name, ('', outcome))[1] or outcome}\n"
        for name, outcome in sorted(outcomes.items()) if outcome != "pass"))
    return 0
