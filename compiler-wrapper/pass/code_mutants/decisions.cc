// Finds the comparisons that decide whether a mutant has any effect.
//
// `fabs(a - b) > 1.5 * n` may be the only use of `1.5 * n`. Then a mutant of the product that does not change the
// result of the comparison behaves like the original from there on (predicate-level weak mutation: Woodward and
// Halewood, *From weak to strong, dead or alive?*, 1988).
//
// The comparison is computed ahead, at the point. Its other operands must have the same values there as at the
// comparison. This holds for an instruction that dominates the point: it cannot run again between the point and
// something that the point dominates, unless the point runs again, too.
#include "code_mutants.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"

namespace pen::mutants {
using namespace llvm;

// The number of comparisons for which distances are computed at one point, and of instructions that are computed ahead
// for them.
constexpr unsigned MostComparisons = 4, MostAgain = 8;

// Whether an instruction has the same result for the same operands at every place, and no side effects.
static bool isPure(const Instruction &I) {
  return !isa<PHINode>(I) && !I.getType()->isVectorTy() && !I.mayReadOrWriteMemory() &&
         isSafeToSpeculativelyExecute(&I);
}

class DecisionFinder {
public:
  DecisionFinder(const Instruction &At, const DominatorTree &Tree) : At(At), Tree(Tree) {}

  std::optional<Decisions> run() {
    if (!followUses(At)) return std::nullopt;
    return std::move(Found);
  }

private:
  const Instruction &At;
  const DominatorTree &Tree;
  Decisions Found;

  bool followUses(const Instruction &I) {
    return all_of(I.users(), [&](const User *U) {
      auto *By = dyn_cast<Instruction>(U);
      if (!By) return false;
      auto *Cmp = dyn_cast<CmpInst>(By);
      if (!Cmp) return isComputedAgain(*By) && followUses(*By);
      if (Cmp->getType()->isVectorTy() || !hasOperands(*Cmp)) return false;
      Found.Comparisons.insert(Cmp);
      return Found.Comparisons.size() <= MostComparisons;
    });
  }

  bool isComputedAgain(const Instruction &I) {
    if (Found.Again.contains(&I)) return true;
    if (!isPure(I) || Found.Again.size() == MostAgain) return false;
    Found.Again.insert(&I);
    return hasOperands(I);
  }

  bool hasOperands(const Instruction &I) {
    return all_of(I.operands(), [&](const Value *V) { return isAvailable(V); });
  }

  bool isAvailable(const Value *V) {
    if (auto *C = dyn_cast<Constant>(V)) return !isa<ConstantExpr>(C);
    auto *I = dyn_cast<Instruction>(V);
    return isa<Argument>(V) || I == &At || (I && (Tree.dominates(I, &At) || isComputedAgain(*I)));
  }
};

Decisions decisionsOf(const Instruction &At, const DominatorTree &Tree) {
  if (At.getType()->isVectorTy() || isa<CmpInst>(At)) return {};
  return DecisionFinder(At, Tree).run().value_or(Decisions());
}

static Value *again(IRBuilder<> &B, const Decisions &All, Value *V, DenseMap<Value *, Value *> &Known);

static Value *copy(IRBuilder<> &B, const Decisions &All, const Instruction &I, DenseMap<Value *, Value *> &Known) {
  Instruction *Copy = I.clone();
  Copy->dropPoisonGeneratingFlags(); // they need not hold for a mutant
  for (Use &U : Copy->operands()) U.set(again(B, All, U.get(), Known));
  return B.Insert(Copy);
}

static Value *again(IRBuilder<> &B, const Decisions &All, Value *V, DenseMap<Value *, Value *> &Known) {
  if (auto It = Known.find(V); It != Known.end()) return It->second;
  auto *I = dyn_cast<Instruction>(V);
  return I && All.Again.contains(I) ? Known[V] = copy(B, All, *I, Known) : V;
}

Value *decide(IRBuilder<> &B, const Decisions &All, const CmpInst &Cmp, Value *Point, Value *Of) {
  DenseMap<Value *, Value *> Known{{Point, Of}};
  return copy(B, All, Cmp, Known);
}

} // namespace pen::mutants
