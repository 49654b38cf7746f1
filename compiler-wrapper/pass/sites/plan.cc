// The plan of a function: its sites, branch graph, loops, parameter names and constants, before anything is changed in
// it.
#include "../plugin.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#if LLVM_VERSION_MAJOR >= 19
#include "llvm/IR/DebugProgramInstruction.h"
#endif

#include <set>

namespace pen {
using namespace llvm;

// Code that the compiler adds (switches of cleanups, lifetime markers) has no line.
static bool isInSource(const Instruction &I) {
  if (!I.getFunction()->getSubprogram()) return true;
  const DebugLoc &L = I.getDebugLoc();
  return L && L.getLine() != 0;
}

using Blocks = SmallPtrSet<BasicBlock *, 16>;

// `default: case 3:` is one destination with two labels. Without counters, clang creates an empty block for the first
// label.
static BasicBlock *destinationOf(const Blocks &Successors, BasicBlock *To) {
  if (hasBlocksOfLabels(*To->getParent())) return To;
  auto *Br = dyn_cast<BranchInst>(To->getTerminator());
  bool Empty = Br && Br->isUnconditional() && Br == &*To->getFirstNonPHIOrDbg();
  return Empty && Successors.contains(Br->getSuccessor(0)) ? Br->getSuccessor(0) : To;
}

// Numbers the destinations of a switch, the default's first. Generated code has switches of thousands of cases.
static void findDestinations(Site &S, SwitchInst &Sw) {
  Blocks Successors(succ_begin(&Sw), succ_end(&Sw));
  DenseMap<BasicBlock *, unsigned> Number;
  auto NumberOf = [&](BasicBlock *To) {
    auto [Found, IsNew] = Number.try_emplace(destinationOf(Successors, To), S.To.size());
    if (IsNew) S.To.push_back(Found->first);
    return Found->second;
  };
  NumberOf(Sw.getDefaultDest());
  for (auto &Case : Sw.cases()) S.CaseBranches.push_back(NumberOf(Case.getCaseSuccessor()));
  S.Branches = S.To.size();
}

static std::optional<Site> siteAt(Instruction &I) {
  if (!isInSource(I) || I.hasMetadata("nosanitize")) return std::nullopt;
  Site S;
  S.At = WeakTrackingVH(&I);
  S.Where = I.getDebugLoc();
  S.Assumption = assumptionOf(I);
  if (auto *Br = dyn_cast<BranchInst>(&I)) {
    if (!Br->isConditional() || isa<Constant>(Br->getCondition()) || Br->getSuccessor(0) == Br->getSuccessor(1))
      return std::nullopt;
    if (isMadeByCompiler(*Br)) return std::nullopt;
    S.Possible = branchesOfSource(*Br);
    S.To = {Br->getSuccessor(0), Br->getSuccessor(1)};
    return S;
  }
  if (auto *Sel = dyn_cast<SelectInst>(&I)) {
    S.K = Kind::Select;
    if (!Sel->getCondition()->getType()->isIntegerTy(1) || isa<Constant>(Sel->getCondition())) return std::nullopt;
    if (isDecided(Sel->getCondition())) return std::nullopt; // `a && b ? 1 : 2`: its operands are sites
    return S;
  }
  if (auto *Sw = dyn_cast<SwitchInst>(&I)) {
    S.K = Kind::Switch;
    if (isa<Constant>(Sw->getCondition()) || Sw->getCondition()->getType()->getIntegerBitWidth() > 64)
      return std::nullopt;
    findDestinations(S, *Sw);
    if (S.Branches < 2) return std::nullopt;
    return S;
  }
  return std::nullopt;
}

// Walks from an instruction to the conditionals that control can reach next.
class EdgeWalker {
public:
  EdgeWalker(const FunctionPlan &Plan) : File(fileOf(*Plan.F)) {
    for (unsigned I = 0; I < Plan.Sites.size(); I++) {
      auto *At = dyn_cast_or_null<Instruction>(static_cast<Value *>(Plan.Sites[I].At));
      if (!At) continue; // it was removed when locals were moved to registers
      Index[At].push_back(I);
      if (Plan.Sites[I].isConditional()) Ends.insert(At);
    }
    findStarts(*Plan.F);
  }
  Edges from(BasicBlock::iterator Start) {
    SmallSetVector<unsigned, 4> Next;
    SmallSetVector<Function *, 2> Calls;
    std::set<std::pair<BasicBlock *, Destination>> Seen;
    std::set<unsigned> Lines;
    std::set<Place> Starts;
    SmallVector<std::pair<BasicBlock::iterator, Destination>, 8> Work{{Start, {}}};
    while (!Work.empty()) {
      auto [It, Stored] = Work.pop_back_val();
      BasicBlock *BB = It->getParent();
      bool Stopped = false;
      // The code after a select continues its block.
      if (auto Own = StartOf.find(BB); Own != StartOf.end() && It == BB->begin()) Starts.insert(Own->second);
      for (; It != BB->end() && !Stopped; ++It) {
        noteLine(*It, Lines);
        if (auto Found = Index.find(&*It); Found != Index.end()) {
          Next.insert(Found->second.begin(), Found->second.end());
          Stopped = Ends.contains(&*It);
        }
        if (auto *Call = dyn_cast<CallBase>(&*It)) {
          Function *Callee = Call->getCalledFunction();
          if (Callee && !Callee->isIntrinsic()) Calls.insert(Callee);
        }
        noteDestination(*It, Stored);
      }
      if (Stopped) continue;
      for (BasicBlock *To : successorsWith(*BB, Stored))
        if (Seen.insert({To, Stored}).second) Work.push_back({To->begin(), Stored});
    }
    Edges E;
    E.Next.assign(Next.begin(), Next.end());
    E.Calls.assign(Calls.begin(), Calls.end());
    E.Lines.assign(Lines.begin(), Lines.end());
    E.Starts.assign(Starts.begin(), Starts.end());
    return E;
  }

private:
  using Place = std::pair<unsigned, unsigned>; // line and column
  const DIFile *File;
  DenseMap<Place, unsigned> Instructions; // their number at each place
  DenseMap<const BasicBlock *, Place> StartOf;
  DenseMap<const Instruction *, SmallVector<unsigned, 2>> Index;
  SmallPtrSet<const Instruction *, 16> Ends;

