"""Collectives: on virtual CPU devices here, through NCCL where there are several GPUs."""
from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from warploom import _core

if len(_core.Device.names()) == 1:  # no GPU
    os.environ.setdefault("WARPLOOM_DEVICES", "2")

from warploom import collectives, cuda  # noqa: E402

needs_two = pytest.mark.skipif(len(cuda.gpus) < 2, reason="there is one device")


@pytest.fixture
def members():
    return collectives.create_all([0, 1])


def arrays(*values):
    out = []
    for number, value in enumerate(values):
        with cuda.gpus[number]:
            out.append(cuda.to_device(np.asarray(value)))
    return out


def host(array):
    with cuda.gpus[array.gpu_data.context.device.id]:
        return array.copy_to_host()


@needs_two
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "float16"])
def test_sums_on_all_ranks(members, dtype):
    a, b = np.arange(100).astype(dtype), np.full(100, 3, dtype)
    parts = arrays(a, b)
    # [all_reduce]
    with collectives.group():  # one thread calls for several ranks
        sums = [member.all_reduce(part) for member, part in zip(members, parts)]
    # [/all_reduce]
    for one in sums:
        np.testing.assert_array_equal(host(one), a + b)
    assert [m.rank for m in members] == [0, 1] and members[0].size == 2
    assert members[1].device == cuda.gpus[1]


@needs_two
def test_parts_and_copies(members):
    a, b = np.arange(8.0).reshape(4, 2), -np.arange(8.0).reshape(4, 2) * 2
    parts = arrays(a, b)
    with collectives.group():
        gathered = [m.all_gather(p) for m, p in zip(members, parts)]
    for one in gathered:
        np.testing.assert_array_equal(host(one), np.stack([a, b]))
    with collectives.group():
        scattered = [m.reduce_scatter(p, op="max") for m, p in zip(members, parts)]
    for rank, one in enumerate(scattered):
        np.testing.assert_array_equal(host(one), np.maximum(a, b)[2 * rank:2 * rank + 2])
    with collectives.group():
        rooted = [m.reduce(p, root=1) for m, p in zip(members, parts)]
    assert rooted[0] is None
    np.testing.assert_array_equal(host(rooted[1]), a + b)
    with collectives.group():
        for m, p in zip(members, parts):
            m.broadcast(p, root=1)
    np.testing.assert_array_equal(host(parts[0]), b)


@needs_two
def test_messages(members):
    parts = arrays(np.arange(5), np.zeros(5, int))
    with collectives.group():
        members[0].send(parts[0], 1)
        members[1].receive(parts[1], 0)
    np.testing.assert_array_equal(host(parts[1]), np.arange(5))


@needs_two
def test_threads_join_by_an_identity():
    name = collectives.unique_id()
    assert isinstance(name, bytes) and len(name) == 128
    found = {}

    def work(rank):
        with cuda.gpus[rank]:
            mine = collectives.Communicator(name, 2, rank)
            stream = cuda.stream()
            out = mine.all_reduce(cuda.to_device(np.full(10, rank + 1.0)), stream=stream)
            stream.synchronize()
            found[rank] = out.copy_to_host()

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank in range(2):
        np.testing.assert_array_equal(found[rank], np.full(10, 3.0))


@needs_two
def test_misuse_is_explained(members):
    parts = arrays(np.arange(6.0), np.arange(6.0))
    with pytest.raises(TypeError, match="cuda.to_device"):
        members[0].all_reduce(np.arange(3.0))
    with pytest.raises(ValueError, match="device 1"):
        members[0].all_reduce(parts[1])
    with pytest.raises(ValueError, match="contiguous"):
        members[0].all_reduce(parts[0][::2])
    with pytest.raises(ValueError, match="sum, product"):
        members[0].all_reduce(parts[0], op="xor")
    with pytest.raises(ValueError, match="6 are needed"):
        members[0].all_reduce(parts[0], out=parts[0][:3])
    with pytest.raises(TypeError, match="complex128"):
        members[0].all_reduce(arrays(np.zeros(3, complex))[0])
    with pytest.raises(ValueError, match="128 bytes"):
        collectives.Communicator(b"short", 2, 0)


def test_a_group_of_one():
    (alone,) = collectives.create_all([0])
    array = cuda.to_device(np.arange(4.0))
    np.testing.assert_array_equal(alone.all_reduce(array).copy_to_host(), np.arange(4.0))
    assert "rank 0 of 1" in repr(alone)
