// Leaving and entering Python, also while the interpreter ends: a thread that takes the GIL then would be ended by
// Python in the middle of C++ code, which ends the process.
#pragma once

#include <nanobind/nanobind.h>

namespace warploom::python {

// Without the GIL for the length of a scope. A thread that comes back after end_threads() waits until the process ends.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

using Unlocked = nanobind::call_guard<WithoutGil>;

// A library thread inside Python for the length of a scope; when entered() is false, it may not touch Python.
class InsidePython {
 public:
  InsidePython();
  ~InsidePython();
  InsidePython(const InsidePython&) = delete;
  InsidePython& operator=(const InsidePython&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  bool entered_;
  PyGILState_STATE state_{};
};

// From now on only the calling thread comes back into Python from a call; needs the GIL.
void end_threads();
// From now on no library thread enters Python; returns when none is inside. Needs the GIL.
void end_library_threads();

}  // namespace warploom::python
