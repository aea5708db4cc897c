"""Attention without its matrix of scores: tiles of keys and values in shared memory, an online softmax, float32."""
import math

import numpy as np

from warploom import cuda
from warploom.cuda import float32

WIDTH = 32  # elements of a head
ROWS = 64  # queries of a block, one for each thread
KEYS = 32  # keys and values in shared memory at a time


# [kernel]
@cuda.jit
def attention(q, k, v, out, scale, causal):
    """out[h] = softmax(q[h] k[h]^T scale) v[h]; the grid is (blocks of queries, heads)."""
    tile_k = cuda.shared.array((KEYS, WIDTH), float32)
    tile_v = cuda.shared.array((KEYS, WIDTH), float32)
    query = cuda.local.array(WIDTH, float32)
    result = cuda.local.array(WIDTH, float32)
    head, t = cuda.blockIdx.y, cuda.threadIdx.x
    row = cuda.blockIdx.x * ROWS + t
    for d in range(WIDTH):
        query[d] = q[head, row, d] * scale if row < q.shape[1] else 0
        result[d] = 0
    largest, total = float32(-math.inf), float32(0)
    end = min((cuda.blockIdx.x + 1) * ROWS, k.shape[1]) if causal else k.shape[1]
    for first in range(0, end, KEYS):
        for n in range(t, KEYS * WIDTH, ROWS):
            j, d = first + n // WIDTH, n % WIDTH
            tile_k[n // WIDTH, d] = k[head, j, d] if j < k.shape[1] else 0
            tile_v[n // WIDTH, d] = v[head, j, d] if j < k.shape[1] else 0
        cuda.syncthreads()
        for n in range(min(KEYS, end - first)):
            if causal and first + n > row:
                break
            score = float32(0)
            for d in range(WIDTH):
                score += query[d] * tile_k[n, d]
            # When the largest score so far grows, what was summed under the old one shrinks by the same factor.
            grown = max(largest, score)
            shrink, weight = math.exp(largest - grown), math.exp(score - grown)
            total = total * shrink + weight
            for d in range(WIDTH):
                result[d] = result[d] * shrink + weight * tile_v[n, d]
            largest = grown
        cuda.syncthreads()
    if row < q.shape[1]:
        for d in range(WIDTH):
            out[head, row, d] = result[d] / total
# [/kernel]


def reference(q, k, v, causal):
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(WIDTH)
    if causal:
        scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return (weights / weights.sum(axis=2, keepdims=True)) @ v


def main():
    generator = np.random.default_rng(10)
    heads, length = 2, 150  # not a multiple of any tile
    q, k, v = (generator.normal(0, 1, (heads, length, WIDTH)).astype(np.float32) for _ in range(3))
    arrays = [cuda.to_device(array) for array in (q, k, v)]
    for causal in (False, True):
        out = cuda.to_device(np.full_like(q, np.nan))
        grid = ((length + ROWS - 1) // ROWS, heads)
        attention[grid, ROWS](*arrays, out, np.float32(1 / math.sqrt(WIDTH)), causal)
        error = np.abs(out.copy_to_host() - reference(q, k, v, causal)).max()
        assert error < 1e-5, error
        stored = heads * length * length * 4
        print(f"{'causal' if causal else 'full'}: largest error {error:.1e}, {stored:,} bytes of scores not stored: ok")


if __name__ == "__main__":
    main()
