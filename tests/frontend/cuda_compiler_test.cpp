// CUDA C++ to PTX with the real compilers.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "frontend/cuda/cuda_compiler.hpp"
#include "ptx/module.hpp"

namespace warploom::frontend {
namespace {

// Sets an environment variable for one test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

std::string compiled(const std::string& source, const CudaOptions& options = {}) {
  auto ptx = compile_cuda_source(source, "test.cu", options);
  if (!ptx) {
    ADD_FAILURE() << ptx.error().to_string();
    return {};
  }
  return *ptx;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr auto kScale = R"(
__global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
)";

TEST(CudaCompiler, KernelBecomesAnEntry) {
  const std::string ptx = compiled(kScale);
  EXPECT_TRUE(contains(ptx, ".version 8.0")) << ptx;
  EXPECT_TRUE(contains(ptx, ".target sm_90")) << ptx;
  EXPECT_TRUE(contains(ptx, ".visible .entry _Z5scalePffi(")) << ptx;
  for (const char* part : {"%ctaid.x", "%ntid.x", "%tid.x", "ld.global", "st.global", "mul.f32"})
    EXPECT_TRUE(contains(ptx, part)) << part;
}

TEST(CudaCompiler, PtxParses) {
  auto module = ptx::parse(compiled(kScale), "test.cu");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const ptx::Function* scale = (*module)->find_function("_Z5scalePffi");
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->params.size(), 3u);
  auto body = ptx::parse_body(**module, *scale);
  ASSERT_TRUE(body.ok()) << body.error().to_string();
  EXPECT_FALSE((*body)->instrs.empty());
}

TEST(CudaCompiler, LinesAreTheUsersOwn) {
  const std::string ptx = compiled(kScale);
  // The load and store of line 4, and nothing in the device header although threadIdx is declared there.
  EXPECT_TRUE(contains(ptx, ".loc\t1 4 ")) << ptx;
  EXPECT_TRUE(contains(ptx, "test.cu\"")) << ptx;
  EXPECT_FALSE(contains(ptx, ".loc\t2 ")) << ptx;
  EXPECT_FALSE(contains(compiled(kScale, {.lineinfo = false}), ".loc"));
}

TEST(CudaCompiler, InlinedHeaderFunctionsKeepTheCallersLine) {
  const std::string ptx = compiled(
      "__global__ void f(float* x) {\n"
      "  atomicAdd(x, 1.0f);\n"
      "  x[1] = expf(x[2]) + __shfl_down_sync(~0u, x[3], 1);\n"
      "}\n");
  EXPECT_TRUE(contains(ptx, ".loc\t1 2 ")) << ptx;
  EXPECT_TRUE(contains(ptx, ".loc\t1 3 ")) << ptx;
  EXPECT_FALSE(contains(ptx, ".loc\t2 ")) << ptx;
}

TEST(CudaCompiler, OptionsReachTheCompiler) {
  EXPECT_TRUE(contains(compiled(kScale, {.arch = "sm_80"}), ".target sm_80"));
  EXPECT_TRUE(contains(compiled(kScale, {.arch = "sm_90a"}), ".target sm_90a"));
  EXPECT_TRUE(
      contains(compiled("__global__ void NAME(int* p) { *p = VALUE; }", {.defines = {"NAME=named", "VALUE=1234567"}}),
               "1234567"));
  const std::string divide = "__global__ void f(float* p) { p[0] = p[1] / p[2]; p[3] = sqrtf(p[4]); }";
  EXPECT_TRUE(contains(compiled(divide), "div.rn.f32"));
  EXPECT_TRUE(contains(compiled(divide), "sqrt.rn.f32"));
  const std::string fast = compiled(divide, {.fast_math = true});
  EXPECT_TRUE(contains(fast, "div.approx.ftz.f32")) << fast;
  EXPECT_TRUE(contains(fast, "sqrt.approx.ftz.f32")) << fast;
  EXPECT_TRUE(contains(compiled(kScale, {.debug = true}), ", debug"));
  const std::string contracted = "__global__ void f(float* p) { p[0] = p[1] * p[2] + p[3]; }";
  EXPECT_TRUE(contains(compiled(contracted), "fma.rn.f32"));
  EXPECT_FALSE(contains(compiled(contracted, {.extra_flags = {"-ffp-contract=off"}}), "fma.rn.f32"));
}

TEST(CudaCompiler, WideVectorsMoveInOneAccess) {
  for (const char* type : {"float4", "int4", "uint4"}) {
    const std::string ptx = compiled(std::string("__global__ void f(") + type + "* a, const " + type +
                                     "* b) { a[threadIdx.x] = b[threadIdx.x]; }");
    EXPECT_TRUE(contains(ptx, "ld.global.v4.b32")) << type << ptx;
    EXPECT_TRUE(contains(ptx, "st.global.v4.b32")) << type << ptx;
  }
  const std::string ptx = compiled("__global__ void f(double2* a, const double2* b) { a[1] = b[2]; }");
  EXPECT_TRUE(contains(ptx, "ld.global.v2.b64")) << ptx;
  EXPECT_TRUE(contains(compiled("__global__ void f(float4* a, const float4* __restrict__ b) { a[1] = b[2]; }"),
                       "ld.global.nc.v4.b32"));
}

TEST(CudaCompiler, SharedConstantAndBarriers) {
  const std::string ptx = compiled(R"(
__constant__ float coefficient[16];
extern __shared__ float dynamic[];
__global__ void __launch_bounds__(128, 4) f(float* x) {
  __shared__ float tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  dynamic[threadIdx.x] = tile[127 - threadIdx.x] * coefficient[threadIdx.x & 15];
  __syncwarp();
  x[threadIdx.x] = dynamic[threadIdx.x ^ 1] + __syncthreads_count(x[0] > 0);
}
)");
  for (const char* part : {".const .align 4 .b8 coefficient[64]", ".extern .shared .align 4 .b8 dynamic[]",
                           ".shared .align 4 .b8 _ZZ1fPfE4tile[512]", "bar.sync", "bar.warp.sync", ".maxntid 128",
                           ".minnctapersm 4", "ld.const", "ld.shared", "st.shared"})
    EXPECT_TRUE(contains(ptx, part)) << part << ptx;
}

TEST(CudaCompiler, HostCodeInTheSameFileParses) {
  const std::string ptx = compiled(R"(
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
template <int N> __global__ void add(int* p) { p[threadIdx.x] += N; }
int main() {
  int* p = nullptr;
  if (cudaError_t e = cudaMalloc(&p, 128); e != cudaSuccess) return std::printf("%s\n", cudaGetErrorString(e));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  std::vector<int> host(32, 1);
  cudaMemcpyAsync(p, host.data(), 128, cudaMemcpyHostToDevice, stream);
  add<7><<<1, 32, 0, stream>>>(p);
  add<9><<<dim3(1, 1), dim3(32)>>>(p);
  return cudaDeviceSynchronize();
}
)");
  EXPECT_TRUE(contains(ptx, ".entry _Z3addILi7EEvPi(")) << ptx;
  EXPECT_TRUE(contains(ptx, ".entry _Z3addILi9EEvPi(")) << ptx;
}

TEST(CudaCompiler, MathFunctionsNeedNoLibrary) {
  const std::string ptx = compiled(R"(
#include <algorithm>
#include <cmath>
__global__ void f(float* x, double* d) {
  x[0] = std::sin(x[1]) + expf(x[2]) + pow(x[3], 2) + sqrt(2) + std::max(x[4], 1.0f) + std::isnan(x[5]) + max(3, 4u);
  d[0] = std::erfc(d[1]) + cbrt(d[2]) + fmod(d[3], 3) + atan2(d[4], d[5]) + std::abs(d[6]);
}
)");
  EXPECT_FALSE(contains(ptx, ".extern")) << ptx;
  EXPECT_TRUE(contains(compiled("__global__ void f(float* x) { x[0] = expf(x[1]); }", {.fast_math = true}),
                       "ex2.approx.ftz.f32"));
}

class EveryFunction : public testing::TestWithParam<const char*> {
 protected:
  std::string path = std::string(WARPLOOM_TEST_DATA "/") + GetParam() + ".cu";
};

TEST_P(EveryFunction, CompilesAndParses) {
  for (const CudaOptions& options :
       {CudaOptions{.arch = "sm_80"}, CudaOptions{.debug = true}, CudaOptions{.optimisation = 0}, CudaOptions{}}) {
    const auto ptx = compile_cuda_file(path, options);
    ASSERT_TRUE(ptx.ok()) << ptx.error().to_string();
    const auto module = ptx::parse(*ptx, GetParam());
    ASSERT_TRUE(module.ok()) << module.error().to_string();
    std::size_t bodies = 0;
    for (const ptx::Function& function : (*module)->functions) {
      if (!function.has_body) continue;
      ++bodies;
      const auto body = ptx::parse_body(**module, function);
      EXPECT_TRUE(body.ok()) << function.name << ": " << body.error().to_string();
    }
    EXPECT_GE(bodies, 3u);
  }
}

TEST_P(EveryFunction, PtxasAccepts) {
  if (std::system("ptxas --version >/dev/null 2>&1") != 0) {
    std::puts("[SKIP] ptxas not found");
    return;
  }
  const auto ptx = compile_cuda_file(path);
  ASSERT_TRUE(ptx.ok()) << ptx.error().to_string();
  const auto file = std::filesystem::temp_directory_path() / ("warploom-every-" + std::to_string(getpid()) + ".ptx");
  std::ofstream(file) << *ptx;
  EXPECT_EQ(std::system(("ptxas -arch=sm_90 -o /dev/null '" + file.string() + "'").c_str()), 0);
  std::filesystem::remove(file);
}

INSTANTIATE_TEST_SUITE_P(Headers, EveryFunction, testing::Values("every_function", "half_and_groups"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(CudaCompiler, PrintfAndAssert) {
  const std::string ptx = compiled(R"(
#include <cassert>
#include <cstdio>
__global__ void f(int n) { assert(n > 3); printf("%d\n", n); }
)");
  EXPECT_TRUE(contains(ptx, "vprintf")) << ptx;
  EXPECT_TRUE(contains(ptx, "__assertfail")) << ptx;
}

TEST(CudaCompiler, ErrorHasFileLineColumnAndCaret) {
  const auto ptx = compile_cuda_source("__global__ void f(int* p) {\n  *p = missing;\n  return 3;\n}\n", "lesson.cu");
  ASSERT_FALSE(ptx.ok());
  const Diag& diag = ptx.error();
  EXPECT_EQ(diag.id, ErrorId::compile_error);
  EXPECT_EQ(diag.loc.file, "lesson.cu");
  EXPECT_EQ(diag.loc.line, 2u);
  EXPECT_EQ(diag.loc.column, 8u);
  EXPECT_EQ(diag.what, "use of undeclared identifier 'missing'");
  EXPECT_EQ(diag.excerpt.substr(0, diag.excerpt.find("lesson.cu")), "  *p = missing;\n       ^~~~~~~\n");
  EXPECT_TRUE(contains(diag.to_string(), "lesson.cu:3:3: error: void function 'f' should not return a value"))
      << diag.to_string();
  EXPECT_EQ(diag.where, "2 errors");
}

TEST(CudaCompiler, HostFunctionInAKernelIsAnError) {
  const auto ptx = compile_cuda_source("int host(int);\n__global__ void f(int* p) { *p = host(3); }\n", "x.cu");
  ASSERT_FALSE(ptx.ok());
  EXPECT_EQ(ptx.error().loc.line, 2u);
}

TEST(CudaCompiler, NamesWithOddCharactersSurvive) {
  const auto ptx = compile_cuda_source("#error stop\n", "a \"b\"\\c.cu");
  ASSERT_FALSE(ptx.ok());
  EXPECT_EQ(ptx.error().loc.file, "a \"b\"\\c.cu");
  EXPECT_EQ(ptx.error().what, "stop");
}

TEST(CudaCompiler, BadArchitectureIsNamed) {
  for (const char* arch : {"volta", "sm_", "90", ""}) {
    const auto ptx = compile_cuda_source(kScale, "x.cu", {.arch = arch});
    ASSERT_FALSE(ptx.ok()) << arch;
    EXPECT_EQ(ptx.error().id, ErrorId::invalid_value);
    EXPECT_FALSE(ptx.error().remedy.empty());
  }
}

TEST(CudaCompiler, FileIncludesFromItsOwnFolder) {
  const auto dir = std::filesystem::temp_directory_path() / ("warploom-frontend-test-" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  std::ofstream(dir / "width.cuh") << "#define WIDTH 77123\n";
  std::ofstream(dir / "k.cu") << "#include \"width.cuh\"\n__global__ void f(int* p) { *p = WIDTH; }\n";
  const auto ptx = compile_cuda_file((dir / "k.cu").string());
  std::filesystem::remove_all(dir);
  ASSERT_TRUE(ptx.ok()) << ptx.error().to_string();
  EXPECT_TRUE(contains(*ptx, "77123"));
}

TEST(CudaCompiler, MissingFileIsNamed) {
  const auto ptx = compile_cuda_file("no/such/kernel.cu");
  ASSERT_FALSE(ptx.ok());
  EXPECT_EQ(ptx.error().id, ErrorId::file_error);
  EXPECT_TRUE(contains(ptx.error().what, "no/such/kernel.cu"));
}

TEST(CudaCompiler, MissingClangSaysWhatToDo) {
  const Environment environment("WARPLOOM_CLANG", "/nonexistent/clang");
  const auto ptx = compile_cuda_source(kScale, "x.cu");
  ASSERT_FALSE(ptx.ok());
  EXPECT_EQ(ptx.error().id, ErrorId::compiler_missing);
  EXPECT_TRUE(contains(ptx.error().what, "/nonexistent/clang"));
  EXPECT_FALSE(ptx.error().remedy.empty());
}

TEST(CudaCompiler, MissingNvccSaysWhatToDo) {
  const Environment environment("WARPLOOM_NVCC", "/nonexistent/nvcc");
  const auto ptx = compile_cuda_source(kScale, "x.cu", {.use_nvcc = true});
  ASSERT_FALSE(ptx.ok());
  EXPECT_EQ(ptx.error().id, ErrorId::compiler_missing);
  EXPECT_FALSE(ptx.error().remedy.empty());
}

TEST(CudaCompiler, NvccCompilesTheSameSource) {
  const auto ptx = compile_cuda_source(kScale, "test.cu", {.use_nvcc = true});
  if (!ptx && ptx.error().id == ErrorId::compiler_missing) {
    std::puts("[SKIP] nvcc not found");
    return;
  }
  ASSERT_TRUE(ptx.ok()) << ptx.error().to_string();
  EXPECT_TRUE(contains(*ptx, ".entry _Z5scalePffi("));
  EXPECT_TRUE(contains(*ptx, "test.cu")) << *ptx;
  const auto bad =
      compile_cuda_source("__global__ void f(int* p) {\n  *p = missing;\n}\n", "lesson.cu", {.use_nvcc = true});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().id, ErrorId::compile_error);
  EXPECT_EQ(bad.error().loc.file, "lesson.cu");
  EXPECT_EQ(bad.error().loc.line, 2u);
  EXPECT_TRUE(contains(bad.error().excerpt, "^")) << bad.error().to_string();
}

}  // namespace
}  // namespace warploom::frontend
