// What tests of the CUDA device share: whether the GPU is a real one, and the error that a statement throws.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

#include <warploom/warploom.hpp>

namespace warploom::test {

inline bool on_gpu() {
  const char* wanted = std::getenv("WARPLOOM_TEST_GPU");
  return wanted != nullptr && *wanted == '1';
}

// The id of the error, 0 for none; every error must tell its CUDA code, what is wrong and what to do.
inline int id_of(const std::function<void()>& statement) {
  try {
    statement();
  } catch (const Error& error) {
    EXPECT_NE(error.cuda_code(), 0) << error.what();
    EXPECT_FALSE(error.message().empty()) << error.what();
    EXPECT_FALSE(error.remedy().empty()) << error.what();
    return error.id();
  }
  return 0;
}

// What() of it; empty for none.
inline std::string text_of(const std::function<void()>& statement) {
  try {
    statement();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace warploom::test
