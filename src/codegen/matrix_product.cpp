// Products of matrix fragments, in vectors as far as hardware's arithmetic allows.
#include "codegen/matrix_product.hpp"

#include "isa/ref/warp_matrix.hpp"

namespace warploom::codegen {

void multiply_fragments(std::uint64_t form, void* d, const void* a, const void* b, const void* c,
                        const std::uint32_t* metadata) {
  isa::ref::multiply(isa::MatrixForm::unpack(form), d, a, b, c, metadata);
}

}  // namespace warploom::codegen
