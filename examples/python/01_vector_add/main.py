"""Vector addition: a kernel, its launch, and the five steps between host and device."""
import numpy as np

from warploom import cuda


# [kernel]
@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:  # the last block may hang over the end
        c[i] = a[i] + b[i]
# [/kernel]


def five_steps(a, b):
    # [steps]
    d_a, d_b = cuda.to_device(a), cuda.to_device(b)  # 1, 2: allocate device memory, copy the inputs
    d_c = cuda.device_array_like(a)
    threads = 256
    blocks = (a.size + threads - 1) // threads
    vector_add[blocks, threads](d_a, d_b, d_c)  # 3: launch; the call returns at once
    return d_c.copy_to_host()  # 4, 5: copy the result back, which waits for it, and use it
    # [/steps]


def shortcuts(a, b):
    # [shortcuts]
    c = np.empty_like(a)
    vector_add.forall(c.size)(cuda.In(a), cuda.In(b), cuda.Out(c))  # picks the block size, copies host arrays
    return c
    # [/shortcuts]


def on_a_stream(a, b):
    # [stream]
    stream = cuda.stream()
    start, end = cuda.event(), cuda.event()
    with stream.auto_synchronize():  # waits for the stream at the end of the block
        d_a, d_b = cuda.to_device(a, stream=stream), cuda.to_device(b, stream=stream)
        d_c = cuda.device_array_like(a, stream=stream)
        start.record(stream)
        vector_add[(a.size + 255) // 256, 256, stream](d_a, d_b, d_c)
        end.record(stream)
        c = d_c.copy_to_host(stream=stream)
    print(f"the kernel took {cuda.event_elapsed_time(start, end):.3f} ms")
    # [/stream]
    return c


def main():
    generator = np.random.default_rng(1)
    a = generator.random(100_003, dtype=np.float32)
    b = generator.random(100_003, dtype=np.float32)
    for way in (five_steps, shortcuts, on_a_stream):
        np.testing.assert_array_equal(way(a, b), a + b)
        print(f"{way.__name__}: ok")


if __name__ == "__main__":
    main()
