// Runs the cases of Ocelot's TestPTXAssembly.cpp, as they are, on the CPU device: ocelot_cases SEEDS [PART_OF_NAME]
// Compiled by ocelot.py together with that file, against the headers beside this one in place of CUDA and Boost. Each
// case runs in a process of its own with seeds 1 to SEEDS; a line for each: name, outcome, what was wrong.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

#include <ocelot/api/interface/ocelot.h>
#include <ocelot/cuda/interface/cuda_runtime.h>
#include <ocelot/ir/test/TestPTXAssembly.h>

namespace {

// What the calls below work on; made by the first of them in a case's process.
struct State {
  warploom::Device device =
      warploom::Device::open("cpu", {.threads = 1, .unoptimised = std::getenv("OCELOT_UNOPTIMISED") != nullptr});
  std::map<std::string, warploom::Module> modules;  // compiled once for all seeds
  std::map<void*, warploom::DeviceArray<std::uint8_t>> arrays;
  std::vector<std::uint64_t> arguments;
  warploom::LaunchConfig config{1, 1};
};

State& state() {
  static State one;
  return one;
}

}  // namespace

void ocelot::getDeviceProperties(executive::DeviceProperties& properties) {
  properties.ISA = ir::Instruction::Emulated;  // for which all cases are registered
}
void ocelot::registerPTXModule(std::istream& ptx, const std::string& name) {
  if (state().modules.count(name) != 0) return;
  std::stringstream text;
  text << ptx.rdbuf();
  state().modules.emplace(name, state().device.load_ptx(text.str(), name));
}
void ocelot::launch(const std::string& module, const std::string& kernel) {
  std::vector<warploom::Argument> arguments;
  for (const std::uint64_t& value : state().arguments) arguments.push_back({&value, sizeof value, nullptr});
  state().modules.at(module).kernel(kernel).launch_with(state().config, arguments);
  state().device.synchronize();
}
void ocelot::unregisterModule(const std::string&) {}

void cudaGetDeviceCount(int* count) { *count = 1; }
void cudaSetDevice(int) {}
void cudaGetDeviceProperties(cudaDeviceProp* properties, int) { std::strcpy(properties->name, "cpu"); }
void cudaMalloc(void** address, std::size_t bytes) {
  warploom::DeviceArray<std::uint8_t> array(state().device, bytes);
  *address = array.data();
  state().arrays.emplace(*address, std::move(array));
}
void cudaMemset(void* address, int value, std::size_t bytes) {
  const std::vector<std::uint8_t> filled(bytes, static_cast<std::uint8_t>(value));
  state().arrays.at(address).copy_from(filled);
}
void cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyHostToDevice) {
    const auto* begin = static_cast<const std::uint8_t*>(from);
    state().arrays.at(to).copy_from(std::vector<std::uint8_t>(begin, begin + bytes));
  } else {
    const std::vector<std::uint8_t> all = state().arrays.at(const_cast<void*>(from)).to_vector();
    std::memcpy(to, all.data(), bytes);
  }
}
void cudaFree(void* address) { state().arrays.erase(address); }
void cudaSetupArgument(const void* argument, std::size_t bytes, std::size_t offset) {
  state().arguments.resize(2);
  std::memcpy(reinterpret_cast<char*>(state().arguments.data()) + offset, argument, bytes);
}
void cudaConfigureCall(dim3 grid, dim3 block, std::size_t, int) {
  state().config = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}};
}
void cudaThreadSynchronize() {}

namespace {

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  return text;
}

void run(test::TestPTXAssembly& suite, const test::TestPTXAssembly::TestHandle& handle, unsigned seeds) {
  unsigned wrong = 0;
  bool error = false;
  std::string first;
  for (unsigned seed = 1; seed <= seeds && !error; ++seed) {
    suite.status.str("");
    if (suite._doOneTest(handle, seed)) continue;
    if (++wrong == 1) first = "seed " + std::to_string(seed) + ": " + suite.status.str();
    error = suite.status.str().find("with exception") != std::string::npos;
  }
  if (wrong == 0)
    std::printf("%s\tpass\t%u seeds\n", handle.name.c_str(), seeds);
  else
    std::printf("%s\t%s\t%u of %u seeds; %s\n", handle.name.c_str(), error ? "error" : "wrong", wrong, seeds,
                one_line(first).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  test::TestPTXAssembly suite;
  suite.print = suite.enumerate = suite.veryVerbose = false;
  suite.regularExpression = argc > 2 ? argv[2] : "";
  suite._loadTests(ir::Instruction::Emulated);
  for (const auto& handle : suite._tests) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);
      run(suite, handle, static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)));
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
      std::printf("%s\t%s\tsignal %d\n", handle.name.c_str(), WTERMSIG(status) == SIGALRM ? "hang" : "crash",
                  WTERMSIG(status));
  }
  return 0;
}
