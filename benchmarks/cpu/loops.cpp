// The OpenMP loops; compiled for this machine with fast floating-point rules.
#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <omp.h>
#include <vector>

namespace warploom::bench::loops {

void set_threads(int count) { omp_set_num_threads(count); }

void vector_add(const float* __restrict a, const float* __restrict b, float* __restrict c, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void saxpy(float a, const float* __restrict x, float* __restrict y, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

// Rows of b are added to a row of c: the order of loops that runs over memory in order.
void matmul(const float* __restrict a, const float* __restrict b, float* __restrict c, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    float* row = c + i * n;
    std::fill(row, row + n, 0.0f);
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) row[j] += a[i * n + k] * b[k * n + j];
  }
}

void reduce(const float* __restrict in, float* __restrict out, int blocks) {
#pragma omp parallel for
  for (int b = 0; b < blocks; ++b) {
    float sum = 0;
    for (int i = 0; i < 512; ++i) sum += in[b * 512 + i];
    out[b] = sum;
  }
}

// Tiles of 32 x 32, since the simple double loop is slow for reasons of the cache.
void transpose(const float* __restrict in, float* __restrict out, int n) {
#pragma omp parallel for
  for (int y0 = 0; y0 < n; y0 += 32)
    for (int x0 = 0; x0 < n; x0 += 32)
      for (int x = x0; x < x0 + 32; ++x)
        for (int y = y0; y < y0 + 32; ++y) out[x * n + y] = in[y * n + x];
}

namespace {
float pixel(const float* in, int x, int y, int n) { return x >= 0 && x < n && y >= 0 && y < n ? in[y * n + x] : 0.0f; }
float mean(const float* in, int x, int y, int n) {
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) sum += pixel(in, x + dx, y + dy, n);
  return sum * (1.0f / 9);
}
}  // namespace

void blur(const float* __restrict in, float* __restrict out, int n) {
#pragma omp parallel for
  for (int y = 0; y < n; ++y) {
    float* row = out + y * n;
    if (y == 0 || y == n - 1) {
      for (int x = 0; x < n; ++x) row[x] = mean(in, x, y, n);
      continue;
    }
    const float *above = in + (y - 1) * n, *here = in + y * n, *below = in + (y + 1) * n;
    row[0] = mean(in, 0, y, n);
    for (int x = 1; x < n - 1; ++x)
      row[x] = (above[x - 1] + above[x] + above[x + 1] + here[x - 1] + here[x] + here[x + 1] + below[x - 1] + below[x] +
                below[x + 1]) *
               (1.0f / 9);
    row[n - 1] = mean(in, n - 1, y, n);
  }
}

void mandelbrot(int* __restrict out, int n, int limit) {
#pragma omp parallel for schedule(dynamic, 4)
  for (int py = 0; py < n; ++py)
    for (int px = 0; px < n; ++px) {
      const float cx = -2.0f + px * (3.0f / n), cy = -1.5f + py * (3.0f / n);
      float x = 0, y = 0;
      int steps = 0;
      while (steps < limit) {
        const float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        ++steps;
      }
      out[py * n + px] = steps;
    }
}

void histogram(const unsigned* __restrict in, unsigned* __restrict bins, int n) {
#pragma omp parallel
  {
    unsigned own[256] = {};
#pragma omp for nowait
    for (int i = 0; i < n; ++i) ++own[in[i] & 255];
#pragma omp critical
    for (int i = 0; i < 256; ++i) bins[i] += own[i];
  }
}

void scan(const float* __restrict in, float* __restrict out, float* __restrict sums, int blocks) {
#pragma omp parallel for
  for (int b = 0; b < blocks; ++b) {
    float sum = 0;
    for (int i = b * 256; i < (b + 1) * 256; ++i) {
      out[i] = sum;
      sum += in[i];
    }
    sums[b] = sum;
  }
}

void softmax(const float* __restrict in, float* __restrict out, int rows, int cols) {
#pragma omp parallel for
  for (int r = 0; r < rows; ++r) {
    const float* from = in + r * cols;
    float* to = out + r * cols;
    float largest = from[0];
    for (int i = 0; i < cols; ++i) largest = std::max(largest, from[i]);
    float sum = 0;
    for (int i = 0; i < cols; ++i) {
      to[i] = std::exp(from[i] - largest);
      sum += to[i];
    }
    const float scale = 1.0f / sum;
    for (int i = 0; i < cols; ++i) to[i] *= scale;
  }
}

void nbody(const float* __restrict bodies, float* __restrict accelerations, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    const float* me = bodies + 4 * i;
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; ++j) {
      const float* other = bodies + 4 * j;
      const float dx = other[0] - me[0], dy = other[1] - me[1], dz = other[2] - me[2];
      const float inverse = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01f);
      const float f = other[3] * inverse * inverse * inverse;
      ax += f * dx;
      ay += f * dy;
      az += f * dz;
    }
    float* mine = accelerations + 4 * i;
    mine[0] = ax;
    mine[1] = ay;
    mine[2] = az;
    mine[3] = 0;
  }
}

// The same places and weights for every row, so they are found once.
void resize(const float* __restrict image, float* __restrict out, int from, int width, float scale) {
  std::vector<int> left(width), right(width);
  std::vector<float> weight(width);
  for (int i = 0; i < width; ++i) {
    const float at = (i + 0.5f) * scale - 0.5f, floor = std::floor(at);
    weight[i] = at - floor;
    left[i] = std::clamp(static_cast<int>(floor), 0, from - 1);
    right[i] = std::clamp(static_cast<int>(floor) + 1, 0, from - 1);
  }
#pragma omp parallel for
  for (int y = 0; y < width; ++y) {
    const float *above = image + left[y] * from, *below = image + right[y] * from;
    for (int x = 0; x < width; ++x) {
      const float up = above[left[x]] + weight[x] * (above[right[x]] - above[left[x]]);
      const float down = below[left[x]] + weight[x] * (below[right[x]] - below[left[x]]);
      out[y * width + x] = up + weight[y] * (down - up);
    }
  }
}

}  // namespace warploom::bench::loops
