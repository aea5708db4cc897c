// Loads the driver, and says its errors in ours.
#include "device/cuda/driver.hpp"

#include <fmt/format.h>

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

ErrorId id_of(Status status) {
  switch (status) {
    case 1: return ErrorId::invalid_value;
    case 2: return ErrorId::out_of_memory;
    case 101: return ErrorId::invalid_device;
    case 200: return ErrorId::invalid_image;
    case 201: return ErrorId::invalid_context;
    case 209: return ErrorId::no_ptx;
    case 218: return ErrorId::ptx_invalid;
    case 222: return ErrorId::ptx_version;
    case 400: return ErrorId::invalid_handle;
    case 500: return ErrorId::not_found;
    case 600: return ErrorId::not_ready;
    case 700: return ErrorId::illegal_address;
    case 701: return ErrorId::launch_resources;
    case 702: return ErrorId::launch_timeout;
    case 710: return ErrorId::device_assert;
    case 712: return ErrorId::host_memory_registered;
    case 715: return ErrorId::illegal_instruction;
    case 714: return ErrorId::stack_overflow;
    case 716: return ErrorId::misaligned_address;
    case 717: return ErrorId::illegal_address;
    case 718:
    case 719: return ErrorId::device_trap;
    case 720: return ErrorId::cooperative_too_large;
    case 800: return ErrorId::not_permitted;
    case 801: return ErrorId::not_supported;
    default: return ErrorId::driver_error;
  }
}

// After these no call of the process can use the GPU any more (CUDA Driver API, CUresult: "must be terminated and
// relaunched").
bool loses_context(Status status) {
  return status == 700 || status == 702 || status == 710 || (status >= 714 && status <= 719);
}

std::string remedy_of(ErrorId id) {
  switch (id) {
    case ErrorId::out_of_memory: return "free memory that is no longer needed, or use smaller arrays";
    case ErrorId::illegal_address:
    case ErrorId::misaligned_address:
      return "run the program on the CPU device, which names the line, the thread and the allocation";
    case ErrorId::device_assert: return "the assertion's text stands in the output";
    case ErrorId::ptx_version: return "install a newer driver, or compile for an older PTX version";
    case ErrorId::launch_resources: return "use smaller blocks, fewer registers or less shared memory";
    default: return {};
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
  d.what = fmt::format("{}: {} ({}): {}", what, name, status, text);
  d.remedy = remedy_of(d.id);
  if (loses_context(status)) {
    d.remedy += d.remedy.empty() ? "" : "; ";
    d.remedy += "the GPU's context is lost: every later call of this process on this GPU fails, so start it again";
  }
  return d;
}

}  // namespace warploom::device::cuda
