// cuBLAS, declared from its documentation ("cuBLAS", sections "Using the cuBLAS API" and "cuBLAS Level-1/2/3").
#include <complex>
#include <cstdint>
#include <string>

#include "base/library.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_math.hpp"

namespace warploom::device::cuda {
namespace {

using BlasStatus = int;  // cublasStatus_t
using C32 = std::complex<float>;
using C64 = std::complex<double>;

// cublasOperation_t.
int op_of(Transposed op) { return static_cast<int>(op); }
static_assert(static_cast<int>(Transposed::no) == 0 && static_cast<int>(Transposed::yes) == 1 &&
              static_cast<int>(Transposed::conjugated) == 2);

// cudaDataType and cublasComputeType_t; sums of f16 and bf16 are f32, and f32 stays f32 (no TF32).
struct Types {
  int data, compute;
};
Types types_of(Scalar type) {
  switch (type) {
    case Scalar::f16: return {2, 68};
    case Scalar::bf16: return {14, 68};
    case Scalar::f32: return {0, 68};
    case Scalar::f64: return {1, 70};
    case Scalar::c64: return {4, 68};
    case Scalar::c128: return {5, 70};
  }
  return {0, 68};
}
constexpr int kDefaultAlgorithm = -1;                    // CUBLAS_GEMM_DEFAULT
constexpr int kScalarsOnHost = 0, kScalarsOnDevice = 1;  // cublasPointerMode_t

using Gemv1 = BlasStatus(BlasHandle*, int, int, int, const void*, const void*, int, const void*, int, const void*,
                         void*, int);
using Dot1 = BlasStatus(BlasHandle*, int, const void*, int, const void*, int, void*);
using Axpy1 = BlasStatus(BlasHandle*, int, const void*, const void*, int, void*, int);
using Nrm21 = BlasStatus(BlasHandle*, int, const void*, int, void*);
using Scal1 = BlasStatus(BlasHandle*, int, const void*, void*, int);
using GemmStrided = BlasStatus(BlasHandle*, int, int, int, int, int, const void*, const void*, int, int, long long,
                               const void*, int, int, long long, const void*, void*, int, int, long long, int, int,
                               int);

// WL_ENTRY(member, name of the entry point, type).
#define WARPLOOM_CUBLAS_ENTRIES(WL_ENTRY)                                             \
  WL_ENTRY(create, "cublasCreate_v2", BlasStatus(BlasHandle**))                       \
  WL_ENTRY(destroy, "cublasDestroy_v2", BlasStatus(BlasHandle*))                      \
  WL_ENTRY(set_stream, "cublasSetStream_v2", BlasStatus(BlasHandle*, StreamHandle*))  \
  WL_ENTRY(set_pointer_mode, "cublasSetPointerMode_v2", BlasStatus(BlasHandle*, int)) \
  WL_ENTRY(status_string, "cublasGetStatusString", const char*(BlasStatus))           \
  WL_ENTRY(gemm, "cublasGemmStridedBatchedEx", GemmStrided)                           \
  WL_ENTRY(sgemv, "cublasSgemv_v2", Gemv1)                                            \
  WL_ENTRY(dgemv, "cublasDgemv_v2", Gemv1)                                            \
  WL_ENTRY(cgemv, "cublasCgemv_v2", Gemv1)                                            \
  WL_ENTRY(zgemv, "cublasZgemv_v2", Gemv1)                                            \
  WL_ENTRY(sdot, "cublasSdot_v2", Dot1)                                               \
  WL_ENTRY(ddot, "cublasDdot_v2", Dot1)                                               \
  WL_ENTRY(cdotu, "cublasCdotu_v2", Dot1)                                             \
  WL_ENTRY(zdotu, "cublasZdotu_v2", Dot1)                                             \
  WL_ENTRY(cdotc, "cublasCdotc_v2", Dot1)                                             \
  WL_ENTRY(zdotc, "cublasZdotc_v2", Dot1)                                             \
  WL_ENTRY(saxpy, "cublasSaxpy_v2", Axpy1)                                            \
  WL_ENTRY(daxpy, "cublasDaxpy_v2", Axpy1)                                            \
  WL_ENTRY(caxpy, "cublasCaxpy_v2", Axpy1)                                            \
  WL_ENTRY(zaxpy, "cublasZaxpy_v2", Axpy1)                                            \
  WL_ENTRY(snrm2, "cublasSnrm2_v2", Nrm21)                                            \
  WL_ENTRY(dnrm2, "cublasDnrm2_v2", Nrm21)                                            \
  WL_ENTRY(scnrm2, "cublasScnrm2_v2", Nrm21)                                          \
  WL_ENTRY(dznrm2, "cublasDznrm2_v2", Nrm21)                                          \
  WL_ENTRY(sscal, "cublasSscal_v2", Scal1)                                            \
  WL_ENTRY(dscal, "cublasDscal_v2", Scal1)                                            \
  WL_ENTRY(cscal, "cublasCscal_v2", Scal1)                                            \
  WL_ENTRY(zscal, "cublasZscal_v2", Scal1)

template <class F>
using Entry = F*;

struct Cublas {
#define WL_ENTRY(member, name, type) Entry<type> member = nullptr;
  WARPLOOM_CUBLAS_ENTRIES(WL_ENTRY)
#undef WL_ENTRY
};

Result<Cublas> load() {
  auto library =
      Library::open({"WARPLOOM_CUBLAS",
                     {"libcublas.so.13", "libcublas.so.12", "libcublas.so"},
                     "cuBLAS",
                     "install cuBLAS of the driver's CUDA version (pip install nvidia-cublas, or the CUDA toolkit), "
                     "or name its file in WARPLOOM_CUBLAS"});
  if (!library) return std::move(library.error());
  Cublas blas;
#define WL_ENTRY(member, name, type) library->take(blas.member, name);
  WARPLOOM_CUBLAS_ENTRIES(WL_ENTRY)
#undef WL_ENTRY
  WL_TRY(library->complete());
  return blas;
}

const Result<Cublas>& cublas() {
  static const auto& loaded = *new Result<Cublas>(load());
  return loaded;
}

Diag blas_error(BlasStatus status, const char* what) {
  const char* text = (*cublas()).status_string(status);
  Diag d;
  // CUBLAS_STATUS_ALLOC_FAILED, _INVALID_VALUE, _NOT_SUPPORTED.
  d.id = status == 3    ? ErrorId::out_of_memory
         : status == 7  ? ErrorId::invalid_value
         : status == 15 ? ErrorId::not_supported
                        : ErrorId::driver_error;
  d.what = std::string(what) + ": cuBLAS reports " + (text == nullptr ? "an unknown status" : text) + " (" +
           std::to_string(status) + ")";
  d.where = "cuBLAS";
  // CUBLAS_STATUS_NOT_INITIALIZED: the driver is older than the library, or memory is short.
  d.remedy = status == 1    ? "install the cuBLAS of the driver's CUDA version, and leave some device memory free"
             : status == 3  ? "free memory that is no longer needed"
             : status == 7  ? "check shapes, strides and addresses against the call's documentation"
             : status == 15 ? "ask for another element type, or for fewer elements"
                            : "synchronise the device, which says when it has failed";
  return d;
}

// A scalar as the type of a call wants it.
struct HostScalar {
  HostScalar(Scalar type, const C64& value) {
    switch (type) {
      case Scalar::f64: real = value.real(); break;
      case Scalar::c64: single_complex = C32(value); break;
      case Scalar::c128: complex = value; break;
      default: single = static_cast<float>(value.real());
    }
  }
  union {
    float single;
    double real;
    C32 single_complex;
    C64 complex;
  };
};

int narrow(std::int64_t value) { return static_cast<int>(value); }  // the caller has kept to most()

template <class F>
F* pick(Scalar type, F* s, F* d, F* c, F* z) {
  return type == Scalar::f32 ? s : type == Scalar::f64 ? d : type == Scalar::c64 ? c : z;
}

// Handles of streams that are gone stay until there are this many.
constexpr std::size_t kHandles = 16;

}  // namespace

Result<void> CudaMath::need_blas() {
  if (!cublas()) return Diag(cublas().error());
  return {};
}

Result<void> CudaMath::reachable(const void* address) {
  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _DEVICE_ORDINAL, _IS_MANAGED; CU_MEMORYTYPE_DEVICE; and the attribute
  // CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS of GPUs that reach all memory of the host.
  constexpr int kType = 2, kOrdinal = 9, kManaged = 8, kDeviceMemory = 2;
  constexpr auto kReachesHost = static_cast<DeviceAttribute>(88);
  if (address == nullptr || device_.holds(address)) return {};
  WL_TRY(device_.enter());
  const auto at = reinterpret_cast<DevicePointer>(address);
  const Driver& driver = device_.driver();
  unsigned type = 0, managed = 0;
  int ordinal = device_.number();
  Diag d;
  if (driver.pointer_attribute(&type, kType, at) != 0) {
    if (device_.attribute(kReachesHost) != 0) return {};
    d.id = ErrorId::invalid_value;
    d.what = "the array is in memory of the host, which the GPU does not reach";
    d.remedy = "copy it to an array on the device, or register the memory";
    return d;
  }
  if (type != kDeviceMemory || driver.pointer_attribute(&ordinal, kOrdinal, at) != 0 || ordinal == device_.number() ||
      (driver.pointer_attribute(&managed, kManaged, at) == 0 && managed != 0))
    return {};
  d.id = ErrorId::invalid_device;
  d.what = "the array is in memory of GPU " + std::to_string(ordinal) + ", the stream of GPU " +
           std::to_string(device_.number());
  d.remedy = "copy it with copy_peer, or enable peer access";
  return d;
}

Result<BlasHandle*> CudaMath::handle_for(StreamHandle* stream) {
  for (auto it = handles_.begin(); it != handles_.end(); ++it) {
    if (it->stream != stream) continue;
    handles_.splice(handles_.begin(), handles_, it);
    return it->handle;
  }
  const Cublas& blas = *cublas();
  if (handles_.size() >= kHandles) {
    (void)device_.driver().synchronize();
    (void)blas.destroy(handles_.back().handle);
    handles_.pop_back();
  }
  device_.keep_context();
  BlasHandle* handle = nullptr;
  if (const BlasStatus status = blas.create(&handle); status != 0) return blas_error(status, "cuBLAS does not start");
  handles_.push_front({stream, handle});
  return handle;
}

Result<void> CudaMath::with_blas(const char* what, const std::function<int(BlasHandle*)>& call) {
  WL_TRY(need_blas());
  WL_TRY(device_.enter());
  StreamHandle* stream = device_.here().handle();
  {
    const std::lock_guard lock(mutex_);
    auto handle = handle_for(stream);
    if (!handle) return std::move(handle.error());
    // Each time: another stream may have come to the same address.
    if (const BlasStatus status = (*cublas()).set_stream(*handle, stream); status != 0)
      return blas_error(status, "a stream for cuBLAS");
    if (const BlasStatus status = call(*handle); status != 0) return blas_error(status, what);
  }
  return device_.finish(device_.here());
}

Result<void> CudaMath::run(const Gemm& g) {
  return with_blas("a matrix product", [&](BlasHandle* handle) {
    const Cublas& blas = *cublas();
    const Types types = types_of(g.type);
    const HostScalar alpha(g.type, g.alpha), beta(g.type, g.beta);
    if (const BlasStatus status = blas.set_pointer_mode(handle, kScalarsOnHost); status != 0) return status;
    return blas.gemm(handle, op_of(g.a.op), op_of(g.b.op), narrow(g.m), narrow(g.n), narrow(g.k), &alpha, g.a.data,
                     types.data, narrow(g.a.leading), g.a.step, g.b.data, types.data, narrow(g.b.leading), g.b.step,
                     &beta, g.c, types.data, narrow(g.c_leading), g.c_step, narrow(g.batch), types.compute,
                     kDefaultAlgorithm);
  });
}

Result<void> CudaMath::run(const Gemv& g) {
  return with_blas("a product of matrix and vector", [&](BlasHandle* handle) {
    const Cublas& blas = *cublas();
    const HostScalar alpha(g.type, g.alpha), beta(g.type, g.beta);
    if (const BlasStatus status = blas.set_pointer_mode(handle, kScalarsOnHost); status != 0) return status;
    return pick(g.type, blas.sgemv, blas.dgemv, blas.cgemv, blas.zgemv)(
        handle, op_of(g.a.op), narrow(g.m), narrow(g.n), &alpha, g.a.data, narrow(g.a.leading), g.x.data,
        narrow(g.x.step), &beta, g.y.data, narrow(g.y.step));
  });
}

Result<void> CudaMath::run(const VectorCall& v) {
  return with_blas("a vector operation", [&](BlasHandle* handle) {
    const Cublas& blas = *cublas();
    const HostScalar alpha(v.type, v.alpha);
    const int n = narrow(v.count), dx = narrow(v.x.step), dy = narrow(v.y.step);
    // Results go to the device, so that nothing waits.
    const bool on_device = v.result != nullptr;
    if (const BlasStatus status = blas.set_pointer_mode(handle, on_device ? kScalarsOnDevice : kScalarsOnHost);
        status != 0)
      return status;
    switch (v.task) {
      case VectorTask::dot:
        return pick(v.type, blas.sdot, blas.ddot, blas.cdotu, blas.zdotu)(handle, n, v.x.data, dx, v.y.data, dy,
                                                                          v.result);
      case VectorTask::dot_conjugated:
        return pick(v.type, blas.sdot, blas.ddot, blas.cdotc, blas.zdotc)(handle, n, v.x.data, dx, v.y.data, dy,
                                                                          v.result);
      case VectorTask::axpy:
        return pick(v.type, blas.saxpy, blas.daxpy, blas.caxpy, blas.zaxpy)(handle, n, &alpha, v.x.data, dx, v.y.data,
                                                                            dy);
      case VectorTask::nrm2:
        return pick(v.type, blas.snrm2, blas.dnrm2, blas.scnrm2, blas.dznrm2)(handle, n, v.x.data, dx, v.result);
      case VectorTask::scal:
        return pick(v.type, blas.sscal, blas.dscal, blas.cscal, blas.zscal)(handle, n, &alpha, v.x.data, dx);
    }
    return 0;
  });
}

void CudaMath::forget() {
  const std::lock_guard lock(mutex_);
  if (!handles_.empty() && device_.enter())
    for (const BlasOf& one : handles_) (void)(*cublas()).destroy(one.handle);
  handles_.clear();
  forget_plans();
  scaling_.reset();
}

}  // namespace warploom::device::cuda
