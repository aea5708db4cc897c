// The queue of compile tasks, its threads, and what happens to them at a fork and at the end of the process.
#include "codegen/compile_pool.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace warploom::codegen {

namespace {

constexpr int kNiceOfLikely = 10;
constexpr unsigned kMostThreads = 8;

// Signals for the program belong to its own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&all, s);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Tasks that this thread is in.
thread_local unsigned depth = 0;

void run_here(CompileTask& task) {
  ++depth;
  task.run();
  --depth;
}

}  // namespace

struct CompilePool::State {
  using Task = std::shared_ptr<CompileTask>;
  struct Crew {
    std::deque<Task> queue;
    std::vector<std::thread> threads;
    unsigned idle = 0, most = 1;
    bool low = false;
  };

  std::mutex mutex;
  std::condition_variable work, done;
  std::array<Crew, 2> crews;
  std::vector<Task> running;
  unsigned forks = 0;  // begun and not ended
  bool stop = false;
  bool ended = false;  // LLVM may be gone

  void serve(Crew& crew) {
    // On Linux each thread has a priority of its own.
    if (crew.low) setpriority(PRIO_PROCESS, 0, kNiceOfLikely);
    std::unique_lock lock(mutex);
    for (;;) {
      ++crew.idle;
      work.wait(lock, [&] { return stop || (!crew.queue.empty() && forks == 0); });
      --crew.idle;
      if (stop) return;
      Task task = std::move(crew.queue.front());
      crew.queue.pop_front();
      task->state_ = CompileTask::State::running;
      running.push_back(task);
      lock.unlock();
      run_here(*task);
      lock.lock();
      task->state_ = CompileTask::State::done;
      std::erase(running, task);
      done.notify_all();
      lock.unlock();
      task.reset();  // may be the last owner
      lock.lock();
    }
  }

  // Is there a thread for what is queued? Called with the lock.
  void staff(Crew& crew) {
    if (crew.idle >= crew.queue.size() || crew.threads.size() >= crew.most || stop) return;
    try {
      const SignalsBlocked blocked;
      crew.threads.emplace_back([this, &crew] { serve(crew); });
    } catch (const std::system_error&) {
      return;  // whoever needs the code compiles it
    }
  }
};

namespace {

CompilePool* pool_of_process = nullptr;

}  // namespace

struct PoolExit {
  // A child must not inherit locks that LLVM held in a thread it does not have: nothing is compiled during a fork.
  static void before_fork() {
    CompilePool::State& s = *pool_of_process->state_;
    std::unique_lock lock(s.mutex);
    ++s.forks;
    if (depth == 0) s.done.wait(lock, [&] { return s.running.empty(); });
    lock.release();
  }
  static void in_parent() {
    CompilePool::State& s = *pool_of_process->state_;
    --s.forks;
    s.mutex.unlock();
    s.work.notify_all();
    s.done.notify_all();
  }

  // The child has none of the threads: it forgets them, with the conditions they may have been in.
  static void in_child() {
    CompilePool::State& old = *pool_of_process->state_;
    auto* fresh = new CompilePool::State();
    for (std::size_t c = 0; c < old.crews.size(); ++c) {
      fresh->crews[c].queue = std::move(old.crews[c].queue);
      fresh->crews[c].most = old.crews[c].most;
      fresh->crews[c].low = old.crews[c].low;
    }
    pool_of_process->state_ = fresh;
  }

  // Code generation must not run while the libraries it uses are torn down.
  static void at_exit() {
    CompilePool::State& s = *pool_of_process->state_;
    std::unique_lock lock(s.mutex);
    s.stop = true;
    for (auto& crew : s.crews) {
      for (auto& task : crew.queue) task->state_ = CompileTask::State::idle;
      crew.queue.clear();
    }
    s.work.notify_all();
    // A task that ends the process itself is waited for by nobody.
    if (depth == 0) s.done.wait(lock, [&] { return s.running.empty(); });
    lock.unlock();
    for (auto& crew : s.crews)
      for (std::thread& t : crew.threads)
        if (t.joinable()) depth == 0 ? t.join() : t.detach();
  }

  // Threads that the program left running may still launch: from here on they wait for the end of the process.
  static void at_end() {
    CompilePool::State& s = *pool_of_process->state_;
    std::unique_lock lock(s.mutex);
    s.ended = true;
    if (depth == 0) s.done.wait(lock, [&] { return s.running.empty(); });
  }
};

namespace {

// Destroyed after the objects of the program and before those of the libraries that this one uses.
const struct AtEnd {
  AtEnd() = default;
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() {
    if (pool_of_process != nullptr) PoolExit::at_end();
  }
} at_end;

// What a library builds when it is first needed is destroyed before all that was built earlier, so a compilation under
// way at the end of the process may lose tables it reads. Objects of the main thread go before any of them.
struct BeforeExit {
  BeforeExit() = default;
  BeforeExit(const BeforeExit&) = delete;
  BeforeExit& operator=(const BeforeExit&) = delete;
  ~BeforeExit() {
    if (used && getpid() == gettid()) PoolExit::at_exit();
  }
  bool used = false;
};

}  // namespace

CompilePool::CompilePool() : state_(new State()) {
  state_->crews[0].most = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  state_->crews[1].low = true;
}

CompilePool& CompilePool::get() {
  static CompilePool* pool = [] {
    pool_of_process = new CompilePool();
    pthread_atfork(&PoolExit::before_fork, &PoolExit::in_parent, &PoolExit::in_child);
    static const struct AtExit {
      AtExit() = default;
      AtExit(const AtExit&) = delete;
      AtExit& operator=(const AtExit&) = delete;
      ~AtExit() { PoolExit::at_exit(); }
    } at_exit;
    return pool_of_process;
  }();
  static thread_local BeforeExit before_exit;
  before_exit.used = true;
  return *pool;
}

void CompilePool::submit(const std::shared_ptr<CompileTask>& task, Urgency urgency) {
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    if (task->state_ != CompileTask::State::idle || s.stop) return;
    task->state_ = CompileTask::State::queued;
    State::Crew& crew = s.crews[static_cast<std::size_t>(urgency)];
    crew.queue.push_back(task);
    s.staff(crew);
  }
  s.work.notify_all();
}

void CompilePool::finish(const std::shared_ptr<CompileTask>& task) {
  State& s = *state_;
  {
    std::unique_lock lock(s.mutex);
    s.done.wait(lock, [&] {
      return task->state_ != CompileTask::State::running && (depth != 0 || (s.forks == 0 && !s.ended));
    });
    if (task->state_ == CompileTask::State::done) return;
    for (auto& crew : s.crews) std::erase(crew.queue, task);
    task->state_ = CompileTask::State::running;
    s.running.push_back(task);
  }
  run_here(*task);
  {
    const std::lock_guard lock(s.mutex);
    task->state_ = CompileTask::State::done;
    std::erase(s.running, task);
  }
  s.done.notify_all();
}

void CompilePool::withdraw(const std::shared_ptr<CompileTask>& task) {
  const std::lock_guard lock(state_->mutex);
  if (task->state_ != CompileTask::State::queued) return;
  for (auto& crew : state_->crews) std::erase(crew.queue, task);
  task->state_ = CompileTask::State::idle;
}

void CompilePool::exclusively(const std::function<void()>& body) {
  const std::lock_guard lock(state_->mutex);
  body();
}

}  // namespace warploom::codegen
