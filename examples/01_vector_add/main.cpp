// Vector addition: the five steps between host and device, timed by events, with every error checked.
#include "common/lesson.hpp"

using namespace warploom;

static int vector_add(int argc, char** argv) {
  const int n = lesson::size_argument(argc, argv, 1, 1 << 20);
  const std::size_t count = static_cast<std::size_t>(n);
  lesson::Checks checks;
  lesson::Random random;
  const std::vector<float> a = random.floats(count), b = random.floats(count);

  const Device device = Device::open();
  const Kernel kernel = device.compile_file(KERNELS).kernel("vector_add");
  const Stream stream(device);

  // 1. Allocate device memory. It goes back when the arrays go out of scope.
  DeviceArray<float> device_a(device, count), device_b(device, count), device_c(device, count);

  // 2. Copy the inputs to the device. The stream runs what it is given in order, and the host does not wait.
  device_a.copy_from(a, stream);
  device_b.copy_from(b, stream);

  // 3. Launch: enough blocks of 256 threads for n elements. The kernel compiles at its first launch, so it is timed at
  //    the second one. Events mark points in the stream.
  const LaunchConfig shape{blocks_for(count, 256), 256, 0, stream};
  kernel.launch(shape, device_a, device_b, device_c, n);
  const Event start(device), end(device);
  start.record(stream);
  kernel.launch(shape, device_a, device_b, device_c, n);
  end.record(stream);

  // 4. Copy the result back and wait for it: an error in the running kernel would be thrown here.
  std::vector<float> c(count);
  device_c.copy_to(c, stream);
  stream.synchronize();

  // 5. Use the result. One addition of two floats has one right answer, so nothing less than equality will do.
  std::vector<float> expected(count);
  for (std::size_t i = 0; i < count; ++i) expected[i] = a[i] + b[i];
  checks.equal<float>("vector_add", c, expected, lesson::milliseconds(Event::elapsed_ms(start, end)));

  // What can be known before a kernel runs is thrown by the launch, and the device stays usable.
  const auto refused = [&](const char* what, int id, auto launch) {
    try {
      launch();
      checks.report(what, false, "accepted");
    } catch (const Error& error) {
      checks.report(what, error.id() == id, "CUDA error " + std::to_string(error.cuda_code()) + ": " + error.message());
    }
  };
  refused("a block of 2048 threads", error_id::launch_dimensions,
          [&] { kernel.launch({1, 2048}, device_a, device_b, device_c, n); });
  refused("a missing argument", error_id::launch_arguments,
          [&] { kernel.launch({1, 256}, device_a, device_b, device_c); });
  refused("a kernel that is not there", error_id::not_found,
          [&] { (void)device.compile_file(KERNELS).kernel("vector_subtract"); });

  device_c.zero();
  kernel.launch({blocks_for(count, 256), 256}, device_a, device_b, device_c, n);
  checks.equal<float>("vector_add after the errors", device_c.to_vector(), expected, "");
  return checks.finish();
}

int main(int argc, char** argv) {
  return lesson::run([&] { return vector_add(argc, argv); });
}
