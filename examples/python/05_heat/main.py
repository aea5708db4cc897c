"""Heat in a rod: many time steps in one launch, with a barrier over the whole grid between them."""
import numpy as np

from warploom import cuda


# [kernel]
@cuda.jit
def diffuse(now, then, steps, rate):
    """Each step reads one buffer and writes the other; the grid's barrier keeps the steps apart."""
    i = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for _ in range(steps):
        if 0 < i < now.size - 1:
            then[i] = now[i] + rate * (now[i - 1] - 2 * now[i] + now[i + 1])
        elif i < now.size:
            then[i] = now[i]  # the ends keep their temperature
        grid.sync()
        now, then = then, now
# [/kernel]


def reference(rod, steps, rate):
    for _ in range(steps):
        rod[1:-1] += rate * (rod[:-2] - 2 * rod[1:-1] + rod[2:])
    return rod


def main():
    points, steps, rate = 1001, 200, 0.25
    rod = np.zeros(points)
    rod[points // 2] = 10_000
    now, then = cuda.to_device(rod), cuda.device_array_like(rod)
    # [launch]
    threads = 128
    blocks = (points + threads - 1) // threads
    diffuse[blocks, threads](now, then, steps, rate)
    overload = diffuse.overloads[diffuse.signatures[0]]
    assert blocks <= overload.max_cooperative_grid_blocks(threads)  # all blocks must be resident together
    # [/launch]
    result = now.copy_to_host()  # an even number of steps ends where it began
    np.testing.assert_allclose(result, reference(rod, steps, rate), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(result.sum(), 10_000)
    print(f"{steps} steps over {points} points in one launch: ok")


if __name__ == "__main__":
    main()
