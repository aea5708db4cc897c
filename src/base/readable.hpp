// Whether memory can be read at an address, found out without a fault.
#pragma once

namespace warploom {

// True for one byte that this process can read, and where the system does not tell. Memory of a GPU is none of it.
bool readable(const void* address);

}  // namespace warploom
