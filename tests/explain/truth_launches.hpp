// The launches of truth/truth.cu, with the same data, on the CPU device: results in the order of h200_counters.tsv.
#pragma once

#include "truth_device.hpp"

namespace warploom::truth {

class TruthLaunches {
 public:
  explicit TruthLaunches(const std::string& folder, bool nvcc = false) {
    for (const char* file : {"/truth_kernels.cu", "/wide_twins.cu", "/unrolled_twins.cu"})
      device.load(folder + file, nvcc);
    make_data();
  }

  // All launches of the table, in its order.
  std::vector<KernelData> run_all();
  // A kernel of wide_twins.cu or unrolled_twins.cu with the launch of its original.
  KernelData run_twin(const std::string& name);

  // The launches of truth/single_block.cu, in the order of h200_single_block.tsv; twins stand in for their originals.
  std::vector<KernelData> run_single_blocks();

  TruthDevice device;
  std::vector<unsigned char> histogram_input;

 private:
  static constexpr int N = 1 << 20, R = 8192, M = 512, W = 1024, g = N / 256;

  std::uint32_t random() {
    seed_ = seed_ * 1664525u + 1013904223u;
    return seed_ >> 8;
  }

  void make_data() {
    std::vector<float> h(4 * N);
    for (float& v : h) v = static_cast<float>(random() % 2001) / 1000.f - 1.f;
    a = device.upload(h);
    b = device.upload(h);
    c = device.upload(std::vector<float>(4 * N));
    h.resize(256);
    device.upload_to(device.variable("coeff"), h);
    indices.resize(N);
    for (int& v : indices) v = static_cast<int>(random() % N);
    di = device.upload(indices);
    histogram_input.resize(N);
    for (unsigned char& v : histogram_input) {
      const std::uint32_t left = random() % 16, right = random() % 16;
      v = static_cast<unsigned char>(left * right);
    }
    db = device.upload(histogram_input);
    std::vector<int> rows(R + 1);
    for (int i = 0; i < R; ++i) rows[i + 1] = rows[i] + 8 + static_cast<int>(random() % 48);
    std::vector<int> columns(rows[R]);
    for (int& v : columns) v = static_cast<int>(random() % R);
    dr = device.upload(rows);
    dc = device.upload(columns);
  }

