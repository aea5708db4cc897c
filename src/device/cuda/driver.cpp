// Loads the driver, and says its errors in ours.
#include "device/cuda/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/library.hpp"

namespace warploom::device::cuda {
namespace {

Result<Driver> load() {
  auto library = Library::open({.variable = "WARPLOOM_CUDA_DRIVER",
                                .names = {"libcuda.so.1"},
                                .title = "CUDA driver",
                                .remedy = "install NVIDIA's driver, or open \"cpu\"",
                                .upgrade = "install a driver for CUDA 12 or later",
                                .id = ErrorId::invalid_device,
                                .in_folders = false});
  if (!library) return std::move(library.error());
  Driver driver;
#define WL_ENTRY(member, name, parameters) library->take(driver.member, name);
  WARPLOOM_CUDA_ENTRIES(WL_ENTRY)
#undef WL_ENTRY
  WL_TRY(library->complete());
  Status status = driver.init(0);
  if (status == 0) status = driver.driver_version(&driver.version);
  if (status == 0) status = driver.device_count(&driver.devices);
  if (status != 0) {
    Diag d = driver_error(driver, status, "the CUDA driver does not start");
    d.id = ErrorId::invalid_device;
    d.remedy = "check with nvidia-smi that driver and GPU work, or open \"cpu\"";
    return d;
  }
  return driver;
}

// The first id of the table that has the driver's code, except where that says less than another.
ErrorId id_of(Status status) {
  struct Known {
    Status status;
    ErrorId id;
  };
  static constexpr Known kKnown[] = {
      {218, ErrorId::ptx_invalid},      // CUDA_ERROR_INVALID_PTX
      {714, ErrorId::stack_overflow},   // CUDA_ERROR_HARDWARE_STACK_ERROR
      {717, ErrorId::illegal_address},  // CUDA_ERROR_INVALID_ADDRESS_SPACE
      {718, ErrorId::device_trap},      // CUDA_ERROR_INVALID_PC
      {999, ErrorId::driver_error},     // CUDA_ERROR_UNKNOWN
#define WL_ERROR(number, name, cuda_code, title) {cuda_code, ErrorId::name},
#include "base/errors.def"
#undef WL_ERROR
  };
  const auto* const known = std::ranges::find(kKnown, status, &Known::status);
  return known == std::end(kKnown) ? ErrorId::driver_error : known->id;
}

// After these no call of the process can use the GPU any more (CUDA Driver API, CUresult: "must be terminated and
// relaunched").
bool loses_context(Status status) {
  return status == 700 || status == 702 || status == 710 || (status >= 714 && status <= 719);
}

const char* remedy_of(ErrorId id) {
  switch (id) {
    case ErrorId::out_of_memory: return "free memory that is no longer needed, or use smaller arrays";
    case ErrorId::illegal_address:
    case ErrorId::misaligned_address:
    case ErrorId::illegal_instruction:
    case ErrorId::stack_overflow:
    case ErrorId::device_trap:
      return "run the program on the CPU device, which names the line, the thread and the allocation";
    case ErrorId::device_assert: return "the assertion's text stands in the output";
    case ErrorId::launch_timeout: return "make the kernel shorter, or run it on a GPU that drives no display";
    case ErrorId::ptx_version: return "install a newer driver, or compile for an older PTX version";
    case ErrorId::no_ptx:
    case ErrorId::invalid_image: return "load PTX, which the driver compiles for its GPU";
    case ErrorId::compiler_missing: return "install the driver whole: its PTX compiler is a library of its own";
    case ErrorId::launch_resources: return "use smaller blocks, fewer registers or less shared memory";
    case ErrorId::cooperative_too_large: return "launch fewer blocks and loop over the data";
    case ErrorId::invalid_device: return "check with nvidia-smi that driver and GPU work";
    case ErrorId::invalid_context:
    case ErrorId::invalid_handle:
      return "use objects of this device that are not destroyed and were made after its reset";
    case ErrorId::not_permitted: return "do not call the device from functions that it calls";
    case ErrorId::not_supported: return "ask the device's properties first: this GPU or its driver cannot do that";
    case ErrorId::host_memory_registered:
      return "register each range of memory once, and unregister it before the next";
    case ErrorId::invalid_value: return "check addresses, sizes and flags against the call's documentation";
    default: return "the CUDA Driver API's documentation says more of the code (CUresult)";
  }
}

}  // namespace

Result<const Driver*> find_driver() {
  static const auto& loaded = *new Result<Driver>(load());  // outlives all devices
  if (!loaded) return Diag(loaded.error());
  return &*loaded;
}

Diag driver_error(const Driver& driver, Status status, std::string_view what) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.error_name(status, &name) != 0 || name == nullptr) name = "an unknown error";
  if (driver.error_string(status, &text) != 0 || text == nullptr) text = "no description";
  Diag d;
  d.id = id_of(status);
  if (d.id == ErrorId::driver_error) d.driver_code = status;
  d.what = fmt::format("{}: {} ({}): {}", what, name, status, text);
  d.remedy = remedy_of(d.id);
  if (loses_context(status)) {
    d.remedy += d.remedy.empty() ? "" : "; ";
    d.remedy += "the GPU's context is lost: every later call of this process on this GPU fails, so start it again";
  }
  return d;
}

}  // namespace warploom::device::cuda
