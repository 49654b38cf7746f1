// Repeated branches: for `while (a && b)` clang branches on `a`, merges the value of the whole condition in a phi, and
// branches on that again. For `if (a && b)`, and in gcc for loops too, each operand branches directly. Where the phi's value
// is a constant, control is redirected past the second branch. Then each operand has its own two outcomes, and no outcome of
// `b` is recorded where `a` decided.
#include "pen.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"

namespace pen {
using namespace llvm;

namespace {

// A block that only branches on a phi, or on its negation.
struct RepeatedBranch {
  PHINode *Value = nullptr;
  BranchInst *Branch = nullptr;
  bool IsNegated = false;
};

std::optional<RepeatedBranch> repeatedBranchOf(BasicBlock &BB) {
  RepeatedBranch S;
  S.Branch = dyn_cast<BranchInst>(BB.getTerminator());
  S.Value = dyn_cast<PHINode>(&BB.front());
  if (!S.Value || !S.Branch || !S.Branch->isConditional() || !S.Value->hasOneUse()) return std::nullopt;
  auto *Condition = dyn_cast<Instruction>(S.Branch->getCondition());
  unsigned Parts = 2;
  if (Condition != S.Value) {
    auto *Op = dyn_cast_or_null<BinaryOperator>(Condition);
    auto *One = Op ? dyn_cast<ConstantInt>(Op->getOperand(1)) : nullptr;
    S.IsNegated = Op && Op->getOpcode() == Instruction::Xor && One && One->isOne() && Op->getOperand(0) == S.Value &&
                  Op->hasOneUse();
    if (!S.IsNegated) return std::nullopt;
    Parts = 3;
  }
  return BB.sizeWithoutDebug() == Parts ? std::optional(S) : std::nullopt;
}

// Whether `From` can branch to `To` directly, with the values that the phis of `To` get from `BB`. Not if one of these values
// is computed in `BB`, or if a phi gets another value from `From` already.
bool canEnter(BasicBlock *To, BasicBlock *BB, BasicBlock *From) {
  for (PHINode &Phi : To->phis()) {
    Value *Through = Phi.getIncomingValueForBlock(BB);
    if (auto *I = dyn_cast<Instruction>(Through); I && I->getParent() == BB) return false;
    int Already = Phi.getBasicBlockIndex(From);
    if (Already >= 0 && Phi.getIncomingValue(Already) != Through) return false;
  }
  return true;
}

void redirect(BasicBlock *From, BasicBlock *BB, BasicBlock *To) {
  for (PHINode &Phi : To->phis()) Phi.addIncoming(Phi.getIncomingValueForBlock(BB), From);
  From->getTerminator()->replaceSuccessorWith(BB, To);
  BB->removePredecessor(From, /*KeepOneInputPHIs=*/true);
}

bool straightenBlock(BasicBlock &BB) {
  std::optional<RepeatedBranch> S = repeatedBranchOf(BB);
  if (!S || S->Branch->getSuccessor(0) == &BB || S->Branch->getSuccessor(1) == &BB) return false;
  bool Changed = false;
  SmallVector<BasicBlock *, 4> From(predecessors(&BB));
  for (BasicBlock *P : From) {
    auto *Known = dyn_cast<ConstantInt>(S->Value->getIncomingValueForBlock(P));
    auto *Br = dyn_cast<BranchInst>(P->getTerminator());
    if (!Known || !Br || count(successors(P), &BB) != 1 || S->Value->getNumIncomingValues() < 2) continue;
    BasicBlock *To = S->Branch->getSuccessor(Known->isOne() != S->IsNegated ? 0 : 1);
    if (!canEnter(To, &BB, P)) continue;
    redirect(P, &BB, To);
    Changed = true;
  }
  return Changed;
}

} // namespace

bool straighten(Function &F) {
  bool Changed = false;
  for (BasicBlock &BB : F) Changed |= straightenBlock(BB);
  return Changed;
}

} // namespace pen
