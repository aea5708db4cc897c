// How many cores there are for this process.
#pragma once

namespace warploom {

// Cores of its affinity mask, as far as its share of processor time goes (cgroup v2); at least 1. Reads files.
unsigned usable_cores();

}  // namespace warploom
