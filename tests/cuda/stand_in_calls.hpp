// Calls of the stand-in's entry points, counted by name.
#pragma once

#include <map>
#include <mutex>
#include <string>

namespace stand_in {

class Calls {
 public:
  static Calls& of_process() {
    static auto& all = *new Calls;
    return all;
  }
  void note(const char* name) {
    const std::lock_guard lock(mutex_);
    ++counts_[name];
  }
  // "name count" in lines, of the calls since the last time it was asked.
  std::string take() {
    std::string text;
    const std::lock_guard lock(mutex_);
    for (const auto& [name, number] : counts_) text += name + " " + std::to_string(number) + "\n";
    counts_.clear();
    return text;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, unsigned> counts_;
};

}  // namespace stand_in
