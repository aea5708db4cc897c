// The buffers of a case on one device, with the same contents every time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <warploom/warploom.hpp>

#include "cases.hpp"

namespace warploom::bench {

using Word = std::uint32_t;
/// What a case computed: one list for each argument, empty for those that are no results.
using Results = std::vector<std::vector<Word>>;

/// `c` must outlive it, and it must outlive the arguments that it gives.
class Memory {
 public:
  Memory(const Device& device, const Case& c);
  /// Gives the results their first contents again.
  void reset_results();
  [[nodiscard]] Results results() const;
  [[nodiscard]] const Pointers& pointers() const { return pointers_; }
  [[nodiscard]] const Case& description() const { return case_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] std::vector<Argument> arguments() const;

 private:
  struct Image {
    Image(const Device& device, const std::vector<Word>& texels);
    TexelArray array;
    Texture texture;
    std::uint64_t handle;
  };
  void fill(std::size_t index);

  const Case& case_;
  Device device_;
  std::vector<std::optional<DeviceArray<Word>>> arrays_;
  std::vector<std::optional<Image>> images_;
  Pointers pointers_;
};

/// The largest difference of two results: of floats relative to the element plus the root mean square of its buffer, of
/// other elements the share that differs.
double difference(const Case& c, const Results& reference, const Results& other);

}  // namespace warploom::bench
