// Shadows compute the distances of the result of a called function.
//
// At the caller's site, `if (is_close(x))` is a comparison of the result with 0, whose distance is the same for every
// x. But a function without side effects may be evaluated again at an armed site. Its shadow is a copy that computes
// the distances of the result instead of the result. The program's own call does not change. A function that compares
// strings (`return strcmp(s, word) == 0;`) has a shadow, too. That one is evaluated directly after the call, because
// memory may change before the site.
#include "../plugin.h"

#include "llvm/Analysis/CFG.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace pen {
using namespace llvm;

// The largest function that gets a shadow, in instructions. A larger one is seldom just a condition, and a call of the
// shadow costs as much as a call of the function.
static constexpr unsigned MaxInstructions = 64;

static bool readsBytes(const Instruction &I) {
  auto *Call = dyn_cast<CallInst>(&I);
  return Call && comparesBytes(*Call);
}

static bool onlyComputes(const Instruction &I) {
  if (I.isDebugOrPseudoInst() || readsBytes(I)) return true;
  if (isa<CallBase>(I) && !isa<IntrinsicInst>(I)) return false;
  return !I.mayHaveSideEffects() && !I.mayReadFromMemory();
}

static bool canBeShadowed(Function &F) {
  if (F.isDeclaration() || F.isInterposable() || F.isVarArg() || !F.getReturnType()->isIntegerTy()) return false;
  if (F.getReturnType()->getIntegerBitWidth() > 64 || F.getInstructionCount() > MaxInstructions) return false;
  if (any_of(F.args(), [](const Argument &A) { return A.hasPassPointeeByValueCopyAttr(); })) return false;
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 4> Loops;
  FindFunctionBackedges(F, Loops);
  return Loops.empty() && all_of(instructions(F), onlyComputes);
}

// Makes the copy. Its first argument is the address for the distances.
static Function *copyOf(Context &X, Function &F) {
  SmallVector<Type *, 8> Types{X.Ptr};
  Types.append(F.getFunctionType()->param_begin(), F.getFunctionType()->param_end());
  auto *Copy = Function::Create(FunctionType::get(Type::getVoidTy(X.C), Types, false), GlobalValue::InternalLinkage,
                                "__pen_shadow." + F.getName(), X.M);
  ValueToValueMapTy Map;
  for (Argument &A : F.args()) Map[&A] = Copy->getArg(A.getArgNo() + 1);
  SmallVector<ReturnInst *, 4> Returns;
  CloneFunctionInto(Copy, &F, Map, CloneFunctionChangeType::LocalChangesOnly, Returns);
  Copy->setAttributes({}); // the copy writes memory and returns nothing
  for (StringRef Name : {"target-cpu", "target-features", "tune-cpu"})
    if (F.hasFnAttribute(Name)) Copy->addFnAttr(F.getFnAttribute(Name));
  for (Attribute::AttrKind Kind : {Attribute::Cold, Attribute::NoUnwind, Attribute::NoSanitizeCoverage})
    Copy->addFnAttr(Kind);
  Copy->setComdat(nullptr);
  stripDebugInfo(*Copy);
  for (ReturnInst *Return : Returns) {
    IRBuilder<> B(Return);
    B.CreateStore(emitTruthPair(X, B, Return->getReturnValue()), Copy->getArg(0));
    B.CreateRetVoid();
    Return->eraseFromParent();
  }
  return Copy;
}

void makeShadow(Context &X, Function &F) {
  if (!canBeShadowed(F)) return;
  bool IsTruth = true;
  for (BasicBlock &BB : F)
    if (auto *Return = dyn_cast<ReturnInst>(BB.getTerminator())) IsTruth &= isTruthValue(Return->getReturnValue());
  bool ReadsMemory = any_of(instructions(F), readsBytes);
  X.Shadows[&F] = {copyOf(X, F), IsTruth, ReadsMemory};
}

void dropUnusedShadows(Context &X) {
  for (auto &[F, S] : X.Shadows)
    if (S.Copy->use_empty()) S.Copy->eraseFromParent();
  X.Shadows.clear();
}

} // namespace pen
