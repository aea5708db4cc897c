"""Times of launches, and `warploom run --time` of a Python program."""
from __future__ import annotations

import numpy as np
import pytest

import warploom
from warploom import cuda


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


def test_each_launch_has_a_record():
    x = cuda.to_device(np.ones(1000, np.float32))
    scale[4, 256](x, 2.0)
    # [records]
    with warploom.launch_times() as launches:
        for _ in range(3):
            scale[4, 256](x, 2.0)
    for launch in launches:
        print(f"{launch.kernel} took {launch.ms:.3f} ms")
    # [/records]
    assert len(launches) == 3
    assert launches[0].kernel.startswith("scale(")
    assert launches[0].grid == (4, 1, 1) and launches[0].block == (256, 1, 1)
    assert all(launch.ms >= 0 and not launch.failed for launch in launches)
    starts = [launch.start_ms for launch in launches]
    assert starts == sorted(starts)
    assert x.copy_to_host()[0] == 16

    scale[4, 256](x, 2.0)
    cuda.synchronize()
    assert len(launches) == 3


def test_records_end_with_the_block_even_when_it_raises():
    x = cuda.to_device(np.ones(32, np.float32))
    with pytest.raises(KeyError):
        with warploom.launch_times() as launches:
            scale[1, 32](x, 2.0)
            raise KeyError
    assert [launch.block for launch in launches] == [(32, 1, 1)]
