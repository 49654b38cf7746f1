// Goals about the exceptions of operations in called functions, in the context of their calls.
#pragma once

#include "smt.h"

namespace pen::smt {

// Collects the goals of one proved function, and notes calls that are not translated in place.
class CalleeExceptions {
public:
  explicit CalleeExceptions(llvm::ArrayRef<FunctionPlan> All);
  void note(Frame &Activation, const llvm::Function &F); // when the activation is translated
  void noteOpen(const llvm::CallBase &Call);
  void write(Translator &X) const;

private:
  // The condition that an activation raises the exception, by function, site and exception; nothing if it cannot be
  // stated for one of them.
  llvm::MapVector<std::tuple<const llvm::Function *, unsigned, unsigned>, std::optional<Term>,
                  std::map<std::tuple<const llvm::Function *, unsigned, unsigned>, unsigned>>
      Raised;
  std::map<const llvm::Function *, const FunctionPlan *> Plans;
  std::set<const llvm::Function *> Open;
  bool CallsPointers = false;

  void open(const llvm::Function &F);
};

} // namespace pen::smt
