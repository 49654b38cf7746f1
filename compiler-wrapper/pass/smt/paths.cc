// Translates one path of a function: the computation of an execution that takes the given branches in order. Control
// flow is fixed, so nothing is merged and no loop is cut: each round of a loop, and each activation of a recursive
// function, is translated separately.
#include "smt.h"

#include "llvm/IR/CFG.h"
#include "llvm/Support/MemoryBuffer.h"

namespace pen::smt {
using namespace llvm;

// The maximum number of lines for all paths of one function. Further paths have no query.
static constexpr size_t MostPathLines = 1 << 21;
// The maximum number of nested activations of the function.
static constexpr unsigned MostActivations = 256;

// The conditionals of a function, and the branches of the path that are still to be taken.
class Way {
public:
  Way(const FunctionPlan &Plan, const SiteNumbers &Numbers, ArrayRef<Step> Steps)
      : Plan(Plan), Numbers(Numbers), Steps(Steps) {}

  bool isDone() const { return Next == Steps.size(); }
  size_t left() const { return Steps.size() - Next; }
  bool isCounted(const Instruction &I) const { return Numbers.count(&I); }
  const Site &siteOf(const Instruction &I) const { return Plan.Sites[Numbers.lookup(&I)]; }

  // The branch that the path takes at this conditional; none if the next step of the path is another conditional.
  std::optional<unsigned> take(const Instruction &I) {
    if (isDone() || !isCounted(I) || Steps[Next].Site != Numbers.lookup(&I)) return std::nullopt;
    return Steps[Next++].Branch;
  }

private:
  const FunctionPlan &Plan;
  const SiteNumbers &Numbers;
  ArrayRef<Step> Steps;
  size_t Next = 0;
};

// Whether control can reach a conditional of the function from this block.
static bool leadsToChoice(const BasicBlock &From, const Way &Ahead) {
  SmallPtrSet<const BasicBlock *, 16> Seen{&From};
  SmallVector<const BasicBlock *> Work{&From};
  while (!Work.empty()) {
    const BasicBlock *BB = Work.pop_back_val();
    if (any_of(*BB, [&](const Instruction &I) { return Ahead.isCounted(I); })) return true;
    for (const BasicBlock *To : successors(BB))
      if (Seen.insert(To).second) Work.push_back(To);
  }
  return false;
}

// Moves control to a block from another one (null at the entry), and forgets the terms of an earlier round.
void Frame::comeTo(const BasicBlock &BB, const BasicBlock *From, const Term &Taken) {
  Reach[&BB] = Taken;
  std::vector<std::pair<const PHINode *, Val>> Incoming;
  for (const PHINode &Phi : BB.phis()) Incoming.push_back({&Phi, valueOf(Phi.getIncomingValueForBlock(From))});
  for (auto &[Phi, V] : Incoming) Values[Phi] = std::move(V);
  forgetRound(BB);
}

// The successor after a terminator that is no conditional of the source, for example the switch by which clang leaves a
// scope from several places: its value is constant on a path. Null at the end of the function, and if the successor is
// unknown.
const BasicBlock *Frame::onlyWay(const Instruction &End) {
  if (auto *Br = dyn_cast<BranchInst>(&End)) {
    if (Br->isUnconditional() || Br->getSuccessor(0) == Br->getSuccessor(1)) return Br->getSuccessor(0);
    Term Condition = conditionOf(*Br);
    if (Condition == "true" || Condition == "false") return Br->getSuccessor(Condition == "false");
  }
  if (auto *Switch = dyn_cast<SwitchInst>(&End)) {
    Val V = valueOf(Switch->getCondition());
    if (!V.isBits() || V.Poison != "false" || !StringRef(V.Text).starts_with("(_ bv")) return nullptr;
    for (auto &Case : Switch->cases())
      if (literal(Case.getCaseValue()->getValue()) == V.Text) return Case.getCaseSuccessor();
    return Switch->getDefaultDest();
  }
  return nullptr;
}

// Continues the path in a new activation, because the function calls itself.
Frame::Walk Frame::walkInto(const CallInst &Call, Way &Ahead, const Term &Taken) {
  std::vector<Val> Passed;
  for (unsigned K = 0; K < Call.arg_size(); K++) {
    if (Call.isByValArgument(K)) return {};
    Passed.push_back(valueOf(Call.getArgOperand(K)));
  }
  Frame Inner(X, F, Passed, Taken, Now, Depth + 1);
  Walk Walked = Inner.walk(Ahead);
  if (Walked.End != Walk::Returned) return Walked;
  Now = std::move(Walked.After);
  Inner.forgetLocals(Now);
  if (!Call.getType()->isVoidTy()) Values[&Call] = Walked.Result;
  return Walked;
}

Frame::Walk Frame::walk(Way &Ahead) {
  if (Depth > MostActivations) return {};
  Term Taken = Entry;
  const BasicBlock *From = nullptr, *BB = &F.getEntryBlock();
  // Between two conditionals no block is executed twice, unless the function does not terminate.
  for (size_t Blocks = (Ahead.left() + 1) * F.size(); BB && Blocks > 0; Blocks--) {
    comeTo(*BB, From, Taken);
    for (const Instruction &I : *BB) {
      if (isa<PHINode>(I) || (I.isTerminator() && !isa<CallBase>(I))) continue;
      if (isa<SelectInst>(I) && Ahead.isCounted(I)) {
        std::optional<unsigned> Branch = Ahead.take(I);
        if (!Branch) return {};
        Reach[BB] = Taken = outcomeOf(*this, Ahead.siteOf(I), I, *Branch);
        if (Ahead.isDone()) return {Walk::Done, Taken};
      }
      if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->getCalledFunction() == &F) {
        Walk Inner = walkInto(*Call, Ahead, Taken);
        if (Inner.End != Walk::Returned) return Inner;
        Reach[BB] = Taken = Inner.When;
        continue;
      }
      translate(I);
      Reach[BB] = Taken = endOf(BB);
      ReturnedIn.erase(BB);
    }
    const Instruction *End = BB->getTerminator();
    if (auto *Ret = dyn_cast<ReturnInst>(End))
      return {Walk::Returned, Taken, Ret->getReturnValue() ? valueOf(Ret->getReturnValue()) : Val(), std::move(Now)};
    From = BB;
    if (!Ahead.isCounted(*End)) {
      auto *Invoke = dyn_cast<InvokeInst>(End);
      if (Invoke) BB = leadsToChoice(*Invoke->getUnwindDest(), Ahead) ? nullptr : Invoke->getNormalDest();
      else BB = onlyWay(*End);
      continue;
    }
    std::optional<unsigned> Branch = Ahead.take(*End);
    const Site &Here = Ahead.siteOf(*End);
    if (!Branch || *Branch >= Here.To.size()) return {};
    Taken = outcomeOf(*this, Here, *End, *Branch);
    if (Ahead.isDone()) return {Walk::Done, Taken};
    BB = Here.To[*Branch];
  }
  return {};
}

