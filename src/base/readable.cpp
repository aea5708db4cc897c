// Asks the system to read a byte.
#include "base/readable.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace warploom {

bool readable(const void* address) {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{const_cast<void*>(address), 1};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  // Containers may forbid the call, with other errors.
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EFAULT;
}

}  // namespace warploom
