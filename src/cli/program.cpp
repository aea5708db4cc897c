// Starts a program and waits for it, as a shell does.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.hpp"

extern char** environ;

namespace warploom::cli {

int run_program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
                bool silent) {
  if (command.empty()) {
    std::fprintf(stderr, "warploom: no program given; add it after the options\n");
    return kUsageError;
  }
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (environment.count(text.substr(0, text.find('='))) == 0) variables.push_back(text);
  }
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);

  std::vector<char*> arguments, variable_pointers;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  for (std::string& variable : variables) variable_pointers.push_back(variable.data());
  variable_pointers.push_back(nullptr);

  // Ctrl-C reaches the program too; this process waits for it and then reports its end.
  struct sigaction ignore = {}, interrupt = {}, quit = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, &interrupt);
  sigaction(SIGQUIT, &ignore, &quit);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  if (interrupt.sa_handler != SIG_IGN) sigaddset(&defaults, SIGINT);
  if (quit.sa_handler != SIG_IGN) sigaddset(&defaults, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (silent)
    for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&files, file, "/dev/null", O_RDWR, 0);

  std::fflush(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), variable_pointers.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  int status = 0;
  if (error == 0) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  sigaction(SIGINT, &interrupt, nullptr);
  sigaction(SIGQUIT, &quit, nullptr);
  if (error != 0) {
    std::fprintf(stderr, "warploom: cannot run \"%s\": %s\n", arguments[0], std::strerror(error));
    return kCannotRun;
  }
  if (WIFSIGNALED(status)) {
    if (!silent)
      std::fprintf(stderr, "warploom: the program was ended by signal %d (%s)\n", WTERMSIG(status),
                   strsignal(WTERMSIG(status)));
    return 128 + WTERMSIG(status);
  }
  return WEXITSTATUS(status);
}

}  // namespace warploom::cli
