// A program for the command line to run: `cli_program [EXIT_CODE]` launches one kernel with a bad access pattern.
#include <cstdlib>
#include <vector>

#include "warploom/warploom.hpp"

static const char* kSource = R"cu(
__global__ void strided(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * 8];
}
)cu";

int main(int argc, char** argv) {
  using namespace warploom;
  constexpr int kThreads = 1024;
  const Device device = Device::open();
  const Kernel kernel = device.compile(kSource, {}, "strided.cu").kernel("strided");
  const DeviceArray<float> in(device, std::vector<float>(8 * kThreads, 1.0f));
  const DeviceArray<float> out(device, kThreads);
  kernel.launch({kThreads / 256, 256}, in, out, kThreads);
  device.synchronize();
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
