// The error of a file that is not what it should be.
#pragma once

#include <string>
#include <utility>

#include "base/result.hpp"

namespace warploom::image {

inline constexpr const char* kDamaged = "the file is cut short or damaged: build it again";

inline Diag invalid_image(std::string where, std::string what, std::string remedy = kDamaged) {
  Diag d;
  d.id = ErrorId::invalid_image;
  d.what = std::move(what);
  d.where = std::move(where);
  d.remedy = std::move(remedy);
  return d;
}

}  // namespace warploom::image
