// Runs one kernel of a PTX file for the runners of outside suites: ptx_case FILE KERNEL THREADS OUT_BYTES [IN_HEX]
// The kernel gets the addresses of the input, if there is one, and of the output; the output, zero before, is printed
// as hexadecimal bytes. With 0 threads the module is only loaded. Exit status 1: an error, which is printed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <warploom/warploom.hpp>

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: ptx_case FILE KERNEL THREADS OUT_BYTES [IN_HEX]\n", stderr);
    return 2;
  }
  using namespace warploom;
  try {
    const Device device = Device::open("cpu", {.threads = 1});
    const Module module = device.load_ptx_file(argv[1]);
    const auto threads = static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10));
    if (threads == 0) return 0;
    const Kernel kernel = module.kernel(argv[2]);
    std::vector<std::uint8_t> input;
    const std::string hex = argc > 5 ? argv[5] : "";
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      input.push_back(static_cast<std::uint8_t>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
    const DeviceArray<std::uint8_t> out(device, std::vector<std::uint8_t>(std::strtoul(argv[4], nullptr, 10), 0));
    LaunchConfig config{1, threads};
    config.shared_bytes = 1024;
    if (input.empty()) {
      // Some of the kernels without input have a second parameter all the same.
      try {
        kernel.launch(config, out);
      } catch (const Error& error) {
        if (error.id() != error_id::launch_arguments) throw;
        kernel.launch(config, out, out);
      }
    } else {
      const DeviceArray<std::uint8_t> in(device, input);
      kernel.launch(config, in, out);
    }
    for (const std::uint8_t byte : out.to_vector()) std::printf("%02x", byte);
    std::printf("\n");
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return 0;
}
