"""A 3 x 3 Gaussian blur of an image, main.py [IN.png OUT.png]: from global memory, and from a tile with its halo."""
import os
import sys
import tempfile

import numpy as np
import png

from warploom import cuda
from warploom.cuda import float32

SIDE = 16
PADDED = SIDE + 2
# [constant]
WEIGHTS = np.outer([1, 2, 1], [1, 2, 1]).astype(np.float32) / 16  # becomes constant memory


@cuda.jit
def blur(image, result):
    """Nine loads from global memory for each pixel; neighbours load the same pixels again."""
    weights = cuda.const.array_like(WEIGHTS)
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        total = float32(0)
        for dy in range(3):
            for dx in range(3):
                row = min(max(y + dy - 1, 0), image.shape[0] - 1)
                column = min(max(x + dx - 1, 0), image.shape[1] - 1)
                total += weights[dy, dx] * image[row, column]
        result[y, x] = np.uint8(total + float32(0.5))
# [/constant]


# [halo]
@cuda.jit
def blur_halo(image, result):
    """The block first copies its 18 x 18 tile, halo included, to shared memory: 324 loads instead of 2304."""
    weights = cuda.const.array_like(WEIGHTS)
    tile = cuda.shared.array((PADDED, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * SIDE - 1, cuda.blockIdx.y * SIDE - 1
    for n in range(ty * SIDE + tx, PADDED * PADDED, SIDE * SIDE):
        row = min(max(top + n // PADDED, 0), image.shape[0] - 1)
        column = min(max(left + n % PADDED, 0), image.shape[1] - 1)
        tile[n // PADDED, n % PADDED] = image[row, column]
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        total = float32(0)
        for dy in range(3):
            for dx in range(3):
                total += weights[dy, dx] * tile[ty + dy, tx + dx]
        result[y, x] = np.uint8(total + float32(0.5))
# [/halo]


def test_image(height=150, width=203):
    """Rings and a few bright dots."""
    y, x = np.mgrid[:height, :width]
    image = (127 + 120 * np.sin(np.hypot(x - 80, y - 60) / 4)).astype(np.uint8)
    image[::31, ::17] = 255
    return image


def reference(image):
    padded = np.pad(image.astype(np.float32), 1, mode="edge")
    total = sum(WEIGHTS[dy, dx] * padded[dy:dy + image.shape[0], dx:dx + image.shape[1]]
                for dy in range(3) for dx in range(3))
    return (total + np.float32(0.5)).astype(np.uint8)


def main():
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) == 3:
            source, target = sys.argv[1:]
        else:
            source, target = os.path.join(folder, "rings.png"), os.path.join(folder, "blurred.png")
            png.write(source, test_image())
        image = png.read(source)
        grid = ((image.shape[1] + SIDE - 1) // SIDE, (image.shape[0] + SIDE - 1) // SIDE)
        d_image, d_result = cuda.to_device(image), cuda.device_array_like(image)
        for kernel in (blur, blur_halo):
            d_result.copy_to_device(np.zeros_like(image))
            kernel[grid, (SIDE, SIDE)](d_image, d_result)
            png.write(target, d_result.copy_to_host())
            np.testing.assert_array_equal(png.read(target), reference(image))
            print(f"{kernel.py_func.__name__}: {image.shape[1]} x {image.shape[0]} pixels, ok")


if __name__ == "__main__":
    main()
