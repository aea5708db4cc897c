// Products of matrix fragments.
#pragma once

#include <cstdint>

namespace warploom::codegen {

// See warploom_matrix_multiply.
void multiply_fragments(std::uint64_t form, void* d, const void* a, const void* b, const void* c,
                        const std::uint32_t* metadata);

}  // namespace warploom::codegen
