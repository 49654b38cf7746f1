// Assumptions: PEN_ASSUME of include/penfuzz.h is
//   (__pen_assume(), (e) ? __pen_assumed() : __pen_reject())
// The conditionals between the first call and the other two are those of the assumption. They are sites like others, so that the
// search has their distances, but no goals; a branch from which control comes to the rejection and nowhere else is not searched for.
#include "pen.h"

#include "llvm/IR/InstIterator.h"

namespace pen {
using namespace llvm;

static constexpr const char *Assumption = "pen.assumption";

static bool calls(const Instruction &I, StringRef Name) {
  auto *Call = dyn_cast<CallBase>(&I);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return Callee && Callee->getName() == Name;
}

// Whether control comes from the start of a block to a rejection, whatever the input is.
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

void markAssumptions(Function &F) {
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
