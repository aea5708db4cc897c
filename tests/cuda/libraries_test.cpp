// Libraries that are not what a program takes them for: each must be refused, by every call, and harm nothing else.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "cuda_test.hpp"

namespace {

using namespace warploom;
using test::id_of;
using test::text_of;

// A library is looked for once in a process, so each case has one of its own; the error's text, "" for none.
std::string in_a_process(const std::function<std::string()>& work) {
  int ends[2] = {};
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const std::string text = work();
    const bool sent = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(sent && !testing::Test::HasFailure() ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status << " after: " << text;
  return text;
}

void expect_cpu_works() {
  DeviceArray<int> data(Device::open("cpu"), std::vector<int>{1, 2, 3});
  EXPECT_EQ(data.to_vector(), (std::vector<int>{1, 2, 3}));
}

struct Library {
  const char* variable;
  const char* title;
  int id;
  std::function<void()> use;
};

const std::vector<Library>& libraries() {
  static const std::vector<Library> all{
      {"WARPLOOM_CUDA_DRIVER", "CUDA driver", error_id::invalid_device, [] { (void)Device::open("cuda:0"); }},
      {"WARPLOOM_NCCL", "NCCL", error_id::not_supported, [] { (void)Communicator::unique_id(Device::open("cuda:0")); }},
      {"WARPLOOM_CUBLAS", "cuBLAS", error_id::not_supported,
       [] {
         const Device device = Device::open("cuda:0");
         NdArray<float, 2> a(device, {2, 2}), c(device, {2, 2});
         blas::gemm(Stream(device), 1.0F, a.view(), a.view(), 0.0F, c.view());
       }},
      {"WARPLOOM_CUFFT", "cuFFT", error_id::not_supported,
       [] {
         const Device device = Device::open("cuda:0");
         NdArray<std::complex<float>, 1> in(device, {8}), out(device, {8});
         fft::forward(Stream(device), in.view(), out.view());
       }},
  };
  return all;
}

class CudaLibraries : public testing::Test {
 protected:
  void SetUp() override {
    if (test::on_gpu()) GTEST_SKIP() << "for the stand-in";
    setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1);
    folder = std::filesystem::temp_directory_path() / ("warploom_libraries_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  }
  // Every library is `path`, in turn.
  static void expect_refused(const std::string& path, const std::string& words) {
    for (const Library& library : libraries()) {
      SCOPED_TRACE(std::string(library.variable) + "=" + path);
      const std::string text = in_a_process([&] {
        setenv(library.variable, path.c_str(), 1);
        EXPECT_EQ(id_of(library.use), library.id);
        EXPECT_EQ(id_of(library.use), library.id);  // also the second time
        expect_cpu_works();
        return text_of(library.use);
      });
      EXPECT_NE(text.find(library.title), std::string::npos) << text;
      EXPECT_NE(text.find(words), std::string::npos) << text;
      EXPECT_NE(text.find("\n  where: "), std::string::npos) << text;
      EXPECT_NE(text.find("\n  to do: "), std::string::npos) << text;
    }
  }
  std::filesystem::path folder;
};

TEST_F(CudaLibraries, NoSuchFile) { expect_refused("/no/such/library.so", "/no/such/library.so"); }

TEST_F(CudaLibraries, NoLibrary) {
  expect_refused(file("text.so", "this is no library\n"), "text.so");
  expect_refused(file("empty.so", ""), "empty.so");
  expect_refused(folder, folder);
  expect_refused(file("head.so",
                      "\x7f"
                      "ELF"),
                 "head.so");
}

TEST_F(CudaLibraries, CutShort) {
  std::ifstream in(STAND_IN_DRIVER, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  ASSERT_GT(whole.size(), 4096U);
  // What comes after the parts that are loaded, such as debug information, is not missed.
  Elf64_Ehdr head;
  std::memcpy(&head, whole.data(), sizeof head);
  std::size_t loaded = 0;
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, whole.data() + head.e_phoff + std::size_t{i} * head.e_phentsize, sizeof part);
    if (part.p_type == PT_LOAD) loaded = std::max(loaded, static_cast<std::size_t>(part.p_offset + part.p_filesz));
  }
  ASSERT_LE(loaded, whole.size());
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{1000}, loaded / 4, loaded / 2, loaded - 4096})
    expect_refused(file("cut.so", whole.substr(0, bytes)), "cut.so");
}

TEST_F(CudaLibraries, AnotherLibrary) { expect_refused("libm.so.6", "libm.so.6 has no entry point"); }

TEST_F(CudaLibraries, ThoseOfOtherTitles) {
  for (const Library& library : libraries()) {
    const std::string path = library.variable == std::string("WARPLOOM_CUDA_DRIVER") ? STAND_IN_BLAS : STAND_IN_DRIVER;
    const std::string text = in_a_process([&] {
      setenv(library.variable, path.c_str(), 1);
      return text_of(library.use);
    });
    EXPECT_NE(text.find(path + " has no entry point"), std::string::npos) << text;
  }
}

// A driver that is there and does not start.
TEST_F(CudaLibraries, DriversThatFail) {
  for (const int status : {3, 34, 100, 101, 214, 700, 803, 999}) {
    SCOPED_TRACE(status);
    const std::string text = in_a_process([status] {
      setenv("STAND_IN_STATUS", std::to_string(status).c_str(), 1);
      const auto open = [] { (void)Device::open("cuda:0"); };
      EXPECT_EQ(id_of(open), error_id::invalid_device);
      try {
        open();
      } catch (const Error& error) {
        if (status == 803) {
          EXPECT_EQ(error.cuda_code(), status);
        }
      }
      EXPECT_EQ(Device::names(), std::vector<std::string>{"cpu"});
      EXPECT_EQ(Device::default_name(), "cpu");
      expect_cpu_works();
      return text_of(open);
    });
    EXPECT_NE(text.find("(" + std::to_string(status) + ")"), std::string::npos) << text;
  }
}

TEST_F(CudaLibraries, NamesOfDevices) {
  for (const char* name : {"cuda:", "cuda:-1", "cuda:2", "cuda:99", "cuda:99999999999999999999", "cuda: 0", "cuda:0x0",
                           "cuda:0 ", "CUDA", "gpu", "cuda:0:0", "cpu:0", "\xff\xfe", "none"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(id_of([&] { (void)Device::open(name); }), error_id::invalid_device);
    setenv("WARPLOOM_DEVICE", name, 1);
    EXPECT_EQ(id_of([] { (void)Device::open(); }), error_id::invalid_device);
    EXPECT_NE(text_of([] { (void)Device::open(); }).find("WARPLOOM_DEVICE"), std::string::npos);
    unsetenv("WARPLOOM_DEVICE");
  }
}

}  // namespace