  std::uint32_t seed_ = 12345;
  std::vector<int> indices;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  int *di = nullptr, *dr = nullptr, *dc = nullptr;
  unsigned char* db = nullptr;
};

inline std::vector<KernelData> TruthLaunches::run_all() {
  std::vector<KernelData> out;
  const auto run = [&](const std::string& name, Dim grid, Dim block, auto... args) {
    out.push_back(device.launch(name, grid, block, args...));
  };
  const Dim G{g}, T{256}, b16{16, 16}, b328{32, 8}, b32{32, 32};
  run("copy_coalesced", G, T, a, c, N);
  run("copy_offset1", G, T, a, c, N);
  for (const int stride : {2, 8, 32}) run("copy_strided", G, T, a, c, N, stride);
  for (const char* name : {"copy_float4", "copy_double", "copy_char"}) run(name, G, T, a, c, N);
  run("row_sum_bad", {W / 128}, {128}, a, c, W, W);
  run("col_sum_good", {W / 128}, {128}, a, c, W, W);
  run("aos_norm", G, T, a, c, N);
  run("soa_norm", G, T, a, a + N, a + 2 * N, c, N);
  run("gather_random", G, T, a, di, c, N);
  for (const char* name : {"transpose_naive", "transpose_tile<0>", "transpose_tile<1>"})
    run(name, {32, 32}, b328, a, c, W);
  const Dim grid16{M / 16, M / 16}, grid32{M / 32, M / 32};
  run("matmul_naive", grid16, b16, a, b, c, M);
  run("matmul_naive", grid32, b32, a, b, c, M);
  run("matmul_naive_swapped", grid16, b16, a, b, c, M);
  run("matmul_tiled<16>", grid16, b16, a, b, c, M);
  run("matmul_tiled<32>", grid32, b32, a, b, c, M);
  run("matmul_tiled_conflict<16>", grid16, b16, a, b, c, M);
  run("matmul_tiled_conflict<32>", grid32, b32, a, b, c, M);
  run("matmul_tiled_unroll4", grid16, b16, a, b, c, M);
  run("matmul_regtile", {M / 64, M / 64}, T, a, b, c, M);
  for (const char* name : {"reduce_atomic", "reduce_interleaved", "reduce_bankconflict", "reduce_sequential"})
    run(name, G, T, a, c, N);
  run("reduce_shuffle", {256}, T, a, c, N);
  for (const char* name : {"blur_global", "blur_halo"}) run(name, {W / 16, W / 16}, b16, a, c, W, W);
  for (const char* name : {"histogram_global", "histogram_shared"}) run(name, {256}, T, db, c, N);
  for (const char* name : {"diverge_even_odd", "diverge_by_warp"}) run(name, {g / 4}, T, di, N / 4, 64);
  run("mandelbrot", {W / 4 / 16, W / 4 / 16}, b16, c, W / 4, W / 4);
  for (const char* stride : {"1", "2", "4", "32", "33"})
    run(std::string("shared_stride<") + stride + ">", {64}, {32}, c);
  for (const char* name : {"shared_float2", "shared_float4", "shared_double_stride2", "shared_bytes"})
    run(name, {64}, {128}, c);
  for (const char* name : {"const_broadcast", "const_divergent"}) run(name, G, T, a, c, N);
  device.upload_to(di, indices);
  run("local_array", {g / 4}, T, a, c, di, N / 4);
  run("softmax_row", {512}, T, a, c, 1000);
  run("spmv_scalar", {R / 128}, {128}, dr, dc, a, b, c, R);
  run("spmv_vector", {R / 4}, {128}, dr, dc, a, b, c, R);
  run("nbody_tile", {4096 / 128}, {128}, a, c, 4096);
  run("scan_hillis", G, T, a, c);
  run("scan_blelloch", {g / 2}, T, a, c);
  run("tiny_blocks", {1024}, {1}, c, 1024);
  run("stencil3d", {4, 32, 64}, {32, 4, 2}, a, c, 128);
  return out;
}

inline std::vector<KernelData> TruthLaunches::run_single_blocks() {
  std::vector<KernelData> out;
  const auto run = [&](const std::string& name, Dim block, auto... args) {
    out.push_back(device.launch(name, {}, block, args...));
  };
  const Dim b16{16, 16}, b328{32, 8}, b32{32, 32}, b128{128}, b256{256};
  run("transpose_tile<0>", b328, a, c, W);
  run("transpose_tile<1>", b328, a, c, W);
  run("matmul_tiled<16>", b16, a, b, c, M);
  run("matmul_tiled<32>", b32, a, b, c, M);
  run("matmul_tiled_conflict_wide<16>", b16, a, b, c, M);
  run("matmul_tiled_conflict_wide<32>", b32, a, b, c, M);
  run("matmul_tiled_unroll4", b16, a, b, c, M);
  run("matmul_regtile_wide", b256, a, b, c, M);
  run("reduce_interleaved", b256, a, c, N);
  run("reduce_bankconflict_wide", b256, a, c, N);
  run("reduce_sequential", b256, a, c, N);
  run("reduce_shuffle", b256, a, c, 256);
  run("blur_halo", b16, a, c, W, W);
  run("shared_stride<4>", {32}, c);
  run("shared_float2", b128, c);
  run("shared_float4", b128, c);
  run("shared_double_stride2_wide", b128, c);
  run("shared_bytes", b128, c);
  run("softmax_row", b256, a, c, 1000);
  run("nbody_tile", b128, a, c, 4096);
  run("scan_hillis", b256, a, c);
  run("scan_blelloch_wide", b256, a, c);
  return out;
}

inline KernelData TruthLaunches::run_twin(const std::string& name) {
  if (name == "matmul_tiled_conflict_wide<16>") return device.launch(name, {M / 16, M / 16}, {16, 16}, a, b, c, M);
  if (name == "matmul_tiled_conflict_wide<32>") return device.launch(name, {M / 32, M / 32}, {32, 32}, a, b, c, M);
  if (name == "matmul_regtile_wide") return device.launch(name, {M / 64, M / 64}, {256}, a, b, c, M);
  if (name == "reduce_bankconflict_wide") return device.launch(name, {g}, {256}, a, c, N);
  if (name == "softmax_row_unrolled") return device.launch(name, {512}, {256}, a, c, 1000);
  if (name == "spmv_scalar_unrolled") return device.launch(name, {R / 128}, {128}, dr, dc, a, b, c, R);
  if (name == "shared_double_stride2_wide") return device.launch(name, {64}, {128}, c);
  return device.launch(name, {g / 2}, {256}, a, c);
}

}  // namespace warploom::truth