  static const DIFile *fileOf(const Function &F) {
    const DISubprogram *SP = F.getSubprogram();
    return SP ? SP->getFile() : nullptr;
  }

  // A slot and the last value stored in it. By such a slot a switch of clang's own chooses where a `return` or a
  // `break` continues after cleanups (ends of lifetimes, destructors).
  using Destination = std::pair<const Value *, int64_t>;

  static const Value *slotOf(const Instruction *Switch) {
    auto *Sw = dyn_cast<SwitchInst>(Switch);
    auto *Load = Sw && !isInSource(*Sw) ? dyn_cast<LoadInst>(Sw->getCondition()) : nullptr;
    return Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
  }

  static void noteDestination(const Instruction &I, Destination &Stored) {
    auto *Store = dyn_cast<StoreInst>(&I);
    auto *K = Store ? dyn_cast<ConstantInt>(Store->getValueOperand()) : nullptr;
    auto *Slot = K && K->getBitWidth() <= 64 ? dyn_cast<AllocaInst>(Store->getPointerOperand()) : nullptr;
    auto IsRead = [](const User *U) {
      return isa<LoadInst>(U) && any_of(U->users(), [](const User *V) { return slotOf(dyn_cast<Instruction>(V)); });
    };
    if (Slot && any_of(Slot->users(), IsRead)) Stored = {Slot, K->getSExtValue()};
  }

  static SmallVector<BasicBlock *, 4> successorsWith(BasicBlock &BB, const Destination &Stored) {
    auto *Sw = dyn_cast<SwitchInst>(BB.getTerminator());
    const Value *Slot = Sw ? slotOf(Sw) : nullptr;
    if (!Slot || Slot != Stored.first) return SmallVector<BasicBlock *, 4>(successors(&BB));
    for (auto &Case : Sw->cases())
      if (Case.getCaseValue()->getSExtValue() == Stored.second) return {Case.getCaseSuccessor()};
    return {Sw->getDefaultDest()};
  }

  // Whether an instruction only returns the value that the `return` statements have stored. clang gives it the line of
  // the closing brace, which gcov does not count.
  static bool onlyReturns(const Instruction &I) {
    auto *Load = dyn_cast<LoadInst>(&I);
    if (auto *Return = dyn_cast<ReturnInst>(&I)) Load = dyn_cast_or_null<LoadInst>(Return->getReturnValue());
    else if (!Load || !Load->hasOneUse() || !isa<ReturnInst>(*Load->user_begin())) return false;
    auto *Slot = Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
    return Slot && !Slot->isUsedByMetadata(); // it is no variable of the source
  }

  // The place of an instruction in the source, if gcov counts its line.
  const DILocation *placeOf(const Instruction &I) const {
    const DebugLoc &L = I.getDebugLoc();
    return !onlyReturns(I) && L && L.getLine() != 0 && L->getFile() == File ? L.get() : nullptr;
  }

