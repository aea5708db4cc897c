// Runs the files of accept/ and reject/: what parses, and what each mistake is answered with.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::test {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> stems(const char* folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(fs::path(WARPLOOM_TEST_DATA) / folder))
    if (entry.path().extension() == ".ptx") out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

// The first error of the module or of any body.
std::optional<Diag> first_error(const std::string& text, const std::string& name, std::string* printed = nullptr) {
  auto module = ptx::parse(text, name);
  if (!module) return module.error();
  for (const ptx::Function& f : (*module)->functions)
    if (f.has_body)
      if (auto body = ptx::parse_body(**module, f); !body) return body.error();
  if (printed != nullptr) {
    auto out = ptx::print(**module);
    if (!out) return out.error();
    *printed = *out;
  }
  return std::nullopt;
}

// Exit status of ptxas on a file; nothing when ptxas is not installed.
std::optional<bool> ptxas_accepts(const fs::path& file) {
  const char* ptxas = "/usr/local/cuda/bin/ptxas";
  if (access(ptxas, X_OK) != 0) return std::nullopt;
  const std::string text = read(file);
  std::string arch = "sm_80";
  if (const auto at = text.find(".target sm_"); at != std::string::npos)
    arch = text.substr(at + 8, text.find_first_of(" ,\n", at + 8) - at - 8);
  const std::string command =
      std::string("exec ") + ptxas + " -c -arch=" + arch + " -o /dev/null " + file.string() + " > /dev/null 2>&1";
  return WEXITSTATUS(std::system(command.c_str())) == 0;
}

class Accept : public testing::TestWithParam<std::string> {};
class Reject : public testing::TestWithParam<std::string> {};

TEST_P(Accept, ParsesPrintsAndParsesAgain) {
  const fs::path file = fs::path(WARPLOOM_TEST_DATA) / "accept" / (GetParam() + ".ptx");
  std::string once, twice;
  const auto error = first_error(read(file), file.filename().string(), &once);
  ASSERT_FALSE(error) << error->to_string();
  const auto again = first_error(once, "printed", &twice);
  ASSERT_FALSE(again) << again->to_string() << "\n" << once;
  EXPECT_EQ(once, twice);
  if (read(file).find("ptxas rejects it") != std::string::npos) return;
  if (const auto accepts = ptxas_accepts(file))
    EXPECT_TRUE(*accepts) << "ptxas rejects the case";
  else
    std::printf("[SKIP] ptxas is not installed\n");
}

TEST_P(Reject, SaysWhatIsWrong) {
  const fs::path file = fs::path(WARPLOOM_TEST_DATA) / "reject" / (GetParam() + ".ptx");
  fs::path expected = file;
  expected.replace_extension(".expect");
  const auto error = first_error(read(file), file.filename().string());
  ASSERT_TRUE(error) << "the mistake is accepted";
  EXPECT_EQ(error_info(error->id).name.substr(0, 4), "ptx_");
  EXPECT_TRUE(error->loc.known());
  const std::string text = error->to_string() + "\n";
  if (std::getenv("WARPLOOM_BLESS") != nullptr) std::ofstream(expected, std::ios::binary) << text;
  EXPECT_EQ(text, read(expected)) << "run `make bless` if the new message is right";
  if (read(file).find("ptxas accepts it") != std::string::npos) return;
  if (const auto accepts = ptxas_accepts(file))
    EXPECT_FALSE(*accepts) << "ptxas accepts the case";
  else
    std::printf("[SKIP] ptxas is not installed\n");
}

std::string test_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Files, Accept, testing::ValuesIn(stems("accept")), test_name);
INSTANTIATE_TEST_SUITE_P(Files, Reject, testing::ValuesIn(stems("reject")), test_name);

}  // namespace
}  // namespace warploom::test
