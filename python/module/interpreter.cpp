// The doors between Python and the library, and how they close when the interpreter ends.
#include "interpreter.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace warploom::python {
namespace {

// A door that closes: whoever holds it open is waited for.
class Door {
 public:
  bool enter() {
    inside_.fetch_add(1);
    if (!closed_.load()) return true;
    leave();
    return false;
  }
  void leave() { inside_.fetch_sub(1); }
  void close() {
    closed_.store(true);
    while (inside_.load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> closed_{false};
};

Door callers, library;
std::atomic<std::thread::id> last_thread{};
thread_local bool of_library = false;  // inside Python by the library's door

}  // namespace

WithoutGil::~WithoutGil() {
  if (of_library) {
    PyEval_RestoreThread(state_);
  } else if (callers.enter()) {
    PyEval_RestoreThread(state_);
    callers.leave();
  } else {
    while (last_thread.load() != std::this_thread::get_id()) pause();
    PyEval_RestoreThread(state_);
  }
}

InsidePython::InsidePython() : entered_(library.enter()) {
  if (!entered_) return;
  state_ = PyGILState_Ensure();
  of_library = true;
}

InsidePython::~InsidePython() {
  if (!entered_) return;
  of_library = false;
  PyGILState_Release(state_);
  library.leave();
}

void end_threads() {
  last_thread.store(std::this_thread::get_id());
  const WithoutGil unlocked;
  callers.close();
}

void end_library_threads() {
  const WithoutGil unlocked;
  library.close();
}

}  // namespace warploom::python
