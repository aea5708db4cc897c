"""What a kernel sees beside its arrays: pointers, frozen globals, captured device arrays, constant memory."""
import numpy as np

from warploom import cuda
from warploom.cuda import types


# [pointer]
@cuda.jit("void(CPointer(uint8), int64)")
def by_pointer(data, count):
    """The signature says what the pointer points to; the caller passes an address."""
    i = cuda.grid(1)
    if i < count:
        data[i] = data[i] * 2 + 1
# [/pointer]


# [globals]
RATE = 0.21  # read once, when the kernel is compiled
TOTALS = cuda.to_device(np.zeros(3, np.int64))  # captured as a device array: the kernel reads and writes its memory
PRIMES = np.array([2, 3, 5, 7, 11], np.int32)


@cuda.jit
def with_globals(prices, taxes):
    primes = cuda.const.array_like(PRIMES)
    i = cuda.grid(1)
    if i < prices.size:
        taxes[i] = prices[i] * RATE
        cuda.atomic.add(TOTALS, i % TOTALS.size, primes[i % primes.size])
# [/globals]


def main():
    global RATE
    data = np.arange(100, dtype=np.uint8)
    d_data = cuda.to_device(data)
    by_pointer[1, 128](d_data.__cuda_array_interface__["data"][0], data.size)
    np.testing.assert_array_equal(d_data.copy_to_host(), data * 2 + 1)
    assert by_pointer.signatures[0][0] == types.CPointer(types.uint8)
    print("pointer: ok")

    prices, taxes = np.arange(1.0, 31.0), np.zeros(30)
    with_globals[1, 32](prices, taxes)
    RATE = 0.5  # too late
    with_globals[1, 32](prices, taxes)
    np.testing.assert_allclose(taxes, prices * 0.21)
    expected = np.zeros(3, np.int64)
    np.add.at(expected, np.arange(30) % 3, PRIMES[np.arange(30) % 5])
    np.testing.assert_array_equal(TOTALS.copy_to_host(), 2 * expected)
    print("globals: ok")


if __name__ == "__main__":
    main()
