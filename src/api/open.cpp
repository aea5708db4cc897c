// Device::open: options, the environment of the command line, and the devices there are.
#include <charconv>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "api/observers.hpp"
#include "api/state.hpp"
#include "base/diag_of.hpp"
#include "runtime/names.hpp"

namespace warploom {
namespace {

// An empty variable counts as unset.
std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

[[noreturn]] void fail_variable(const char* name, std::string_view text, const char* expected) {
  api::fail(ErrorId::invalid_value, fmt::format("environment variable {} is \"{}\"", name, text),
            fmt::format("set it to {}, or unset it", expected));
}

bool flag(const char* name, bool otherwise) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  if (text == "1") return true;
  if (text == "0") return false;
  fail_variable(name, text, "0 or 1");
}

unsigned count(const char* name, unsigned otherwise) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail_variable(name, text, "a number");
  return value;
}

// Bytes: a number, with K, M or G for powers of 1024.
std::uint64_t size(const char* name, std::uint64_t otherwise) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  std::uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  const unsigned shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  if (error != std::errc() || (!unit.empty() && shift == 0) || value > (~std::uint64_t{0} >> shift))
    fail_variable(name, text, "bytes, or a number with K, M or G");
  return value << shift;
}

device::DumpOptions dump_options() {
  device::DumpOptions out;
  out.folder = variable("WARPLOOM_DUMP");
  const std::string kernel(variable("WARPLOOM_DUMP_KERNEL"));
  if (!kernel.empty())
    out.wanted = [kernel](const std::string& name) {
      return static_cast<bool>(runtime::find_name({name}, kernel, "kernel", ""));
    };
  return out;
}

device::Tier tier(const char* name) {
  const std::string_view text = variable(name);
  if (text.empty() || text == "auto") return device::Tier::automatic;
  if (text == "compiled") return device::Tier::compiled;
  if (text == "interpreter") return device::Tier::interpreter;
  if (text == "mixed") return device::Tier::mixed;
  fail_variable(name, text, "auto, compiled, interpreter or mixed");
}

device::CpuOptions cpu_options(const DeviceOptions& options) {
  device::CpuOptions out;
  out.threads = count("WARPLOOM_THREADS", options.threads);
  const std::string_view profile = variable("WARPLOOM_PROFILE");
  out.profile = profile.empty() ? options.profile : std::string(profile);
  out.deterministic = flag("WARPLOOM_DETERMINISTIC", options.deterministic);
  out.unoptimised = flag("WARPLOOM_UNOPTIMISED", options.unoptimised);
  out.memory_limit = size("WARPLOOM_MEMORY_LIMIT", options.memory_limit);
  out.dump = dump_options();
  out.tier = tier("WARPLOOM_TIER");
  return out;
}

// Of "cuda" and "cuda:2".
std::optional<unsigned> gpu_number(std::string_view name) {
  if (name == "cuda") return 0;
  constexpr std::string_view prefix = "cuda:";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  unsigned number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// Does anything ask for what only the CPU device has?
bool wants_cpu(const DeviceOptions& options) {
  const DeviceOptions plain;
  if (options.threads != plain.threads || options.profile != plain.profile || options.deterministic ||
      options.unoptimised || options.ordinal != 0)
    return true;
  for (const char* name : {"WARPLOOM_THREADS", "WARPLOOM_PROFILE", "WARPLOOM_DETERMINISTIC", "WARPLOOM_UNOPTIMISED",
                           "WARPLOOM_TIER", "WARPLOOM_DUMP", "WARPLOOM_DEVICES"})
    if (!variable(name).empty()) return true;
  return variable("WARPLOOM_OBSERVE").find("explain") != std::string_view::npos;
}

std::string default_name(const DeviceOptions& options) {
  if (const std::string_view named = variable("WARPLOOM_DEVICE"); !named.empty()) return std::string(named);
  return !wants_cpu(options) && device::cuda_device_count() != 0 ? "cuda:0" : "cpu";
}

}  // namespace

std::string Device::default_name(const DeviceOptions& options) { return warploom::default_name(options); }

namespace {

// `name`: what the program asked for; empty for what stands in its place.
std::unique_ptr<device::Device> open_gpu(std::string_view name, const std::string& chosen) {
  const std::optional<unsigned> number = gpu_number(chosen);
  auto device = number ? device::open_cuda({*number})
                       : diag_of(ErrorId::invalid_device, fmt::format("there is no device \"{}\"", chosen),
                                 "open \"cpu\", or \"cuda:0\" for the first GPU");
  if (device) return std::move(*device);
  Diag& d = device.error();
  if (name.empty() && !variable("WARPLOOM_DEVICE").empty())
    d.where += d.where.empty() ? "environment variable WARPLOOM_DEVICE" : ", for environment variable WARPLOOM_DEVICE";
  api::fail(std::move(d));
}

}  // namespace

Device Device::open(std::string_view name, const DeviceOptions& options) {
  const std::string chosen = name.empty() ? default_name(options) : std::string(name);
  std::unique_ptr<device::Device> device;
  std::uint64_t limit = 0;  // of a GPU
  if (chosen == "cpu") {
    if (const unsigned devices = count(); options.ordinal >= devices)
      api::fail(ErrorId::invalid_device,
                fmt::format("there is no device {}: the process sees {}", options.ordinal, devices),
                "open a lower number, or set the environment variable WARPLOOM_DEVICES");
    device = api::checked(device::open_cpu(cpu_options(options)));
  } else {
    device = open_gpu(name, chosen);
    limit = size("WARPLOOM_MEMORY_LIMIT", options.memory_limit);
  }
  std::shared_ptr<observe::LaunchLog> log = api::checked(api::attach_observers(*device));
  Device opened = adopt_device(std::move(device), std::move(log), options.per_thread_default_stream, options.ordinal);
  if (limit != 0) opened.set_memory_limit(limit);
  return opened;
}

unsigned Device::count() { return warploom::count("WARPLOOM_DEVICES", 1); }

std::vector<std::string> Device::names() {
  std::vector<std::string> out{"cpu"};
  for (unsigned i = 0; i < device::cuda_device_count(); ++i) out.push_back(fmt::format("cuda:{}", i));
  return out;
}

std::vector<std::string> Device::profiles() { return isa::profile_names(); }

}  // namespace warploom
