// Removes clang's counters. pen-cc makes clang count for coverage (`-fprofile-instrument=clang -fcoverage-mcdc`),
// because clang then emits conditionals as the source has them and as gcov and llvm-cov count them:
// - `if (!n)` branches on `!n`. Otherwise it branches on `n != 0` with the destinations exchanged, and the outcome that
//   is
//     true is false in the source.
// - The last operand of a stored `a && b` branches, too: to a block that counts, from where control continues as
//   before.
// - Each label of a switch has a block, so `case 1: break; case 2: break;` are two destinations. The counters are
//   removed before the pass of clang that turns them into code.
#include "../plugin.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

static llvm::cl::opt<bool> KeepsCounters("pen-keeps-counters", llvm::cl::desc("The counters of clang are the user's"));

namespace pen {
using namespace llvm;

static constexpr StringRef HadCounters = "pen-had-counters";

bool hasBlocksOfLabels(const Function &F) { return F.hasFnAttribute(HadCounters); }

namespace {

constexpr StringRef CounterPrefix = "llvm.instrprof.", NamePrefix = "__profn_";

// A block that contains nothing but an unconditional branch.
bool onlyForwards(const BasicBlock *BB) {
  auto *Br = dyn_cast<BranchInst>(BB->getTerminator());
  return Br && Br->isUnconditional() && Br == &*BB->getFirstNonPHIOrDbg() && BB->phis().empty();
}

// Removes the counters of one function, and the blocks that contain nothing else.
class CounterRemoval {
public:
  explicit CounterRemoval(Function &F) : F(F) {}

  void run() {
    dropCounters();
    if (Counted.empty()) return;
    F.addFnAttr(HadCounters);
    joinLabels();
    joinBranchesOnOneOperand();
  }

private:
  Function &F;
  SmallPtrSet<BasicBlock *, 16> Counted; // blocks that had a counter

  void dropCounters() {
    for (Instruction &I : make_early_inc_range(instructions(F))) {
      auto *Call = dyn_cast<CallInst>(&I);
      const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (!Callee || !Callee->getName().starts_with(CounterPrefix)) continue;
      Counted.insert(Call->getParent());
      SmallVector<WeakTrackingVH, 4> Operands(Call->args());
      Call->eraseFromParent();
      // The step of a counter is the condition of a select, extended. It precedes the call.
      RecursivelyDeleteTriviallyDeadInstructionsPermissive(Operands);
    }
  }

  bool isEmptied(const BasicBlock *BB) const { return Counted.contains(BB) && onlyForwards(BB); }

  // For `case 1: case 2:` and for a case that the previous one falls into, clang lets the path from above skip the
  // counter of the label. Redirects the switch to the block where both paths meet, as without counters.
  void joinLabels() {
    SmallVector<SwitchInst *, 4> Switches;
    for (BasicBlock &BB : F)
      if (auto *Sw = dyn_cast<SwitchInst>(BB.getTerminator())) Switches.push_back(Sw);
    SmallPtrSet<BasicBlock *, 8> Meetings;
    for (SwitchInst *Sw : Switches)
      for (BasicBlock *Label : successors(Sw))
        if (BasicBlock *Next = Label->getNextNode(); isEmptied(Label) && Next == Label->getSingleSuccessor())
          if (!Counted.contains(Next) && Next->phis().empty()) Meetings.insert(Next);
    auto MeetingOf = [&](BasicBlock *To) {
      while (isEmptied(To) || (Meetings.contains(To) && onlyForwards(To))) {
        if (!Meetings.contains(To->getSingleSuccessor())) break;
        To = To->getSingleSuccessor();
      }
      return To;
    };
    for (SwitchInst *Sw : Switches)
      for (unsigned I = 0; I < Sw->getNumSuccessors(); I++) {
        BasicBlock *Label = Sw->getSuccessor(I), *To = MeetingOf(Label);
        Sw->setSuccessor(I, To);
        if (To != Label && pred_empty(Label)) DeleteDeadBlock(Label);
      }
  }

  // `1 && b`: the value is that of `b`, whose branch decides nothing. gcc has no such branch.
  void joinBranchesOnOneOperand() {
    SmallPtrSet<BasicBlock *, 16> Live = liveBlocks(F);
    for (BasicBlock &BB : make_early_inc_range(F)) {
      auto *Br = dyn_cast<BranchInst>(BB.getTerminator());
      if (!Br || !Br->isConditional()) continue;
      for (unsigned I : {0, 1}) {
        BasicBlock *Counter = Br->getSuccessor(I), *Merge = Br->getSuccessor(1 - I);
        if (!isEmptied(Counter) || !Counter->getSinglePredecessor() || Counter->getSingleSuccessor() != Merge) continue;
        auto IsOther = [&](BasicBlock *From) {
          return From != &BB && From != Counter && Live.contains(From) && is_contained(liveSuccessors(*From), Merge);
        };
        if (Merge->phis().empty() || any_of(predecessors(Merge), IsOther)) continue;
        DebugLoc Where = Br->getDebugLoc();
        Br->eraseFromParent();
        BranchInst::Create(Merge, &BB)->setDebugLoc(Where);
        Counted.erase(Counter);
        Emptied.push_back(Counter);
        break;
      }
    }
    for (BasicBlock *BB : Emptied) DeleteDeadBlock(BB);
  }

  SmallVector<BasicBlock *, 4> Emptied;
};

} // namespace

void dropCounters(Module &M) {
  if (KeepsCounters) return;
  for (Function &F : M)
    if (!F.isDeclaration()) CounterRemoval(F).run();
  for (Function &F : make_early_inc_range(M))
    if (F.isDeclaration() && F.use_empty() && F.getName().starts_with(CounterPrefix)) F.eraseFromParent();
  for (GlobalVariable &G : make_early_inc_range(M.globals()))
    if (G.use_empty() && G.getName().starts_with(NamePrefix)) G.eraseFromParent();
}

} // namespace pen
