// posix_spawn with memory files for the three standard streams: no pipe, so no deadlock and no SIGPIPE.
#include "frontend/cuda/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace warploom::frontend {
namespace {

class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

  [[nodiscard]] bool fill(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = write(fd_, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return lseek(fd_, 0, SEEK_SET) == 0;
  }

  [[nodiscard]] std::string read_all() const {
    std::string text;
    const off_t size = lseek(fd_, 0, SEEK_END);
    if (size <= 0) return text;
    text.resize(static_cast<std::size_t>(size));
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = pread(fd_, text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    text.resize(done);
    return text;
  }

 private:
  int fd_;
};

Diag start_error(const std::string& program, int error) {
  Diag diag;
  diag.id = ErrorId::compiler_missing;
  diag.what = "cannot start " + program + ": " + std::strerror(error);
  return diag;
}

}  // namespace

Result<ChildResult> run_child(const std::vector<std::string>& argv, std::string_view input) {
  const MemoryFile in("warploom-in"), out("warploom-out"), err("warploom-err");
  if (in.fd() < 0 || out.fd() < 0 || err.fd() < 0 || !in.fill(input)) return start_error(argv[0], errno);

  std::vector<char*> args;
  for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.fd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.fd(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.fd(), STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, args[0], &actions, nullptr, args.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return start_error(argv[0], error);

  int status = 0;
  pid_t waited = 0;
  do waited = waitpid(pid, &status, 0);
  while (waited < 0 && errno == EINTR);

  ChildResult result;
  result.out = out.read_all();
  result.err = err.read_all();
  // A host program that ignores SIGCHLD loses the status (ECHILD): then the output decides.
  if (waited < 0)
    result.status = result.out.empty() ? 1 : 0;
  else
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace warploom::frontend
