// Diagnostics of clang and nvcc, read from text alone.
#include <gtest/gtest.h>

#include "frontend/cuda/cuda_compiler.hpp"

namespace warploom::frontend {
namespace {

TEST(CompilerErrors, ClangErrorHasLineColumnAndCaret) {
  const Diag diag = parse_compiler_errors(
      "a.cu:3:9: warning: unused variable 'q'\n    int q;\n        ^\n"
      "a.cu:4:12: error: use of undeclared identifier 'y'\n    x[0] = y;\n           ^\n"
      "1 warning and 1 error generated when compiling for sm_90.\n",
      "clang");
  EXPECT_EQ(diag.id, ErrorId::compile_error);
  EXPECT_EQ(diag.what, "use of undeclared identifier 'y'");
  EXPECT_EQ(diag.loc.file, "a.cu");
  EXPECT_EQ(diag.loc.line, 4u);
  EXPECT_EQ(diag.loc.column, 12u);
  EXPECT_EQ(diag.excerpt, "    x[0] = y;\n           ^");
  EXPECT_TRUE(diag.where.empty());
}

TEST(CompilerErrors, NvccErrorHasLine) {
  const Diag diag = parse_compiler_errors(
      "dir/a.cu(7): error: identifier \"y\" is undefined\n    x[0] = y;\n           ^\n\n"
      "1 error detected in the compilation of \"dir/a.cu\".\n",
      "nvcc");
  EXPECT_EQ(diag.what, "identifier \"y\" is undefined");
  EXPECT_EQ(diag.loc.file, "dir/a.cu");
  EXPECT_EQ(diag.loc.line, 7u);
  EXPECT_EQ(diag.excerpt, "    x[0] = y;\n           ^");
}

TEST(CompilerErrors, EveryErrorIsInTheText) {
  const Diag diag = parse_compiler_errors(
      "a.cu:1:1: error: first\nA\n^\na.cu:1:1: note: of the first\nN\n^\na.cu:2:5: error: second\nB\n    ^\n"
      "2 errors generated when compiling for sm_90.\n",
      "clang");
  EXPECT_EQ(diag.what, "first");
  EXPECT_EQ(diag.where, "2 errors");
  const std::string text = diag.to_string();
  EXPECT_NE(text.find("a.cu:1:1: error WL2101 compile_error: first"), std::string::npos) << text;
  EXPECT_NE(text.find("a.cu:2:5: error: second\nB\n    ^"), std::string::npos) << text;
  EXPECT_EQ(text.find("of the first"), std::string::npos) << text;
}

TEST(CompilerErrors, ErrorWithoutAPlace) {
  const Diag diag = parse_compiler_errors("clang: error: unknown argument: '-fnope'\n", "clang");
  EXPECT_EQ(diag.what, "unknown argument: '-fnope'");
  EXPECT_FALSE(diag.loc.known());
}

TEST(CompilerErrors, OutputWithoutAnErrorIsKept) {
  const Diag diag = parse_compiler_errors("Killed\n", "clang");
  EXPECT_EQ(diag.what, "clang failed without naming an error");
  EXPECT_NE(diag.excerpt.find("Killed"), std::string::npos);
}

}  // namespace
}  // namespace warploom::frontend
