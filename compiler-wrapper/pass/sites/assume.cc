// Assumptions: PEN_ASSUME of include/penfuzz.h is (__pen_assume(), (e) ? __pen_assumed() : __pen_reject()) The
// conditionals between the first call and the other two belong to the assumption. They are sites like others, so that
// the search has their distances, but they are no goals. A branch that leads to the rejection and nowhere else is not
// searched for.
//
// __VERIFIER_assume(e) of verification tasks is a function of their environment. Its call becomes a conditional of an
// assumption. The conditionals in `e` itself are ordinary sites and goals: every compiler evaluates it.
#include "../plugin.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace pen {
using namespace llvm;

static constexpr const char *Assumption = "pen.assumption";

static bool calls(const Instruction &I, StringRef Name) {
  auto *Call = dyn_cast<CallBase>(&I);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return Callee && Callee->getName() == Name;
}

// Whether control from the start of a block always reaches a rejection.
static bool isRejection(BasicBlock *BB) {
  SmallPtrSet<BasicBlock *, 8> Seen;
  for (; BB && Seen.insert(BB).second; BB = BB->getSingleSuccessor())
    for (Instruction &I : *BB) {
      if (calls(I, "__pen_reject")) return true;
      if (calls(I, "__pen_assumed")) return false;
    }
  return false;
}

static void mark(Instruction &I) {
  uint32_t Bits = PEN_ASSUMED;
  if (auto *Br = dyn_cast<BranchInst>(&I); Br && Br->isConditional()) {
    for (unsigned K = 0; K < 2; K++) Bits |= uint32_t(isRejection(Br->getSuccessor(K))) << K;
  } else if (!isa<SelectInst>(I) && !isa<SwitchInst>(I)) {
    return;
  }
  auto *Value = ConstantInt::get(Type::getInt32Ty(I.getContext()), Bits);
  I.setMetadata(Assumption, MDNode::get(I.getContext(), ConstantAsMetadata::get(Value)));
}

static void markFrom(BasicBlock::iterator Start) {
  SmallPtrSet<BasicBlock *, 16> Seen;
  SmallVector<BasicBlock::iterator, 8> Work{Start};
  while (!Work.empty()) {
    BasicBlock::iterator It = Work.pop_back_val();
    BasicBlock *BB = It->getParent();
    bool Ended = false;
    for (; It != BB->end() && !Ended; ++It) {
      Ended = calls(*It, "__pen_assumed") || calls(*It, "__pen_reject");
      if (!Ended) mark(*It);
    }
    if (Ended) continue;
    for (BasicBlock *To : successors(BB))
      if (Seen.insert(To).second) Work.push_back(To->begin());
  }
}

// Replaces a call of __VERIFIER_assume by a conditional, unless this module defines that function.
static void expandAssumption(CallInst &Call) {
  IRBuilder<> B(&Call);
  Value *Fails = B.CreateIsNull(Call.getArgOperand(0));
  Instruction *End = SplitBlockAndInsertIfThen(Fails, &Call, true);
  Type *Void = Type::getVoidTy(Call.getContext());
  CallInst *Reject = IRBuilder<>(End).CreateCall(Call.getModule()->getOrInsertFunction("__pen_reject", Void));
  Reject->setDebugLoc(Call.getDebugLoc());
  Reject->setDoesNotReturn();
  Instruction *Br = Reject->getParent()->getSinglePredecessor()->getTerminator();
  Br->setDebugLoc(Call.getDebugLoc());
  mark(*Br);
  Call.eraseFromParent();
}

static bool isEnvironmentsAssumption(const Instruction &I) {
  auto *Call = dyn_cast<CallInst>(&I);
  return Call && calls(I, "__VERIFIER_assume") && Call->getCalledFunction()->isDeclaration() && Call->arg_size() == 1 &&
         Call->getArgOperand(0)->getType()->isIntegerTy();
}

void markAssumptions(Function &F) {
  SmallVector<CallInst *, 4> Environments;
  for (Instruction &I : instructions(F))
    if (isEnvironmentsAssumption(I)) Environments.push_back(cast<CallInst>(&I));
  for (CallInst *Call : Environments) expandAssumption(*Call);
  SmallVector<Instruction *, 4> Starts, Markers;
  for (Instruction &I : instructions(F)) {
    if (calls(I, "__pen_assume")) Starts.push_back(&I);
    if (calls(I, "__pen_assume") || calls(I, "__pen_assumed")) Markers.push_back(&I);
  }
  for (Instruction *Start : Starts) markFrom(std::next(Start->getIterator()));
  for (Instruction *Marker : Markers) Marker->eraseFromParent();
}

uint32_t assumptionOf(const Instruction &I) {
  const MDNode *Node = I.getMetadata(Assumption);
  return Node ? mdconst::extract<ConstantInt>(Node->getOperand(0))->getZExtValue() : 0;
}

} // namespace pen
