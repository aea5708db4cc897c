// The GPU benchmark: launches beside the raw driver, copies and kernels beside the copy limit.
// gpu_bench [--ptx FILE] [--write-ptx FILE] [--json FILE]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

#include "raw.hpp"

namespace {

using namespace warploom;

using bench::median;
using bench::now;
using bench::ok;

class Bench : public bench::Figures {
 public:
  explicit Bench(const std::string& ptx)
      : Figures(58),
        device_(Device::open("cuda:0")),
        text_(ptx.empty() ? compile_to_ptx(source(), {.optimization = 3}) : read(ptx)),
        module_(device_.load_ptx(text_, "kernels.ptx")) {}

  [[nodiscard]] const std::string& text() const { return text_; }

  void run() {
    std::printf("%s\n\n", device_.properties().name.c_str());
    launches();
    copies();
    streaming();
    matmul();
    attention();
  }

 private:
  static std::string read(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string source() { return read(BENCH_KERNELS) + read(BENCH_LADDER) + read(BENCH_ATTENTION); }

  // Microseconds of a call, of many in a row that are not waited for.
  double in_a_row(const std::function<void()>& call) {
    std::vector<double> out;
    for (int round = 0; round < 30; ++round) {
      device_.synchronize();
      constexpr int count = 500;
      const double start = now();
      for (int i = 0; i < count; ++i) call();
      out.push_back((now() - start) / count * 1e6);
    }
    return median(out);
  }

  void launches() {
    const bench::Library raw = bench::raw_driver();
    using Get = int(void**, void*, const char*);
    using Load = int(void**, const void*);
    using Launch =
        int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
    void *loaded = nullptr, *empty = nullptr, *three = nullptr;
    ok(raw.entry<Load>("cuModuleLoadData")(&loaded, text_.c_str()));
    ok(raw.entry<Get>("cuModuleGetFunction")(&empty, loaded, module_.kernel("empty").name().c_str()));
    ok(raw.entry<Get>("cuModuleGetFunction")(&three, loaded, module_.kernel("take_three").name().c_str()));
    auto* launch = raw.entry<Launch>("cuLaunchKernel");
    const Kernel ours = module_.kernel("empty"), ours_three = module_.kernel("take_three");
    DeviceArray<float> a(device_, 16), b(device_, 16), c(device_, 16);
    float *pa = a.data(), *pb = b.data(), *pc = c.data();
    void* parameters[] = {&pa, &pb, &pc};
    // By turns, so that both see the same machine.
    std::vector<double> raws, mine, raws_three, mine_three;
    for (int turn = 0; turn < 5; ++turn) {
      raws.push_back(in_a_row([&] { launch(empty, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr); }));
      mine.push_back(in_a_row([&] { ours.launch({1, 32}); }));
      raws_three.push_back(in_a_row([&] { launch(three, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr); }));
      mine_three.push_back(in_a_row([&] { ours_three.launch({1, 32}, a, b, c); }));
    }
    note("launch without arguments, raw cuLaunchKernel", median(raws), "us");
    note("launch without arguments", median(mine), "us");
    note("launch with three arrays, raw cuLaunchKernel", median(raws_three), "us");
    note("launch with three arrays", median(mine_three), "us");
    expect("launch with three arrays, against raw cuLaunchKernel", 1.1, median(mine_three) / median(raws_three), false,
           "x");
    std::vector<double> waited;
    for (int i = 0; i < 200; ++i) {
      const double start = now();
      ours.launch({1, 32});
      device_.synchronize();
      waited.push_back((now() - start) * 1e6);
    }
    note("launch, waited for", median(waited), "us");
    std::vector<double> allocations;
    for (int i = 0; i < 2000; ++i) {
      const double start = now();
      const DeviceArray<float> array(device_, 1024);
      allocations.push_back((now() - start) * 1e6);
    }
    note("array of 4 KiB, made and let go", median(allocations), "us");
  }

  // Gigabytes a second of work that moves so many bytes, on the GPU's clock.
  double rate(double bytes, const std::function<void(const Stream&)>& work, int repeats = 20) {
    const Stream stream(device_);
    work(stream);
    stream.synchronize();
    std::vector<double> out;
    for (int round = 0; round < 5; ++round) {
      const Event before(device_), after(device_);
      before.record(stream);
      for (int i = 0; i < repeats; ++i) work(stream);
      after.record(stream);
      after.synchronize();
      out.push_back(bytes * repeats / Event::elapsed_ms(before, after) * 1e-6);
    }
    return median(out);
  }

  void copies() {
    constexpr std::size_t bytes = std::size_t{256} << 20;
    DeviceArray<std::byte> there(device_, bytes), other(device_, bytes);
    HostMemory pinned(device_, bytes);
    std::fill_n(static_cast<char*>(pinned.data()), bytes, 1);
    std::vector<std::byte> pageable(bytes);
    const double to = rate(bytes, [&](const Stream& s) { copy(s, there.data(), pinned.data(), bytes); }, 4);
    note("pinned, host to device", to, "GB/s");
    note("pinned, device to host",
         rate(bytes, [&](const Stream& s) { copy(s, pinned.data(), there.data(), bytes); }, 4), "GB/s");
    note("pageable, host to device",
         rate(bytes, [&](const Stream& s) { copy(s, there.data(), pageable.data(), bytes); }, 2), "GB/s");
    const bench::Library raw = bench::raw_driver();
    using Copy = int(void*, void*, std::size_t, void*);
    using Wait = int(void*);
    auto* copy_async = raw.entry<Copy>("cuMemcpyAsync");
    auto* wait = raw.entry<Wait>("cuStreamSynchronize");
    std::vector<double> raws;
    for (int i = 0; i < 12; ++i) {
      const double start = now();
      ok(copy_async(there.data(), pinned.data(), bytes, nullptr));
      ok(wait(nullptr));
      raws.push_back(bytes / (now() - start) * 1e-9);
    }
    note("pinned, host to device, raw driver", median(raws), "GB/s");
    expect("pinned host to device, against the raw driver", 0.98, to / median(raws), true, "x");
    limit_ = rate(2.0 * bytes, [&](const Stream& s) { copy(s, other.data(), there.data(), bytes); });
    note("device to device, read and written", limit_, "GB/s");
  }

  void against_limit(const std::string& name, double gigabytes) {
    note(name, gigabytes, "GB/s");
    expect(name + ", against a copy on the device", 0.9, gigabytes / limit_, true, "x");
  }

  void streaming() {
    constexpr int n = 16384;
    constexpr std::size_t count = std::size_t{n} * n;
    constexpr int quarter = static_cast<int>(count / 4);
    DeviceArray<float> a(device_, count), b(device_, count), c(device_, count);
    a.fill(1.5F);
    b.fill(2.0F);
    const auto launch = [&](const char* name, const Dim3& grid, const Dim3& block, const auto&... arguments) {
      return [kernel = module_.kernel(name), grid, block, &arguments...](const Stream& s) {
        kernel.launch({.grid = grid, .block = block, .stream = s}, arguments...);
      };
    };
    constexpr double once = 4.0 * count;
    against_limit("vector_add", rate(3 * once, launch("vector_add", {quarter / 256}, {256}, a, b, c, quarter)));
    check(c, 3.5F);
    against_limit("copy", rate(2 * once, launch("copy_floats", {quarter / 256}, {256}, a, c, quarter)));
    check(c, 1.5F);
    against_limit("transpose", rate(2 * once, launch("transpose", {n / 64, n / 64}, {256}, b, c, n)));
    check(c, 2.0F);
    against_limit("blur", rate(2 * once, launch("blur", {n / 1024, n / 16}, {256}, b, c, n)));
    check(c, 2.0F);
    DeviceArray<float> total(device_, 1);
    against_limit("sum", rate(once, launch("sum", {132 * 8}, {256}, a, total, quarter)));
    total.zero();
    module_.kernel("sum").launch({.grid = {132 * 8}, .block = {256}}, a, total, quarter);
    check(total, 1.5F * static_cast<float>(count));  // a power of two times 1.5: exact
    const Dim3 rows(static_cast<int>(count / 4096));
    against_limit("softmax over rows of 4096", rate(2 * once, launch("softmax", rows, {256}, a, c)));
    check(c, 1.0F / 4096);
  }

  static void check(const DeviceArray<float>& array, float wanted) {
    std::vector<float> some(std::min<std::size_t>(1000, array.size()));
    array.copy_to(some, array.size() / 2 / some.size() * some.size());
    for (const float v : some)
      if (std::abs(v - wanted) > 1e-6F * std::abs(wanted))
        throw std::runtime_error("a kernel computes " + std::to_string(v) + " instead of " + std::to_string(wanted));
  }

  void matmul() {
    for (const int n : {1024, 2048, 4096}) {
      const std::size_t count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
      std::mt19937 random(1);
      std::vector<float> ha(count), hb(count);
      for (float& v : ha) v = static_cast<float>(random() % 16) - 8;
      for (float& v : hb) v = static_cast<float>(random() % 16) - 8;
      DeviceArray<float> a(device_, ha), b(device_, hb), c(device_, count);
      const double flops = 2.0 * n * n * n;
      const auto measure = [&](const char* name, const Dim3& grid, const Dim3& block) {
        c.zero();
        const Kernel kernel = module_.kernel(name);
        const double tflops =
            rate(flops,
                 [&](const Stream& s) { kernel.launch({.grid = grid, .block = block, .stream = s}, a, b, c, n); }) *
            1e-3;
        std::vector<float> row(static_cast<std::size_t>(n));
        const int at = n / 2 + 3;
        c.copy_to(row, static_cast<std::size_t>(at) * static_cast<std::size_t>(n));
        for (int col = 0; col < n; ++col) {
          float sum = 0;  // of small integers: exact
          for (int k = 0; k < n; ++k)
            sum += ha[static_cast<std::size_t>(at * n + k)] * hb[static_cast<std::size_t>(k * n + col)];
          if (sum != row[static_cast<std::size_t>(col)]) throw std::runtime_error(std::string(name) + " is wrong");
        }
        note(std::string(name) + " " + std::to_string(n), tflops, "TFLOP/s");
        return tflops;
      };
      const double tiled = measure("matmul_tiled16", {n / 16, n / 16}, {16, 16});
      if (n == 1024) expect("matmul_tiled16 of 1024", 0.295, flops / tiled * 1e-9, false, "ms");
      const double best = measure("matmul_best", {n / 128, n / 128}, {128});
      measure("matmul_best_small", {n / 128, n / 64}, {256});
      if (n == 4096) expect("best float32 matmul of 4096", 46, best, true, "TFLOP/s");
      library(n, a, b, c);
    }
  }

  // Beside blas::gemm, where cuBLAS is installed.
  void library(int n, const DeviceArray<float>& a, const DeviceArray<float>& b, DeviceArray<float>& c) {
    const ArrayView<const float, 2> va(a.data(), {n, n}), vb(b.data(), {n, n});
    const ArrayView<float, 2> vc(c.data(), {n, n});
    try {
      note("blas::gemm " + std::to_string(n),
           rate(2.0 * n * n * n, [&](const Stream& s) { blas::gemm(s, 1.0F, va, vb, 0.0F, vc); }) * 1e-3, "TFLOP/s");
    } catch (const Error& error) {
      if (error.id() != error_id::not_supported) throw;
      std::printf("[SKIP] blas::gemm: %s\n", error.message().c_str());
    }
  }

  void attention() {
    constexpr int heads = 32, length = 2048, width = 64;
    constexpr std::size_t count = std::size_t{heads} * length * width;
    constexpr double flops = 4.0 * heads * length * length * width;
    // Of equal queries and keys all weights are equal, and the result is a mean.
    const Dim3 grid(length / 128, heads);
    DeviceArray<float> q(device_, count), v(device_, count), out(device_, count);
    q.fill(0.25F);
    v.fill(2.0F);
    const Kernel f32 = module_.kernel("attention_f32");
    constexpr unsigned shared = (64 * 132 + 64 * 68 + 64 * 64 + 64 * 132) * 4;
    note("attention_f32",
         rate(flops,
              [&](const Stream& s) {
                f32.launch({.grid = grid, .block = {256}, .shared_bytes = shared, .stream = s}, q, q, v, out, length);
              }) *
             1e-3,
         "TFLOP/s");
    check(out, 2.0F);
    DeviceArray<std::uint16_t> hq(device_, count), hk(device_, count), hv(device_, count), hout(device_, count);
    const Kernel f16 = module_.kernel("attention_f16");
    const auto by_warps = [&](const Stream& s) {
      f16.launch({.grid = grid, .block = {128}, .stream = s}, hq, hk, hv, hout, length);
    };
    hq.fill(0x3400);  // 0.25
    hk.fill(0x3400);
    hv.fill(0x4000);  // 2
    by_warps(device_.default_stream());
    for (const std::uint16_t value : hout.to_vector())
      if (value != 0x4000) throw std::runtime_error("attention_f16 is wrong");
    // Equal bits would cost less power than usual ones, and be faster.
    std::mt19937 random(1);
    for (DeviceArray<std::uint16_t>* const array : {&hq, &hk, &hv}) {
      std::vector<std::uint16_t> halves(count);
      for (std::uint16_t& h : halves) h = static_cast<std::uint16_t>((random() & 0x8FFF) | 0x2000);  // 2^-7 to 1
      array->copy_from(halves);
    }
    note("attention_f16", rate(flops, by_warps) * 1e-3, "TFLOP/s");
    if (device_.properties().compute_capability_major == 9) by_warpgroups(hq, hk, hv, hout, heads, length, flops);
  }

  // The fastest shape of the sweep, by the matrix units that only sm_90 has, beside what `out` has of the same.
  void by_warpgroups(const DeviceArray<std::uint16_t>& q, const DeviceArray<std::uint16_t>& k,
                     const DeviceArray<std::uint16_t>& v, DeviceArray<std::uint16_t>& out, int heads, int length,
                     double flops) {
    constexpr unsigned groups = 4, keys = 64, stages = 4, shared = (2 * stages + groups) * keys * 128 + 32 * stages;
    std::string ptx;
    try {
      ptx = compile_to_ptx(read(BENCH_SWEEP "/attention.cu"),
                           {.arch = "sm_90a", .include_dirs = {BENCH_SWEEP}, .defines = {"BEST_ALONE"}});
    } catch (const Error& error) {
      if (error.id() != error_id::compiler_missing) throw;
      std::printf("[SKIP] attention_f16 by warpgroups: %s\n", error.message().c_str());
      return;
    }
    const Module module = device_.load_ptx(ptx, "attention.ptx");
    const Kernel kernel = module.kernel("attention_4_64_4_1_1_2_1_1_0_1_0");
    const std::vector<std::uint16_t> expected = out.to_vector();
    out.fill(0x7E00);  // NaN
    const Dim3 grid((length + 64 * groups - 1) / (64 * groups), heads);
    note("attention_f16 by warpgroups",
         rate(flops,
              [&](const Stream& s) {
                kernel.launch({.grid = grid, .block = {128 * (groups + 1)}, .shared_bytes = shared, .stream = s}, q, k,
                              v, out, length);
              }) *
             1e-3,
         "TFLOP/s");
    const std::vector<std::uint16_t> got = out.to_vector();
    double largest = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double wanted = number(expected[i]);
      largest = std::max(largest, std::abs(wanted));
      // Weights are rounded to halves after another largest score; results are some thousandths.
      if (!(std::abs(number(got[i]) - wanted) <= 0x1p-9 * std::abs(wanted) + 0x1p-13))
        throw std::runtime_error("attention_f16 by warpgroups is wrong");
    }
    if (largest == 0) throw std::runtime_error("attention_f16 gives zeros");
  }
  // Of a half.
  static double number(std::uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent == 31  ? std::nan("")
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, exponent - 25);
    return (half & 0x8000) != 0 ? -size : size;
  }

  Device device_;
  std::string text_;
  Module module_;
  double limit_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::string ptx, written, out;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--ptx") ptx = argv[i + 1];
    if (std::string(argv[i]) == "--write-ptx") written = argv[i + 1];
    if (std::string(argv[i]) == "--json") out = argv[i + 1];
  }
  const auto names = Device::names();
  if (names.size() < 2) {
    std::printf("[SKIP] gpu_bench: there is no GPU\n");
    return 0;
  }
  try {
    Bench bench(ptx);
    if (!written.empty() && !(std::ofstream(written) << bench.text()))
      throw std::runtime_error("cannot write " + written);
    bench.run();
    bench.report(out);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_bench: %s\n", error.what());
    return 1;
  }
}
