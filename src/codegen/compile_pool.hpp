// Background threads that compile kernels, and the tasks they take.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace warploom::codegen {

// A piece of work that is done once, by a background thread or by whoever needs it first.
class CompileTask {
 public:
  CompileTask() = default;
  virtual ~CompileTask() = default;
  CompileTask(const CompileTask&) = delete;
  CompileTask& operator=(const CompileTask&) = delete;
  // Called without locks.
  virtual void run() = 0;

 private:
  friend class CompilePool;
  friend struct PoolExit;
  enum class State : unsigned char { idle, queued, running, done };
  std::atomic<State> state_ = State::idle;
};

enum class Urgency : unsigned char {
  wanted,  // somebody waits or makes do with slower code
  likely,  // it will probably be needed: at low priority
};

// One for the process; threads start when there is work. Safe from several threads. fork() waits for what is under way;
// the child starts threads of its own. The end of the process waits too, and drops what is queued.
class CompilePool {
 public:
  static CompilePool& get();

  // Queues a task that has not begun; if it is queued already it keeps its place.
  void submit(const std::shared_ptr<CompileTask>& task, Urgency urgency);
  // Returns when the task is done; runs it here if no thread has begun it.
  void finish(const std::shared_ptr<CompileTask>& task);
  // Takes the task off the queue if it has not begun.
  void withdraw(const std::shared_ptr<CompileTask>& task);
  // Runs `body` under a lock that no thread holds at a fork.
  void exclusively(const std::function<void()>& body);

 private:
  CompilePool();
  struct State;
  State* state_;  // never freed: other threads may wait in it at the end of the process
  friend struct PoolExit;
};

}  // namespace warploom::codegen
