"""The disk caches: what makes a key, damaged and full folders, several processes, and cache=True beside the source."""

import enum
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from warploom.cuda import cache, fingerprint, types

FACTOR = 2
TABLE = np.arange(4)


class Color(enum.Enum):
    red = 1


def helper(x):
    return x * FACTOR


def uses_helper(r, x):
    r[0] = helper(x[0]) + TABLE[1] + Color.red.value


def digest(function, args=(types.float64[::1],) * 2, **options):
    return fingerprint.of_function(function, args, False, options)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLOOM_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("WARPLOOM_CACHE", "1")
    return tmp_path


def test_digest_covers_what_is_captured(monkeypatch):
    first = digest(uses_helper)
    assert digest(uses_helper) == first
    assert digest(uses_helper, fastmath=True) != first
    assert digest(uses_helper, (types.float32[::1],) * 2) != first
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3)
    second = digest(uses_helper)
    assert second != first
    monkeypatch.setattr(sys.modules[__name__], "TABLE", np.arange(4) + 1)
    assert digest(uses_helper) not in (first, second)


def test_digest_of_closures():
    def make(n):
        def function(r):
            r[0] = n

        return function

    assert digest(make(1)) == digest(make(1)) != digest(make(2))
    assert digest(make(1)) != digest(make(1.0))


def test_recursive_functions_have_a_digest():
    def fact(n):
        return 1 if n < 2 else n * fact(n - 1)

    assert digest(fact) == digest(fact)


def test_what_has_no_fixed_contents_is_not_cached():
    secret = object()

    def function(r):
        r[0] = secret

    with pytest.raises(fingerprint.NotCacheable):
        digest(function)


def test_store_and_load(folder):
    assert cache.load("ab" * 32) is None
    cache.store("ab" * 32, {"x": [1, 2]})
    assert cache.load("ab" * 32) == {"x": [1, 2]}
    cache.clear()
    assert cache.load("ab" * 32) is None


def test_a_damaged_entry_is_a_miss(folder):
    cache.store("cd" * 32, 1)
    (path,) = [os.path.join(root, f) for root, _, files in os.walk(folder) for f in files]
    with open(path, "wb") as file:
        file.write(b"no")
    assert cache.load("cd" * 32) is None
    assert not os.path.exists(path)


def test_the_oldest_entries_go_first(folder):
    digests = [f"{i:02x}" * 32 for i in range(1, 9)]
    for age, d in enumerate(digests):
        cache.store(d, os.urandom(3000).hex())
        os.utime(cache._path(d), (1e9 + age, 1e9 + age))
    size = os.path.getsize(cache._path(digests[0]))
    cache.trim(int(4.4 * size))
    assert [cache.load(d) is not None for d in digests] == [False] * 5 + [True] * 3


def test_a_folder_that_cannot_be_made_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WARPLOOM_CACHE_DIR", str(tmp_path / "file"))
    cache.store("ef" * 32, 1)
    assert cache.load("ef" * 32) is None


PROGRAM = textwrap.dedent("""
    import sys
    import numpy as np
    from warploom import cuda
    cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    OFFSET = int(sys.argv[1])

    @cuda.jit(cache=len(sys.argv) > 2)
    def kernel(r, x):
        r[0] = x[0] + OFFSET

    r = np.zeros(1)
    kernel[1, 1](cuda.to_device(r), cuda.to_device(r))
    result = cuda.to_device(r)
    kernel[1, 1](result, cuda.to_device(r))
    (overload,) = kernel.overloads.values()
    print(int(result.copy_to_host()[0]), int(overload.compiled.from_cache), sum(kernel.stats.cache_hits.values()))
""")


WARM = textwrap.dedent("""
    import math
    import numpy as np
    from warploom import _core, cuda
    cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0

    @cuda.jit
    def wave(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = math.sin(x[i]) if x[i] < 50 else math.sqrt(x[i])

    @cuda.jit
    def total(x, out):
        part = cuda.shared.array(128, np.float64)
        t = cuda.threadIdx.x
        part[t] = x[cuda.grid(1)]
        cuda.syncthreads()
        width = 64
        while width > 0:
            if t < width:
                part[t] += part[t + width]
            cuda.syncthreads()
            width //= 2
        if t == 0:
            cuda.atomic.add(out, cuda.blockIdx.x, part[0])  # one element for each block: the sum has one order

    x, out = cuda.to_device(np.arange(1024.0)), cuda.to_device(np.zeros(8))
    wave[8, 128](x)
    total[8, 128](x, out)
    print(out.copy_to_host().sum().hex(), *_core.code_statistics())
""")


def test_a_warm_process_has_llvm_compile_nothing(folder):
    path = folder / "warm.py"
    path.write_text(WARM)

    def run_it(**environment):
        out = subprocess.run([sys.executable, str(path)], env={**os.environ, **environment}, text=True,
                             capture_output=True, check=True).stdout.split()
        return out[0], int(out[1]), int(out[2])

    result, compiled, loaded = run_it(WARPLOOM_TIER="compiled")
    assert compiled >= 2 and loaded == 0
    # Versions that may be needed are compiled in the background, and those that wait their turn when a process ends
    # are left to the next one.
    for _ in range(4):
        again, compiled, loaded = run_it(WARPLOOM_TIER="compiled")
        assert again == result and loaded >= 2
        if compiled == 0:
            break
    assert compiled == 0
    assert run_it(WARPLOOM_TIER="compiled")[:2] == (result, 0)
    assert run_it()[:2] == (result, 0)
    assert run_it(WARPLOOM_TIER="compiled", WARPLOOM_CACHE="0")[2] == 0


def run(path, *args, **environment):
    out = subprocess.run([sys.executable, str(path), *map(str, args)], env={**os.environ, **environment}, text=True,
                         capture_output=True, check=True).stdout
    return tuple(map(int, out.split()))


def test_another_process_finds_it(folder):
    path = folder / "program.py"
    path.write_text(PROGRAM)
    assert run(path, 1) == (1, 0, 0)
    assert run(path, 1) == (1, 1, 0)
    assert run(path, 2) == (2, 0, 0)
    assert run(path, 1, WARPLOOM_CACHE="0") == (1, 0, 0)


def test_processes_at_the_same_time(folder):
    path = folder / "program.py"
    path.write_text(PROGRAM)
    processes = [subprocess.Popen([sys.executable, str(path), "5"], stdout=subprocess.PIPE, text=True)
                 for _ in range(4)]
    assert {p.communicate()[0].split()[0] for p in processes} == {"5"}


def test_cache_beside_the_source(folder):
    path = folder / "program.py"
    path.write_text(PROGRAM)
    assert run(path, 1, "cached", WARPLOOM_CACHE="0") == (1, 0, 0)
    kept = sorted(f.rpartition(".")[2] for f in os.listdir(folder / "__pycache__"))
    assert kept == ["nbc", "nbi"]
    # As in Numba, globals are those of the first run.
    assert run(path, 2, "cached", WARPLOOM_CACHE="0") == (1, 1, 1)
    path.write_text(PROGRAM + "\n# changed\n")
    assert run(path, 2, "cached", WARPLOOM_CACHE="0") == (2, 0, 0)
