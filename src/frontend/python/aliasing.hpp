// What of memory stays as it is while a kernel runs, told to LLVM and to the GPU's assembler.
#pragma once

#include <vector>

#include "backend/llvm.hpp"
#include "frontend/python/compiler.hpp"

namespace warploom::frontend::python {

class Compilation;

// What a kernel does with the memory of its array arguments. Array arguments may overlap.
class Accesses {
 public:
  // `kernel` after SROA, so that each access shows the argument it goes through.
  Accesses(const Compilation& compilation, llvm::Function& kernel);

  // Whether loads behind stores could be marked if no array that is written overlapped another one.
  [[nodiscard]] bool gain_from_disjoint() const;
  // `disjoint`: no array that is written overlaps another argument. Loads of what nothing writes while the kernel runs,
  // be it before or after the load, are then marked as invariant (ld.global.nc), and accesses to different arrays told
  // apart.
  void mark(bool disjoint);
  // The array arguments, and which of them are written.
  [[nodiscard]] const std::vector<ArrayParameter>& arrays() const { return arrays_; }

 private:
  struct Access {
    llvm::Instruction* instruction = nullptr;
    int array = -1;  // in arrays_; -1: several, or an unknown place
    bool after_write = false;
  };
  struct Places;
  void visit(llvm::Instruction& one);
  void order();
  [[nodiscard]] bool constant(const Access& load) const;
  Places places(const llvm::Value* pointer) const;

  llvm::Function& kernel_;
  std::vector<ArrayParameter> arrays_;
  std::vector<Access> loads_, stores_;
  std::vector<llvm::Instruction*> writes_;
  bool unknown_write_ = false;  // through an address that is no argument's
  bool fence_ = false;          // threads of other blocks or kernels may be waited for
};

}  // namespace warploom::frontend::python
