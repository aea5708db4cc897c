// As much of OpenCL as the twins need; every failure is an exception of type std::runtime_error.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace warploom::bench {

inline void cl_check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) throw std::runtime_error(std::string("OpenCL: ") + what + ": " + std::to_string(code));
}

/// PoCL's CPU device with one queue; available() is false where no such device is installed.
class OpenCl {
 public:
  static OpenCl& instance() {
    static OpenCl cl;
    return cl;
  }
  [[nodiscard]] bool available() const { return device_ != nullptr; }
  [[nodiscard]] cl_context context() const { return context_; }
  [[nodiscard]] cl_command_queue queue() const { return queue_; }

  [[nodiscard]] cl_program build(const std::string& source) const {
    const char* text = source.c_str();
    cl_int code = 0;
    const cl_program program = clCreateProgramWithSource(context_, 1, &text, nullptr, &code);
    cl_check(code, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device_, "-cl-std=CL1.2", nullptr, nullptr) != CL_SUCCESS) {
      std::vector<char> log(1 << 16);
      clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, log.size() - 1, log.data(), nullptr);
      throw std::runtime_error(std::string("OpenCL: ") + log.data());
    }
    return program;
  }

 private:
  OpenCl() {
    cl_uint count = 0;
    if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return;
    std::vector<cl_platform_id> platforms(count);
    clGetPlatformIDs(count, platforms.data(), nullptr);
    for (const cl_platform_id platform : platforms) {
      char name[128] = {};
      clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, nullptr);
      if (std::string(name) != "Portable Computing Language") continue;
      if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device_, nullptr) != CL_SUCCESS) device_ = nullptr;
    }
    if (device_ == nullptr) return;
    cl_int code = 0;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
    cl_check(code, "clCreateContext");
    queue_ = clCreateCommandQueueWithProperties(context_, device_, nullptr, &code);
    cl_check(code, "clCreateCommandQueueWithProperties");
  }

  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
};

/// Memory of the caller as a buffer; PoCL's CPU device works on it in place.
class ClBuffer {
 public:
  ClBuffer(void* memory, std::size_t bytes) {
    cl_int code = 0;
    memory_ =
        clCreateBuffer(OpenCl::instance().context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, memory, &code);
    cl_check(code, "clCreateBuffer");
  }
  ClBuffer(const ClBuffer&) = delete;
  ClBuffer& operator=(const ClBuffer&) = delete;
  ~ClBuffer() { clReleaseMemObject(memory_); }
  [[nodiscard]] const cl_mem& memory() const { return memory_; }

 private:
  cl_mem memory_ = nullptr;
};

/// One kernel, launched with CUDA's grid and block.
class ClKernel {
 public:
  ClKernel(cl_program program, const char* name) {
    cl_int code = 0;
    kernel_ = clCreateKernel(program, name, &code);
    cl_check(code, name);
  }
  ClKernel(const ClKernel&) = delete;
  ClKernel& operator=(const ClKernel&) = delete;
  ~ClKernel() { clReleaseKernel(kernel_); }

  template <class T>
  void argument(std::size_t index, const T& value) const {
    cl_check(clSetKernelArg(kernel_, static_cast<cl_uint>(index), sizeof(T), &value), "clSetKernelArg");
  }
  /// Returns when the kernel has run.
  void launch(const std::size_t (&grid)[2], const std::size_t (&block)[2]) const {
    const std::size_t global[2] = {grid[0] * block[0], grid[1] * block[1]};
    const cl_command_queue queue = OpenCl::instance().queue();
    cl_check(clEnqueueNDRangeKernel(queue, kernel_, 2, nullptr, global, block, 0, nullptr, nullptr),
             "clEnqueueNDRangeKernel");
    cl_check(clFinish(queue), "clFinish");
  }

 private:
  cl_kernel kernel_ = nullptr;
};

}  // namespace warploom::bench
