// Repeated branches: for `while (a && b)` clang branches on `a`, merges the value of the whole condition in a phi, and
// branches on that again. For `if (a && b)`, and in gcc for loops too, each operand branches directly. Where the phi's
// value is known, because it is a constant or because its operand has just branched, control is redirected past the
// second branch. Then each operand has its own two outcomes, and no outcome of `b` is recorded where `a` decided.
#include "../plugin.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace pen {
using namespace llvm;

namespace {

// The phi that V depends on, through negations, extensions and expectations; null if there is none. `Parts` counts the
// instructions in between, each of which has one use.
PHINode *phiBehind(Value *V, bool &IsNegated, unsigned &Parts) {
  while (true) {
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !I->hasOneUse()) return nullptr;
    if (auto *Phi = dyn_cast<PHINode>(I)) return Phi->getType()->isIntegerTy(1) ? Phi : nullptr;
    auto *K = I->getNumOperands() > 1 ? dyn_cast<ConstantInt>(I->getOperand(1)) : nullptr;
    if (auto *Cmp = dyn_cast<ICmpInst>(I); Cmp && Cmp->isEquality() && K && K->isZero())
      IsNegated ^= Cmp->getPredicate() == CmpInst::ICMP_EQ;
    else if (I->getOpcode() == Instruction::Xor && I->getType()->isIntegerTy(1) && K && K->isOne())
      IsNegated = !IsNegated;
    else if (!isa<ZExtInst>(I) && !isa<SExtInst>(I) && !isa<TruncInst>(I) && !expected(I))
      return nullptr;
    Parts++;
    V = I->getOperand(0);
  }
}

// A block that only branches on a phi, or on its negation.
struct RepeatedBranch {
  PHINode *Value = nullptr;
  BranchInst *Branch = nullptr;
  bool IsNegated = false;
};

std::optional<RepeatedBranch> repeatedBranchOf(BasicBlock &BB) {
  RepeatedBranch S;
  S.Branch = dyn_cast<BranchInst>(BB.getTerminator());
  if (!S.Branch || !S.Branch->isConditional()) return std::nullopt;
  unsigned Parts = 2;
  S.Value = phiBehind(S.Branch->getCondition(), S.IsNegated, Parts);
  if (!S.Value || S.Value->getParent() != &BB || BB.sizeWithoutDebug() != Parts) return std::nullopt;
  return S;
}

// The value of a phi if control comes from P: a constant, or the condition of the branch that led control there.
std::optional<bool> valueFrom(PHINode *Phi, BasicBlock *P) {
  Value *V = Phi->getIncomingValueForBlock(P);
  if (auto *Known = dyn_cast<ConstantInt>(V)) return Known->isOne();
  BasicBlock *To = Phi->getParent(), *From = P;
  if (P->getSingleSuccessor()) {
    To = P;
    From = P->getSinglePredecessor();
  }
  auto *Br = From ? dyn_cast<BranchInst>(From->getTerminator()) : nullptr;
  if (!Br || !Br->isConditional() || Br->getCondition() != V || Br->getSuccessor(0) == Br->getSuccessor(1))
    return std::nullopt;
  return Br->getSuccessor(0) == To;
}

// Whether `From` can branch to `To` directly, with the values that the phis of `To` get from `BB`. Not if one of these
// values is computed in `BB`, or if a phi gets another value from `From` already.
bool canEnter(BasicBlock *To, BasicBlock *BB, BasicBlock *From) {
  for (PHINode &Phi : To->phis()) {
    Value *Through = Phi.getIncomingValueForBlock(BB);
    if (auto *I = dyn_cast<Instruction>(Through); I && I->getParent() == BB) return false;
    int Already = Phi.getBasicBlockIndex(From);
    if (Already >= 0 && Phi.getIncomingValue(Already) != Through) return false;
  }
  return true;
}

// Redirects the edges into one block with a repeated branch.
class Redirection {
public:
  Redirection(BasicBlock &BB, RepeatedBranch S) : BB(BB), S(S) {}

  bool run() { return redirectWaysTo(&BB, S.Value, S.IsNegated); }

private:
  BasicBlock &BB;
  RepeatedBranch S;

  // Redirects the edges to the block of `Phi`. That is the block of the branch or, as for `a && !(b || c)`, a block
  // that merges the value of a part of the condition and continues to where the whole is merged.
  bool redirectWaysTo(BasicBlock *Merge, PHINode *Phi, bool IsNegated) {
    bool Changed = false;
    SmallVector<BasicBlock *, 4> From(predecessors(Merge));
    for (BasicBlock *P : From) {
      if (std::optional<bool> Known = valueFrom(Phi, P)) {
        Changed |= redirect(P, Merge, S.Branch->getSuccessor(*Known != IsNegated ? 0 : 1));
        continue;
      }
      bool IsPartNegated = IsNegated;
      unsigned Parts = 2;
      PHINode *Part = phiBehind(Phi->getIncomingValueForBlock(P), IsPartNegated, Parts);
      if (!Part || Part->getParent() != P || !P->getSingleSuccessor() || P->sizeWithoutDebug() != Parts) continue;
      Changed |= redirectWaysTo(P, Part, IsPartNegated);
      if (pred_empty(P)) DeleteDeadBlock(P, nullptr, /*KeepOneInputPHIs=*/true);
    }
    return Changed;
  }

  bool redirect(BasicBlock *From, BasicBlock *Merge, BasicBlock *To) {
    auto *Br = dyn_cast<BranchInst>(From->getTerminator());
    if (!Br || count(successors(From), Merge) != 1 || !canEnter(To, &BB, From)) return false;
    for (PHINode &Phi : To->phis()) Phi.addIncoming(Phi.getIncomingValueForBlock(&BB), From);
    Br->replaceSuccessorWith(Merge, To);
    Merge->removePredecessor(From, /*KeepOneInputPHIs=*/true);
    return true;
  }
};

bool straightenBlock(BasicBlock &BB) {
  std::optional<RepeatedBranch> S = repeatedBranchOf(BB);
  if (!S || S->Branch->getSuccessor(0) == &BB || S->Branch->getSuccessor(1) == &BB) return false;
  return Redirection(BB, *S).run();
}

} // namespace

bool straighten(Function &F) {
  bool Changed = false;
  SmallVector<WeakTrackingVH, 16> Blocks;
  for (BasicBlock &BB : F) Blocks.push_back(&BB);
  for (WeakTrackingVH &Block : Blocks) {
    auto *BB = cast_or_null<BasicBlock>(static_cast<Value *>(Block));
    if (!BB || !straightenBlock(*BB)) continue;
    Changed = true;
    if (pred_empty(BB)) DeleteDeadBlock(BB);
  }
  return Changed;
}

bool isDecided(Value *V) {
  bool IsNegated = false;
  unsigned Parts = 0;
  PHINode *Phi = phiBehind(V, IsNegated, Parts);
  return Phi && all_of(Phi->blocks(), [&](BasicBlock *P) {
           return valueFrom(Phi, P) || isDecided(Phi->getIncomingValueForBlock(P));
         });
}

} // namespace pen
