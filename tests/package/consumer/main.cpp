// Compiles a kernel, runs it, and checks the result and one error, through installed headers only.
#include <cstdio>
#include <vector>

#include <warploom/warploom.hpp>

int main() {
  const char* source = R"(
    // [kernel]
    template <class T>
    __global__ void axpy(T a, const T* x, T* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = a * x[i] + y[i];
    }
    template __global__ void axpy<float>(float, const float*, float*, int);
    // [/kernel]
  )";
  try {
    // [use]
    const warploom::Device device = warploom::Device::open("cpu");
    const warploom::Kernel axpy = device.compile(source).kernel("axpy<float>");
    const int n = 1000;
    std::vector<float> x(n), y(n, 1.0f);
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i);
    warploom::DeviceArray<float> device_x(device, x), device_y(device, y);
    axpy.launch({warploom::blocks_for(n, 128), 128}, 2.0f, device_x, device_y, n);
    const std::vector<float> result = device_y.to_vector();
    // [/use]
    for (int i = 0; i < n; ++i)
      if (result[static_cast<std::size_t>(i)] != 2.0f * static_cast<float>(i) + 1.0f) {
        std::printf("wrong at %d\n", i);
        return 1;
      }
    try {
      axpy.launch({1, 128}, 2.0, device_x, device_y, n);
      std::printf("a double passed as a float was accepted\n");
      return 1;
    } catch (const warploom::Error& error) {
      if (error.id() != warploom::error_id::launch_arguments) throw;
    }
  } catch (const warploom::Error& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  std::printf("consumer passed\n");
  return 0;
}
