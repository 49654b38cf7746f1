// Where the operands of `&&` and `||` begin. clang gives the branch on an operand the place of the operator, so that
// both operands of the last operator have the same place. A site has the place where its operand begins, as a branch of
// llvm-cov has.
#include "../plugin.h"

#include "llvm/IR/InstIterator.h"

namespace pen {
using namespace llvm;

namespace {

// Limit on the instructions that are followed for one condition.
constexpr unsigned MostParts = 64;

using Position = std::pair<unsigned, unsigned>; // line and column

// Of an instruction without a place: 0.
Position positionOf(const DebugLoc &L) { return L ? Position(L.getLine(), L.getCol()) : Position(); }

class OperandFinder {
public:
  explicit OperandFinder(Function &F) {
    for (BasicBlock &BB : F) {
      auto *Br = dyn_cast<BranchInst>(BB.getTerminator());
      if (!Br || !Br->isConditional() || !Br->getDebugLoc() || Br->getDebugLoc().getLine() == 0) continue;
      if (DebugLoc Start = startOf(*Br)) Starts[Br] = Start;
    }
    for (auto &[Br, Start] : Starts)
      if (isLeft(Br, Start)) Operators.insert(positionOf(Br->getDebugLoc()));
  }

  DenseMap<const Instruction *, DebugLoc> find() const {
    DenseMap<const Instruction *, DebugLoc> Found;
    for (auto &[Br, Start] : Starts)
      if (isLeft(Br, Start) || isRight(Br, Start)) Found[Br] = Start;
    return Found;
  }

private:
  DenseMap<const BranchInst *, DebugLoc> Starts; // the first place of each condition
  std::set<Position> Operators;                     // of `&&` and `||`

  // The first place of the instructions that compute a condition. The test of a number against 0 may have the place of
  // the operator, and does not count if anything else has a place.
  static DebugLoc startOf(const BranchInst &Br) {
    auto *Root = dyn_cast<Instruction>(Br.getCondition());
    if (!Root) return {};
    DebugLoc First;
    SmallVector<const Instruction *, 16> Work{Root};
    for (unsigned I = 0; I < Work.size() && I < MostParts; I++) {
      const DebugLoc &L = Work[I]->getDebugLoc();
      bool Counts = L && L.getLine() != 0 && L.getScope() == Br.getDebugLoc().getScope() && !L.getInlinedAt();
      bool IsOperator = I == 0 && positionOf(L) == positionOf(Br.getDebugLoc());
      if (Counts && !IsOperator && (!First || positionOf(L) < positionOf(First))) First = L;
      if (isa<PHINode>(Work[I])) continue;
      for (const Value *Part : Work[I]->operand_values())
        if (auto *Next = dyn_cast<Instruction>(Part)) Work.push_back(Next);
    }
    return First ? First : Root->getDebugLoc();
  }

  // Whether a branch is on the left operand of an operator: its place is after the operand.
  static bool isLeft(const BranchInst *Br, const DebugLoc &Start) {
    auto *Root = cast<Instruction>(Br->getCondition());
    Position At = positionOf(Br->getDebugLoc());
    return positionOf(Start) < At && Root->getDebugLoc() && positionOf(Root->getDebugLoc()) < At;
  }

  // Whether a branch is on the right operand: its place is that of an operator before the operand. Or control comes
  // from the left operand, one of its outcomes is one of these, too, and its place is that of a whole `a && b ? c : d`.
  bool isRight(const BranchInst *Br, const DebugLoc &Start) const {
    Position At = positionOf(Br->getDebugLoc());
    if (!(At < positionOf(Start))) return false;
    if (Operators.count(At)) return true;
    return any_of(predecessors(Br->getParent()), [&](const BasicBlock *P) {
      auto *Left = dyn_cast<BranchInst>(P->getTerminator());
      auto Found = Left ? Starts.find(Left) : Starts.end();
      if (Found == Starts.end()) return false;
      if (!isLeft(Left, Found->second) && positionOf(Found->second) < At) return false;
      return any_of(successors(P), [&](const BasicBlock *To) { return is_contained(successors(Br), To); });
    });
  }
};

} // namespace

DenseMap<const Instruction *, DebugLoc> operandsOf(Function &F) { return OperandFinder(F).find(); }

} // namespace pen
