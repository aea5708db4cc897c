// Launchers of one kernel by the types of its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launch.hpp"

namespace warploom::python {

class FastDispatcher {
 public:
  void add(const std::vector<std::string>& types, nb::object launcher);
  void clear() {
    entries_.clear();
    last_ = 0;
  }

  enum class Outcome : std::uint8_t { unknown, queued, done };
  // Needs the GIL; `config` gets the line that launches.
  Outcome call(LaunchConfig& config, PyObject* const* arguments, std::size_t count);

 private:
  struct Entry {
    std::vector<std::uint32_t> key;
    Launcher* launcher = nullptr;
    nb::object keeps;
  };
  const Entry* find(const std::uint32_t* key, std::size_t count);

  std::vector<Entry> entries_;
  std::size_t last_ = 0;
};

}  // namespace warploom::python
