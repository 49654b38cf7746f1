// Translates control flow: the condition under which control reaches a block, and the values there. Loops are cut: at
// the header, every value that the loop changes is fresh, so a fact that holds there holds in each iteration.
#include "smt.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"

namespace pen::smt {
using namespace llvm;

Frame::Frame(Translator &X, Function &F, std::vector<Val> Args, Term Entry, Memory Start, unsigned Depth,
             unsigned Context)
    : X(X), F(F), Args(std::move(Args)), Entry(std::move(Entry)), Now(std::move(Start)), Depth(Depth),
      Context(Context) {}

// Orders the blocks so that each follows its predecessors, except along the edges that close loops, which are added to
// `Back`.
static std::vector<const BasicBlock *> orderOf(const Function &F, BlockEdges &Back) {
  std::vector<const BasicBlock *> Order;
  std::map<const BasicBlock *, int> State; // 1: on the current path, 2: finished
  std::vector<std::pair<const BasicBlock *, const_succ_iterator>> Way;
  auto Visit = [&](const BasicBlock *BB) {
    State[BB] = 1;
    Way.push_back({BB, succ_begin(BB)});
  };
  Visit(&F.getEntryBlock());
  while (!Way.empty()) {
    auto &[BB, Next] = Way.back();
    if (Next == succ_end(BB)) {
      State[BB] = 2;
      Order.push_back(BB);
      Way.pop_back();
      continue;
    }
    const BasicBlock *To = *Next;
    ++Next;
    if (State[To] == 1) Back.insert({BB, To});
    else if (State[To] == 0) Visit(To);
  }
  std::reverse(Order.begin(), Order.end());
  return Order;
}

// Translates a block that control has entered.
void Frame::translate(const BasicBlock &BB) {
  for (const Instruction &I : BB) {
    if (isa<PHINode>(I) || (I.isTerminator() && !isa<CallBase>(I))) continue;
    if (Watch) Watch(I, false);
    at(&I);
    translate(I);
    if (Watch) Watch(I, true);
  }
  leave(BB);
}

Outcome Frame::run() {
  for (const BasicBlock *BB : orderOf(F, Back)) enter(*BB), translate(*BB);
  if (X.WithInvariants) proposeInvariants();
  noteRounds();
  at(&F);
  Outcome Result;
  std::vector<std::pair<Term, Memory *>> Ways;
  for (Return &R : reverse(Returns)) {
    Result.Result = Result.Returns ? X.choose(R.When, R.Result, Result.Result) : R.Result;
    Result.Returns = true;
  }
  for (Return &R : Returns) {
    Ways.push_back({R.When, &R.After});
    Result.When = X.S.defineBool(either(Result.When, R.When));
  }
  if (Result.Returns) Result.After = X.merge(Ways);
  Result.CanFail = CanFail;
  return Result;
}

Term Frame::reachOf(const BasicBlock *BB) const {
  auto Found = Reach.find(BB);
  return Found == Reach.end() ? "false" : Found->second;
}

Term Frame::endOf(const BasicBlock *BB) const {
  auto Found = ReturnedIn.find(BB);
  return Found == ReturnedIn.end() ? reachOf(BB) : Found->second;
}

Term Frame::reachOf(const BasicBlock *From, const BasicBlock *To) const {
  auto Found = Edges.find({From, To});
  return Found == Edges.end() ? "false" : Found->second;
}

// The name that SROA derived from the variable.
static std::string nameOf(const PHINode &Phi) {
  return Phi.hasName() ? Phi.getName().split('.').first.str() : "a value";
}

void Frame::enter(const BasicBlock &BB) {
  at(&BB);
  if (&BB == &F.getEntryBlock()) {
    Reach[&BB] = Entry;
    return;
  }
  Term Reached = "false";
  std::vector<std::pair<Term, Memory *>> Ways;
  bool IsHeader = false;
  std::set<const BasicBlock *> Seen;
  for (const BasicBlock *From : predecessors(&BB)) {
    if (!Seen.insert(From).second) continue;
    IsHeader |= !X.HasFewRounds && InRounds != &BB && Back.count({From, &BB});
    auto Edge = Edges.find({From, &BB});
    if (Edge == Edges.end() || Edge->second == "false") continue;
    Reached = Reached == "false" ? Edge->second : apply("or", {Reached, Edge->second});
    Ways.push_back({Edge->second, &Ends[From]});
  }
  Reach[&BB] = X.S.defineBool(Reached);
  if (!Ways.empty()) Now = X.merge(Ways);
  if (IsHeader) enterLoop(BB), X.CutLoops++;
  for (const PHINode &Phi : BB.phis()) {
    bool IsCut = IsHeader && any_of(Phi.blocks(), [&](const BasicBlock *From) {
                   return Back.count({From, &BB}) && Phi.getIncomingValueForBlock(From) != &Phi;
                 });
    if (!IsCut) {
      Values[&Phi] = phi(Phi);
      continue;
    }
    std::string Where = place(*BB.getTerminator());
    at(&Phi);
    Val Changed = Values[&Phi] = X.shared([&] { return X.fresh(Phi.getType(), "loop" + Where); });
    if (Loops.count(&BB)) Cuts.push_back({&Phi, Changed, phi(Phi), X.CutLoops, nameOf(Phi) + " in the loop" + Where});
  }
}

Val Frame::phi(const PHINode &Phi) {
  std::optional<Val> Merged;
  std::set<const BasicBlock *> Seen;
  for (unsigned I = Phi.getNumIncomingValues(); I-- > 0;) {
    const BasicBlock *From = Phi.getIncomingBlock(I);
    auto Edge = Edges.find({From, Phi.getParent()});
    if (Edge == Edges.end() || Edge->second == "false" || !Seen.insert(From).second) continue;
    Val V = valueOf(Phi.getIncomingValue(I));
    Merged = Merged ? X.choose(Edge->second, V, *Merged) : V;
  }
  return Merged && Merged->K != Val::Unknown ? *Merged : X.fresh(Phi.getType(), "value of several kinds" + place(Phi));
}

// The blocks of the loop with this header; nothing if control also enters the loop at another block.
static std::optional<SmallPtrSet<const BasicBlock *, 16>> naturalLoop(const BasicBlock &Header,
                                                                      const BlockEdges &Back) {
  DominatorTree Dominators(*const_cast<Function *>(Header.getParent()));
  SmallPtrSet<const BasicBlock *, 16> Loop{&Header};
  std::vector<const BasicBlock *> Work;
  for (const BasicBlock *From : predecessors(&Header)) {
    if (!Back.count({From, &Header})) continue;
    if (!Dominators.dominates(&Header, From)) return std::nullopt;
    Work.push_back(From);
  }
  while (!Work.empty()) {
    const BasicBlock *Next = Work.back();
    Work.pop_back();
    if (!Loop.insert(Next).second) continue;
    for (const BasicBlock *From : predecessors(Next)) Work.push_back(From);
  }
  return Loop;
}

// At the header of a loop, forgets the memory that its blocks write. If control also enters the loop at another block,
// all memory is forgotten, and the condition to reach the header is fresh.
void Frame::enterLoop(const BasicBlock &BB) {
  auto Loop = naturalLoop(BB, Back);
  if (!Loop) {
    X.IsIrreducible = true;
    Reach[&BB] = X.S.fresh(Sort::boolean(), "loop with several entries in " + F.getName().str());
    return X.forgetAll(Now);
  }
  Loops[&BB] = *Loop;
  forgetWrittenIn(*Loop);
}

void Frame::forgetWrittenIn(const SmallPtrSetImpl<const BasicBlock *> &Loop) {
  std::set<const Value *> Written;
  for (const BasicBlock *BB : Loop)
    for (const Instruction &I : *BB) {
      if (!I.mayWriteToMemory()) continue;
      auto *Intrinsic = dyn_cast<IntrinsicInst>(&I);
      if (Intrinsic && Intrinsic->isAssumeLikeIntrinsic() && !Intrinsic->isLifetimeStartOrEnd()) continue;
      if (auto *Load = dyn_cast<LoadInst>(&I); Load && Load->isVolatile()) {
        X.forgetEscaped(Now);
        continue;
      }
      const Value *Address = nullptr;
      if (auto *Store = dyn_cast<StoreInst>(&I)) Address = Store->getPointerOperand();
      while (Address && (isa<GetElementPtrInst>(Address) || isa<BitCastInst>(Address)))
        Address = cast<Instruction>(Address)->getOperand(0);
      if (!Address) return X.forgetAll(Now);
      Written.insert(Address);
    }
  for (const Value *Address : Written) {
    auto *Defined = dyn_cast<Instruction>(Address);
    // The loop computes the address anew in each iteration.
    if (Defined && Loop.contains(Defined->getParent()) && !isa<AllocaInst>(Defined)) return X.forgetAll(Now);
    Val To = valueOf(Address);
    To.Offset.reset();
    X.forget(Now, To, std::nullopt);
  }
}

// Forgets the terms of a block's conditionals and calls from an earlier iteration.
void Frame::forgetRound(const BasicBlock &BB) {
  ReturnedIn.erase(&BB);
  for (const Instruction &I : BB) Conditions.erase(&I);
  if (auto *Switch = dyn_cast<SwitchInst>(BB.getTerminator())) Switched.erase(Switch);
}

void Frame::noteEdge(const BasicBlock *From, const BasicBlock *To, const Term &When) {
  Term &Known = Edges[{From, To}];
  Known = X.S.defineBool(Known.empty() ? When : either(Known, When));
}

void Frame::leave(const BasicBlock &BB) {
  const Instruction *End = BB.getTerminator();
  Term Here = endOf(&BB);
  Ends[&BB] = Now;
  if (auto *Ret = dyn_cast<ReturnInst>(End)) {
    Returns.push_back({Here, Ret->getReturnValue() ? valueOf(Ret->getReturnValue()) : Val(), Now});
  } else if (auto *Br = dyn_cast<BranchInst>(End); Br && Br->isConditional()) {
    for (unsigned K : {0, 1}) noteEdge(&BB, Br->getSuccessor(K), edgeOf(*Br, K));
  } else if (auto *Sw = dyn_cast<SwitchInst>(End)) {
    for (auto &Case : Sw->cases()) noteEdge(&BB, Case.getCaseSuccessor(), caseOf(*Sw, Case.getCaseIndex()));
    noteEdge(&BB, Sw->getDefaultDest(), caseOf(*Sw, Sw->getNumCases()));
  } else if (auto *Invoke = dyn_cast<InvokeInst>(End)) {
    noteEdge(&BB, Invoke->getNormalDest(), Here);
    noteEdge(&BB, Invoke->getUnwindDest(), reachOf(&BB));
  } else {
    CanFail |= succ_empty(&BB) && Here != "false";
    for (const BasicBlock *To : successors(&BB)) noteEdge(&BB, To, Here);
  }
}

Term Frame::edgeOf(const BranchInst &Br, unsigned K) {
  Term Here = endOf(Br.getParent());
  if (Here == "false") return "false";
  Term Condition = conditionOf(Br);
  return X.S.defineBool(both(Here, K == 0 ? Condition : negate(Condition)));
}

Term Frame::caseOf(const SwitchInst &Sw, unsigned Case) {
  Term Here = endOf(Sw.getParent());
  if (Here == "false") return "false";
  auto [Found, IsNew] = Switched.try_emplace(&Sw);
  if (IsNew) {
    Val V = X.resolved(valueOf(Sw.getCondition()), "undefined behaviour" + place(Sw));
    Found->second =
        V.K == Val::Scalar ? X.bitsOf(V) : X.S.fresh(*X.sortOf(Sw.getCondition()->getType()), "condition" + place(Sw));
  }
  Term Value = Found->second;
  auto Equals = [&](const SwitchInst::ConstCaseHandle &C) {
    return apply("=", {Value, literal(C.getCaseValue()->getValue())});
  };
  if (Case < Sw.getNumCases()) return X.S.defineBool(both(Here, Equals(*std::next(Sw.case_begin(), Case))));
  Term None = Here;
  for (auto &C : Sw.cases()) None = X.S.defineBool(both(None, negate(Equals(C))));
  return None;
}

} // namespace pen::smt
