// Error: the one exception type; every error has a stable id, a CUDA error code, what, where and what to do.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "warploom/export.hpp"

namespace warploom {

class Error;
namespace detail {
struct ErrorData;
struct ErrorAccess;
}  // namespace detail

/// The ids that Error::id() returns; they are stable and never reused.
namespace error_id {
inline constexpr int invalid_value = 1001;            ///< an argument is out of range or null
inline constexpr int out_of_memory = 1002;            ///< device memory is exhausted
inline constexpr int not_found = 1003;                ///< no kernel or variable of that name
inline constexpr int file_error = 1004;               ///< a file cannot be read
inline constexpr int not_supported = 1005;            ///< the device cannot do it
inline constexpr int invalid_handle = 1006;           ///< moved-from, of another device, or from before a reset
inline constexpr int not_ready = 1007;                ///< the work has not finished yet
inline constexpr int invalid_device = 1008;           ///< no device of that name
inline constexpr int invalid_context = 1009;          ///< the context is gone
inline constexpr int not_permitted = 1010;            ///< not allowed here, for instance waiting in a host function
inline constexpr int host_function_failed = 1011;     ///< a host function in a stream ended with an exception
inline constexpr int host_memory_registered = 1012;   ///< host memory is registered already
inline constexpr int driver_error = 1013;             ///< the CUDA driver reports an error that has no id here
inline constexpr int peer_access_enabled = 1014;      ///< access to the peer is enabled already
inline constexpr int peer_access_not_enabled = 1015;  ///< access to the peer is not enabled
// The rules of stream capture are those of CUDA (cuStreamBeginCapture); see docs/guide/streams.md.
inline constexpr int stream_capture_unsupported = 1020;   ///< not permitted while a stream is being captured
inline constexpr int stream_capture_invalidated = 1021;   ///< an earlier error has invalidated the capture
inline constexpr int stream_capture_merge = 1022;         ///< two captures would be merged
inline constexpr int stream_capture_unmatched = 1023;     ///< the capture did not begin in this stream
inline constexpr int stream_capture_unjoined = 1024;      ///< a stream that joined the capture was not joined again
inline constexpr int stream_capture_isolation = 1025;     ///< a dependency would cross the border of the capture
inline constexpr int stream_capture_implicit = 1026;      ///< the legacy default stream would depend on a capture
inline constexpr int captured_event = 1027;               ///< the event was last recorded in a captured stream
inline constexpr int stream_capture_wrong_thread = 1028;  ///< the capture began in another thread
inline constexpr int illegal_state = 1029;                ///< for instance ending a capture that never began
inline constexpr int ptx_syntax = 2001;                   ///< the PTX text does not parse
inline constexpr int ptx_invalid = 2002;                  ///< an instruction's form is not legal PTX
inline constexpr int ptx_unknown_instruction = 2003;      ///< no such PTX instruction
inline constexpr int ptx_undefined_name = 2004;           ///< a name in the PTX text is not declared
inline constexpr int ptx_version = 2005;                  ///< the PTX version is too new
inline constexpr int unsupported_instruction = 2006;      ///< legal PTX that this device cannot run yet
inline constexpr int unresolved_symbol = 2007;            ///< an external function or variable is not defined
inline constexpr int duplicate_symbol = 2008;             ///< linked modules define the same symbol
inline constexpr int symbol_mismatch = 2009;        ///< linked modules disagree on a symbol's kind, size or parameters
inline constexpr int compile_error = 2101;          ///< CUDA C++ source does not compile
inline constexpr int compiler_missing = 2102;       ///< clang or nvcc is not installed
inline constexpr int jit_failed = 2201;             ///< code generation failed
inline constexpr int invalid_image = 2301;          ///< no PTX, fatbin or ELF file, or one that is cut short
inline constexpr int no_ptx = 2302;                 ///< machine code only, or PTX for newer GPUs only
inline constexpr int launch_dimensions = 3001;      ///< grid or block is over a limit, or zero
inline constexpr int launch_arguments = 3002;       ///< count or size of arguments is not the kernel's
inline constexpr int launch_resources = 3003;       ///< too much shared memory or too many registers
inline constexpr int cooperative_too_large = 3004;  ///< a cooperative grid cannot be resident at once
inline constexpr int illegal_address = 3101;        ///< sticky
inline constexpr int misaligned_address = 3102;     ///< sticky
inline constexpr int device_assert = 3103;          ///< sticky
inline constexpr int device_trap = 3104;            ///< sticky
inline constexpr int launch_timeout = 3105;         ///< sticky
inline constexpr int barrier_divergence = 3106;     ///< sticky
inline constexpr int mbarrier_misuse = 3121;        ///< sticky
inline constexpr int stack_overflow = 3122;         ///< sticky
inline constexpr int context_poisoned = 3107;       ///< a sticky error was reported earlier; see Device::reset()
inline constexpr int partial_warp = 3108;           ///< sticky
inline constexpr int illegal_instruction = 3109;    ///< sticky
inline constexpr int invalid_texture = 3130;        ///< sticky: a handle that is of no texture or surface
inline constexpr int surface_bounds = 3131;         ///< sticky: a surface access with .trap outside the surface
}  // namespace error_id

/// Thrown by every function of this API that fails. Copies share their text and do not throw.
///
/// Errors that a kernel causes while it runs ("sticky" above) leave the device unusable: the first call that notices
/// throws the error itself, every later one throws `context_poisoned` with the same CUDA code, until Device::reset().
/// All other errors leave everything usable (CUDA Driver API, CUresult).
class WARPLOOM_API Error : public std::runtime_error {
 public:
  Error(const Error&) noexcept;
  Error& operator=(const Error&) noexcept;
  ~Error() override;

  /// Stable number, one of error_id; shown as "WL1002".
  [[nodiscard]] int id() const noexcept;
  /// Stable name, for instance "out_of_memory".
  [[nodiscard]] std::string_view name() const noexcept;
  /// The CUresult that the CUDA driver would return, for instance 700 for an illegal address.
  [[nodiscard]] int cuda_code() const noexcept;

  /// One sentence: what is wrong. what() has this and all that follows, on several lines.
  [[nodiscard]] const std::string& message() const noexcept;
  /// Kernel, block, thread, allocation; may be empty.
  [[nodiscard]] const std::string& where() const noexcept;
  /// What to do about it; may be empty.
  [[nodiscard]] const std::string& remedy() const noexcept;
  /// Source or PTX line with a caret below, or what a compiler printed; may be empty.
  [[nodiscard]] const std::string& excerpt() const noexcept;
  /// Source or PTX file; empty when unknown.
  [[nodiscard]] const std::string& file() const noexcept;
  /// Line and column count from 1; 0 when unknown.
  [[nodiscard]] std::uint32_t line() const noexcept;
  [[nodiscard]] std::uint32_t column() const noexcept;

 private:
  friend struct detail::ErrorAccess;
  explicit Error(std::shared_ptr<const detail::ErrorData> data);
  std::shared_ptr<const detail::ErrorData> data_;
};

}  // namespace warploom
