// Conditionals that only the compiler made: nothing in the source asks their question, and gcov or llvm-cov has none of
// them. They are no sites.
// - the test of a flag that says whether a clean-up has to run: of the temporaries of `throw`, or of one side of `?:`
// - the two paths of `va_arg`: the argument is in a register or on the stack
// - the recovery of a complex product whose parts are NaN: a call of `__muldc3`
// - the guard of a static variable of a function
//
// Of the tests which handler of a `try` catches an exception, only outcomes that enter a handler are branches.
#include "../plugin.h"

#include "llvm/IR/IntrinsicInst.h"

namespace pen {
using namespace llvm;

// Limit on the instructions and blocks that are followed.
static constexpr unsigned MostFollowed = 64;

// A flag of a clean-up. A `bool` of the source has eight bits in memory.
static bool isCleanupFlag(const Value *V) {
  auto *Load = dyn_cast<LoadInst>(V);
  return Load && Load->getType()->isIntegerTy(1) && isa<AllocaInst>(Load->getPointerOperand());
}

static bool isMemberOfArgumentList(const Value *Pointer) {
  auto *Member = dyn_cast<GEPOperator>(Pointer);
  auto *Of = Member ? dyn_cast<StructType>(Member->getSourceElementType()) : nullptr;
  if (!Of || !Of->hasName()) return false;
  StringRef Name = Of->getName();
  return Name.starts_with("struct.__va_list") || Name.starts_with("struct.std::__va_list");
}

static bool isGuard(const Value *Pointer) {
  auto *Local = dyn_cast<IntrinsicInst>(Pointer);
  if (Local && Local->getIntrinsicID() == Intrinsic::threadlocal_address) Pointer = Local->getArgOperand(0);
  auto *Variable = dyn_cast<GlobalVariable>(Pointer->stripPointerCasts());
  return Variable && (Variable->getName().starts_with("_ZGV") || Variable->getName() == "__tls_guard");
}

static StringRef calleeName(const Value *V) {
  auto *Call = dyn_cast<CallBase>(V);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return Callee ? Callee->getName() : StringRef();
}

// Whether a condition tests the state of an argument list or of a guard.
static bool testsStateOfCompiler(const Value *Condition) {
  SmallVector<const Value *, 8> Work{Condition};
  for (unsigned I = 0; I < Work.size() && I < MostFollowed; I++) {
    const Value *V = Work[I];
    if (calleeName(V) == "__cxa_guard_acquire") return true;
    if (auto *Load = dyn_cast<LoadInst>(V)) {
      if (isMemberOfArgumentList(Load->getPointerOperand()) || isGuard(Load->getPointerOperand())) return true;
    } else if (isa<ICmpInst>(V) || isa<BinaryOperator>(V) || isa<CastInst>(V)) {
      Work.append(cast<Instruction>(V)->value_op_begin(), cast<Instruction>(V)->value_op_end());
    }
  }
  return false;
}

static bool isNanTest(const Value *V) {
  auto *Cmp = dyn_cast<FCmpInst>(V);
  return Cmp && Cmp->getPredicate() == CmpInst::FCMP_UNO && Cmp->getOperand(0) == Cmp->getOperand(1);
}

// Whether control goes to the library's complex product if both parts of the product are NaN.
static bool recoversComplexProduct(const BranchInst &Br) {
  const BranchInst *At = &Br;
  for (unsigned Part = 0; Part < 2 && At && At->isConditional() && isNanTest(At->getCondition()); Part++) {
    const BasicBlock *To = At->getSuccessor(0);
    for (const Instruction &I : *To) {
      StringRef Name = calleeName(&I);
      if (Name.starts_with("__mul") && Name.ends_with("c3") && I.getDebugLoc() == Br.getDebugLoc()) return true;
    }
    At = dyn_cast<BranchInst>(To->getTerminator());
  }
  return false;
}

bool isMadeByCompiler(const BranchInst &Br) {
  const Value *Condition = Br.getCondition();
  return isCleanupFlag(Condition) || testsStateOfCompiler(Condition) || recoversComplexProduct(Br);
}

// Whether a branch is on the type of an exception: does the next handler catch it?
static bool testsType(const Instruction *End) {
  auto *Br = dyn_cast<BranchInst>(End);
  auto *Cmp = Br && Br->isConditional() ? dyn_cast<ICmpInst>(Br->getCondition()) : nullptr;
  auto IsType = [](const Value *V) { return calleeName(V).starts_with("llvm.eh.typeid.for"); };
  return Cmp && any_of(Cmp->operand_values(), IsType);
}

static bool entersHandler(const BasicBlock *BB) {
  SmallPtrSet<const BasicBlock *, 8> Seen;
  while (BB && Seen.size() < MostFollowed && Seen.insert(BB).second) {
    if (any_of(*BB, [](const Instruction &I) { return calleeName(&I) == "__cxa_begin_catch"; })) return true;
    auto *Invoke = dyn_cast<InvokeInst>(BB->getTerminator());
    BB = Invoke ? Invoke->getNormalDest() : BB->getSingleSuccessor();
  }
  return false;
}

uint32_t branchesOfSource(const BranchInst &Br) {
  if (!testsType(&Br)) return ~0u;
  return (entersHandler(Br.getSuccessor(0)) ? 1u : 0u) | (entersHandler(Br.getSuccessor(1)) ? 2u : 0u);
}

} // namespace pen
