// Linker: modules that refer to each other (-rdc=true) become one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/module.hpp"

namespace warploom {

namespace detail {
struct LinkerState;
}

/// Collects PTX and links it, as nvlink does for machine code (cuLinkCreate, cuLinkAddData, cuLinkComplete).
///
/// A declaration (.extern) meets the definition of another module; of several definitions a .visible one stands before
/// .common and .weak ones, and two .visible ones are an error; names without linkage stay apart. Kernels, variables and
/// messages keep the names and lines of their own text. Not for several threads at once.
class WARPLOOM_API Linker {
 public:
  explicit Linker(const Device& device);
  ~Linker();
  Linker(Linker&&) noexcept;
  Linker& operator=(Linker&&) noexcept;

  /// Adds PTX text; `name` stands in messages. It is parsed later, by load() or ptx().
  Linker& add_ptx(std::string_view text, std::string_view name = "<ptx>");
  /// Adds the PTX of a fatbin, object file or archive in memory, or of every fatbin in a program. Throws invalid_image
  /// and no_ptx, as Device::load_image() does.
  Linker& add_image(std::span<const std::byte> bytes, std::string_view name = "<image>");
  /// The same from a file, which may also be PTX text. Throws file_error too.
  Linker& add_file(const std::string& path);

  /// Links what was added so far and loads it. Throws invalid_value when nothing was added, the ptx_* errors,
  /// duplicate_symbol, symbol_mismatch and unresolved_symbol, which name the symbol and the places that disagree. The
  /// linker can be used again.
  [[nodiscard]] Module load(std::string_view name = "<linked>") const;
  /// The same as PTX text, without loading it; every function is parsed, and an instruction that is no PTX is an error.
  [[nodiscard]] std::string ptx(std::string_view name = "<linked>") const;

 private:
  std::unique_ptr<detail::LinkerState> state_;
};

}  // namespace warploom