std::optional<Term> Frame::follow(Way Ahead) {
  Walk All = walk(Ahead);
  return All.End == Walk::Done ? std::optional(All.When) : std::nullopt;
}

std::map<std::string, PathsOf> readPaths(StringRef File) {
  std::map<std::string, PathsOf> All;
  auto Text = MemoryBuffer::getFile(File);
  if (!Text) return All;
  SmallVector<StringRef> Lines;
  (*Text)->getBuffer().split(Lines, '\n', -1, false);
  for (StringRef Line : Lines) {
    SmallVector<StringRef> Words;
    Line.split(Words, ' ', -1, false);
    unsigned Number;
    if (Words.size() < 3 || Words[1].getAsInteger(10, Number)) continue;
    std::vector<Step> &Steps = All[Words[0].str()][Number];
    for (StringRef Word : ArrayRef(Words).drop_front(2)) {
      auto [Site, Branch] = Word.split(':');
      Step S;
      if (Site.getAsInteger(10, S.Site) || Branch.getAsInteger(10, S.Branch)) break;
      Steps.push_back(S);
    }
  }
  return All;
}

void writePaths(Translator &X, const FunctionPlan &Plan, ArrayRef<Val> Args, const Memory &Start,
                const PathsOf &Paths) {
  SiteNumbers Numbers = numbersOf(Plan);
  unsigned FirstOwn = X.Objects.size();
  for (auto &[Number, Steps] : Paths) {
    X.LinesBefore = X.S.size();
    if (X.LinesBefore > MostPathLines) return;
    std::optional<Term> Taken = Frame(X, *Plan.F, Args, "true", Start, 0).follow(Way(Plan, Numbers, Steps));
    if (Taken) X.S.goal("path_" + std::to_string(Number), *Taken);
    X.removeObjectsFrom(FirstOwn);
  }
}

} // namespace pen::smt
