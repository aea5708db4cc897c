// Passes that put the loads of a kernel close to each other, so that a GPU has several on their way.
#pragma once

#include "frontend/python/llvm.hpp"

namespace warploom::frontend::python {

// A loop that steps through elements, as `for i in range(cuda.grid(1), n, cuda.gridsize(1))` does, gets a loop of four
// rounds before it for as long as five are left.
struct UnrollStrides : llvm::PassInfoMixin<UnrollStrides> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Within a block, loads from arrays move up to the load before them where no store in between may change them.
struct GatherLoads : llvm::PassInfoMixin<GatherLoads> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace warploom::frontend::python
