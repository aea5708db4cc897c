// Threads that take a part in work of which several pieces could run at once, such as the branches of a graph.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace warploom::runtime {

class Helpers {
 public:
  // At most `most` threads; they begin when they are first needed.
  explicit Helpers(unsigned most) : most_(most) {}
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  class Job {
   public:
    Job() = default;
    virtual ~Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

   protected:
    // Runs pieces until none is ready, and returns; on several threads at once.
    virtual void help() = 0;

   private:
    friend class Helpers;
    unsigned wanted_ = 0, inside_ = 0;  // under mutex_
  };

  [[nodiscard]] bool none() const { return most_ == 0; }
  // Has up to `count` threads help with the job.
  void call(Job& job, unsigned count);
  // Nobody helps with the job afterwards; waits for those who do.
  void dismiss(Job& job);

 private:
  void work();

  const unsigned most_;
  std::mutex mutex_;
  std::condition_variable called_, left_;
  std::deque<Job*> calls_;
  std::vector<std::thread> threads_;
  unsigned idle_ = 0;
  bool stop_ = false;
};

}  // namespace warploom::runtime
