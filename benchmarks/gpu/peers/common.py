"""What the workers of the comparison share: sizes, timing, and the loop that answers compare.py line by line."""
import json
import statistics
import sys
import time
import traceback

QUICK = "--quick" in sys.argv  # small sizes, to see that all of it runs
SIZES = (64, 128) if QUICK else (1024, 2048, 4096)  # of matrices
COPY_BYTES = 1 << 20 if QUICK else 256 << 20
SIDE = 512 if QUICK else 16384  # of the arrays that are streamed through
ROW = 256 if QUICK else 4096  # of softmax
# Attention: batch times heads, queries and keys, width of a head.
ATTENTION = (2, 128, 64) if QUICK else (32, 2048, 64)
LAUNCHES = 20 if QUICK else 500
ROUNDS = 3 if QUICK else 15


def in_a_row(call, settle):
    """Microseconds of a call, of many that are not waited for; the median of rounds."""
    call()
    out = []
    for _ in range(ROUNDS):
        settle()
        start = time.perf_counter()
        for _ in range(LAUNCHES):
            call()
        out.append((time.perf_counter() - start) / LAUNCHES * 1e6)
    settle()
    return statistics.median(out)


def each(call, count=2000):
    """Microseconds of single calls, the median."""
    call()
    out = []
    for _ in range(50 if QUICK else count):
        start = time.perf_counter()
        call()
        out.append((time.perf_counter() - start) * 1e6)
    return statistics.median(out)


def seconds_on_gpu(call, timed, repeats=20):
    """Seconds of a call by the GPU's clock: `timed(function)` gives milliseconds. The median of five rounds."""
    call()

    def many():
        for _ in range(repeats):
            call()

    return statistics.median(timed(many) for _ in range(5)) / repeats * 1e-3


def attention_flops():
    heads, length, width = ATTENTION
    return 4 * heads * length * length * width


def check(got, want, tolerance, what):
    error = float(abs(got - want).max())
    if not error <= tolerance:
        raise AssertionError(f"{what} is wrong by {error}")


def serve(make):
    """Answers `{"section": ...}` with `{"figures": {...}}` or `{"skip": reason}`, one JSON object a line."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what libraries print
    try:
        peer = make()
        reply = {"ready": peer.name, "version": peer.version}
    except Exception as error:
        peer, reply = None, {"skip": f"{type(error).__name__}: {error}".splitlines()[0]}
    print(json.dumps(reply), file=answers, flush=True)
    if peer is None:
        return
    for line in sys.stdin:
        section = json.loads(line)["section"]
        work = getattr(peer, section, None)
        if work is None:
            reply = {"figures": {}}
        else:
            try:
                reply = {"figures": work()}
            except Exception as error:
                traceback.print_exc()
                reply = {"skip": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(reply), file=answers, flush=True)
