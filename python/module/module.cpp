// The extension module warploom._core: the public API of libwarploom and the launch path, for the Python package.
#include "binding.hpp"
#include "current.hpp"

NB_MODULE(_core, m) {
  using namespace warploom::python;
  // Kernels and devices live in module variables, which Python does not always clear at its end.
  nanobind::set_leak_warnings(false);
  m.doc() = "Devices, memory, streams, modules and launches of Warploom, for the Python package on top of it.";
  m.attr("version") = warploom::version().c_str();
  register_error(m);
  register_device(m);
  register_memory(m);
  register_pool(m);
  register_stream(m);
  register_graph(m);
  register_dlpack(m);
  register_kernel(m);
  register_array(m);
  register_host_buffer(m);
  register_cuda_source(m);
  register_sources(m);
  register_current(m);
  register_launch(m);
  register_dispatch(m);
  register_configured(m);
  register_math(m);
  register_collectives(m);
  if (register_compile != nullptr) register_compile(m);
}
