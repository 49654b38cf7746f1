// Finds mutants that are equivalent to the original or to another mutant because their optimized code is the same
// (trivial compiler equivalence: Papadakis, Jia, Harman and Le Traon, ICSE 2015). Each mutant is applied to a copy of
// its function, which is optimized and compared.
#include "code_mutants.h"

#include "llvm/IR/StructuralHash.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/FunctionComparator.h"

namespace pen::mutants {
using namespace llvm;

namespace {

// The limit of instructions that are copied and optimized: some seconds.
constexpr uint64_t MostWork = 1'000'000;

class Optimizer {
public:
  Optimizer() {
    Builder.registerModuleAnalyses(Modules);
    Builder.registerCGSCCAnalyses(Graphs);
    Builder.registerFunctionAnalyses(Functions);
    Builder.registerLoopAnalyses(Loops);
    Builder.crossRegisterProxies(Loops, Functions, Graphs, Modules);
    // The core of -O2 for straight code and branches. All of -O2 costs several times as much and finds few more
    // equivalent mutants.
    Passes.addPass(EarlyCSEPass());
    Passes.addPass(SimplifyCFGPass());
    Passes.addPass(InstCombinePass());
    Passes.addPass(GVNPass());
    Passes.addPass(DSEPass());
    Passes.addPass(ADCEPass());
    Passes.addPass(SimplifyCFGPass());
    Passes.addPass(InstCombinePass());
  }

  void run(Function &F) {
    Passes.run(F, Functions);
    Functions.clear(F, F.getName());
  }

private:
  PassBuilder Builder;
  LoopAnalysisManager Loops;
  FunctionAnalysisManager Functions;
  CGSCCAnalysisManager Graphs;
  ModuleAnalysisManager Modules;
  FunctionPassManager Passes;
};

void setOperand(Instruction &I, unsigned Operand, Value *V) {
  auto *Phi = dyn_cast<PHINode>(&I);
  if (!Phi) return I.setOperand(Operand, V);
  const BasicBlock *From = Phi->getIncomingBlock(Operand);
  for (unsigned N = 0; N < Phi->getNumIncomingValues(); N++)
    if (Phi->getIncomingBlock(N) == From) Phi->setIncomingValue(N, V);
}

} // namespace

Function *mutated(Function &F, const Point &P, const Mutant &M, ValueToValueMapTy &Map) {
  if (P.ConstantOperand != ~0u) {
    Function *Copy = CloneFunction(&F, Map);
    IRBuilder<> Unused(F.getContext());
    setOperand(*cast<Instruction>(&*Map[P.At]), P.ConstantOperand, M.Emit(Unused));
    return Copy;
  }
  // The mutant's code is emitted before its point, copied with the function, and removed again.
  IRBuilder<> B(P.At);
  Instruction *Before = P.At->getPrevNode();
  Value *V = M.Emit ? M.Emit(B) : nullptr;
  Function *Copy = CloneFunction(&F, Map);
  auto *At = cast<Instruction>(&*Map[P.At]);
  if (!At->use_empty()) {
    Value *InCopy = V && Map.count(V) ? static_cast<Value *>(Map[V]) : V;
    At->replaceAllUsesWith(InCopy ? InCopy : Constant::getNullValue(At->getType()));
  }
  At->eraseFromParent();
  while (P.At->getPrevNode() != Before) P.At->getPrevNode()->eraseFromParent();
  return Copy;
}

namespace {

uint64_t hashOf(const Function &F) {
#if LLVM_VERSION_MAJOR >= 20
  return StructuralHash(F, /*DetailedHash=*/true);
#else
  return StructuralHash(F);
#endif
}

// Optimized functions, with the numbers of their mutants.
class Classes {
public:
  // Returns the number of an equal function that was added before, else Number.
  unsigned add(Function *F, unsigned Number) {
    All.push_back(F);
    auto &Bucket = Buckets[hashOf(*F)];
    for (auto &[Other, Known] : Bucket)
      if (FunctionComparator(F, Other, &Globals).compare() == 0) return Known;
    Bucket.push_back({F, Number});
    return Number;
  }
  ~Classes() {
    for (Function *F : All) F->eraseFromParent();
  }

private:
  GlobalNumberState Globals;
  std::map<uint64_t, std::vector<std::pair<Function *, unsigned>>> Buckets;
  std::vector<Function *> All;
};

} // namespace

void findEqual(Function &F, MutableArrayRef<Point> Points) {
  uint64_t N = 0;
  for (Point &P : Points) N += P.All.size();
  if (N * F.getInstructionCount() > MostWork) return;
  Optimizer Optimize;
  Classes Known;
  auto Add = [&](Function *Copy, unsigned Number) {
    Optimize.run(*Copy);
    return Known.add(Copy, Number);
  };
  ValueToValueMapTy Unchanged;
  Add(CloneFunction(&F, Unchanged), 0);
  unsigned Number = 0; // from 1; 0 is the original
  for (Point &P : Points)
    for (Mutant &M : P.All) {
      Number++;
      ValueToValueMapTy Map;
      unsigned Equal = Add(mutated(F, P, M, Map), Number);
      if (Equal == Number) continue;
      M.IsOriginal = Equal == 0;
      M.SameAs = Number - Equal;
    }
}

} // namespace pen::mutants