  void noteLine(const Instruction &I, std::set<unsigned> &Lines) const {
    if (const DILocation *L = placeOf(I)) Lines.insert(L->getLine());
  }

  // Where a block begins: the first place on the line of its first instruction, because operands that stand first need
  // not be computed first. A block that only jumps begins at its jump if that is a statement (`break;`): other jumps
  // have the place of an operator or of a loop.
  std::optional<Place> startOf(const BasicBlock &BB) const {
    std::optional<Place> First;
    for (const Instruction &I : BB) {
      const DILocation *L = placeOf(I);
      if (!L || I.isLifetimeStartOrEnd()) continue;
      Place At(L->getLine(), L->getColumn());
      bool IsJump = isa<BranchInst>(I) && cast<BranchInst>(I).isUnconditional();
      if (IsJump && (First || Instructions.lookup(At) != 1)) continue;
      if (!First || (At.first == First->first && At.second < First->second)) First = At;
    }
    return First;
  }

  // Finds the blocks that are statements of their own. A block that is always executed after another one with code on
  // its line is none: the end of a conditional expression, the condition of a loop.
  void findStarts(Function &F) {
    for (const Instruction &I : instructions(F))
      if (const DILocation *L = placeOf(I)) Instructions[{L->getLine(), L->getColumn()}]++;
    std::map<unsigned, SmallSetVector<BasicBlock *, 2>> OnLine;
    for (BasicBlock &BB : F) {
      if (!startOf(BB)) continue;
      for (const Instruction &I : BB)
        if (const DILocation *L = placeOf(I)) OnLine[L->getLine()].insert(&BB);
    }
    PostDominatorTree Tree(F);
    for (BasicBlock &BB : F) {
      std::optional<Place> Start = startOf(BB);
      auto Follows = [&](BasicBlock *Other) { return Other != &BB && Tree.dominates(&BB, Other); };
      if (Start && none_of(OnLine[Start->first], Follows)) StartOf[&BB] = *Start;
    }
  }
};

// The successors of a block, without those that a constant condition (`sizeof(x) == 4 ? a : b`) excludes.
SmallVector<BasicBlock *, 4> liveSuccessors(BasicBlock &BB) {
  Instruction *End = BB.getTerminator();
  if (auto *Br = dyn_cast<BranchInst>(End); Br && Br->isConditional())
    if (auto *Known = dyn_cast<ConstantInt>(Br->getCondition())) return {Br->getSuccessor(Known->isZero() ? 1 : 0)};
  if (auto *Sw = dyn_cast<SwitchInst>(End))
    if (auto *Known = dyn_cast<ConstantInt>(Sw->getCondition())) return {Sw->findCaseValue(Known)->getCaseSuccessor()};
  return SmallVector<BasicBlock *, 4>(successors(&BB));
}

SmallPtrSet<BasicBlock *, 16> liveBlocks(Function &F) {
  SmallPtrSet<BasicBlock *, 16> Live{&F.getEntryBlock()};
  SmallVector<BasicBlock *, 8> Work{&F.getEntryBlock()};
  while (!Work.empty())
    for (BasicBlock *To : liveSuccessors(*Work.pop_back_val()))
      if (Live.insert(To).second) Work.push_back(To);
  return Live;
}

// The comparison site of a two-way site. None of its branches is possible until the condition is traced to a
// comparison.
static Site comparisonSite(const Site &Conditional) {
  Site S;
  S.K = Kind::Comparison;
  S.At = Conditional.At;
  S.Where = Conditional.Where;
  S.Branches = PEN_SIDES;
  S.Possible = 0;
  S.Assumption = Conditional.Assumption & PEN_ASSUMED;
  return S;
}

void addSite(FunctionPlan &Plan, Site S) {
  S.FirstAction = Plan.ActionBytes;
  Plan.ActionBytes += S.Branches;
  Plan.Sites.push_back(std::move(S));
}

// Code that a constant condition excludes has no sites: compilers remove it, and no input reaches it.
static void findSites(FunctionPlan &Plan) {
  SmallPtrSet<BasicBlock *, 16> Live = liveBlocks(*Plan.F);
  DenseMap<const Instruction *, DebugLoc> Operands = operandsOf(*Plan.F);
  for (Instruction &I : instructions(*Plan.F))
    if (auto S = Live.contains(I.getParent()) ? siteAt(I) : std::nullopt) {
      if (auto Own = Operands.find(&I); Own != Operands.end()) S->Where = Own->second;
      addSite(Plan, *S);
      if (S->K != Kind::Switch) addSite(Plan, comparisonSite(*S));
    } else if (auto Operation = Live.contains(I.getParent()) && isInSource(I) ? operationAt(I) : std::nullopt) {
      addSite(Plan, *Operation);
    }
}

void findEdges(FunctionPlan &Plan) {
  Plan.BranchEdges.clear();
  EdgeWalker Walk(Plan);
  Plan.Entry = Walk.from(Plan.F->getEntryBlock().begin());
  for (const Site &S : Plan.Sites) {
    std::vector<Edges> PerBranch;
    if (!S.isConditional()) PerBranch.resize(S.Branches);
    else if (!static_cast<Value *>(S.At)) PerBranch.resize(S.Branches);
    else if (S.To.empty()) PerBranch.assign(2, Walk.from(std::next(cast<Instruction>(&*S.At)->getIterator())));
    for (BasicBlock *To : S.To) PerBranch.push_back(Walk.from(To->begin()));
    Plan.BranchEdges.push_back(std::move(PerBranch));
  }
}

static void findLoops(FunctionPlan &Plan) {
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 8> Back;
  FindFunctionBackedges(*Plan.F, Back);
  SmallSetVector<BasicBlock *, 8> Headers;
  for (auto &Edge : Back) Headers.insert(const_cast<BasicBlock *>(Edge.second));
  for (BasicBlock *BB : Headers)
    if (BB->getFirstInsertionPt() != BB->end()) Plan.LoopHeaders.push_back(BB);
  for (Instruction &I : instructions(*Plan.F))
    if (auto *Call = dyn_cast<CallBase>(&I); Call && !isa<IntrinsicInst>(Call)) Plan.BurnsFuelAtEntry = true;
}

static void nameParameter(FunctionPlan &Plan, const DILocalVariable *V) {
  if (!V || V->getScope()->getSubprogram() != Plan.F->getSubprogram() || V->getArg() == 0) return;
  if (Plan.ParameterNames.size() < V->getArg()) Plan.ParameterNames.resize(V->getArg());
  Plan.ParameterNames[V->getArg() - 1] = V->getName().str();
}

static void nameParameters(FunctionPlan &Plan) {
  if (DISubprogram *SP = Plan.F->getSubprogram())
    for (DINode *N : SP->getRetainedNodes()) nameParameter(Plan, dyn_cast<DILocalVariable>(N));
  for (Instruction &I : instructions(*Plan.F)) {
    if (auto *D = dyn_cast<DbgVariableIntrinsic>(&I)) nameParameter(Plan, D->getVariable());
#if LLVM_VERSION_MAJOR >= 19
    for (DbgVariableRecord &R : filterDbgVars(I.getDbgRecordRange())) nameParameter(Plan, R.getVariable());
#endif
  }
}

static bool comparesOrComputes(const Instruction &I) {
  return isa<CmpInst>(I) || isa<BinaryOperator>(I) || isa<SwitchInst>(I);
}

// Elements in the order of insertion, without repetition. LLVM's own sets of integers cannot hold the two largest ones
// (or INT64_MIN), and programs do compare with these.
template <typename T> using InOrder = SetVector<T, SmallVector<T, 16>, std::set<T>>;

static void findConstants(FunctionPlan &Plan) {
  InOrder<uint64_t> Floats;
  InOrder<int64_t> Integers;
  for (Instruction &I : instructions(*Plan.F))
    for (Value *Op : I.operands()) {
      if (auto *FP = dyn_cast<ConstantFP>(Op)) {
        if (!FP->getType()->isDoubleTy() && !FP->getType()->isFloatTy()) continue;
        APFloat V = FP->getValueAPF();
        bool Lossy;
        V.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &Lossy);
        Floats.insert(V.bitcastToAPInt().getZExtValue());
      } else if (auto *Int = dyn_cast<ConstantInt>(Op); Int && comparesOrComputes(I) && Int->getBitWidth() <= 64) {
        Integers.insert(Int->getSExtValue());
      }
    }
  Plan.Floats.assign(Floats.begin(), Floats.end());
  Plan.Integers.assign(Integers.begin(), Integers.end());
}

FunctionPlan planOf(Function &F, std::vector<Decision> Decisions) {
  FunctionPlan Plan;
  Plan.F = &F;
  findSites(Plan);
  addDecisions(Plan, std::move(Decisions));
  findEdges(Plan);
  findLoops(Plan);
  nameParameters(Plan);
  findConstants(Plan);
  return Plan;
}

} // namespace pen
