// The same tasks as plain C++ loops with OpenMP: what one would write for a CPU without thinking of CUDA.
#pragma once

#include <cstddef>

namespace warploom::bench::loops {

void set_threads(int count);

void vector_add(const float* a, const float* b, float* c, int n);
void saxpy(float a, const float* x, float* y, int n);
void matmul(const float* a, const float* b, float* c, int n);
void reduce(const float* in, float* out, int blocks);
void transpose(const float* in, float* out, int n);
void blur(const float* in, float* out, int n);
void mandelbrot(int* out, int n, int limit);
void histogram(const unsigned* in, unsigned* bins, int n);
void scan(const float* in, float* out, float* sums, int blocks);
void softmax(const float* in, float* out, int rows, int cols);
void nbody(const float* bodies, float* accelerations, int n);

// Bilinear, of an image of `from` x `from` texels; a pixel of the result is `scale` texels wide.
void resize(const float* image, float* out, int from, int width, float scale);

}  // namespace warploom::bench::loops
