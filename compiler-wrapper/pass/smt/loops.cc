// What loops do in their first rounds: a loop is left in the first one, in the second, or begins a third. Both rounds are translated anew;
// loops around the loop and inside of it are cut.
#include "smt.h"

#include "llvm/IR/CFG.h"

namespace pen::smt {
using namespace llvm;

// The number of the conditional that each round begins with; none if it is not the same one.
static std::optional<unsigned> headOf(const BasicBlock &Header, const SiteNumbers &Numbers) {
  SmallPtrSet<const BasicBlock *, 8> Seen;
  for (const BasicBlock *BB = &Header; BB && Seen.insert(BB).second; BB = BB->getSingleSuccessor())
    for (const Instruction &I : *BB)
      if (auto Found = Numbers.find(&I); Found != Numbers.end()) return Found->second;
  return std::nullopt;
}

// An exception of what it calls leaves a function without an edge.
static bool mayThrow(const SmallPtrSetImpl<const BasicBlock *> &Loop) {
  return any_of(Loop, [](const BasicBlock *BB) {
    return !BB->getParent()->doesNotThrow() && any_of(*BB, [](const Instruction &I) { return isa<CallInst>(I) && !cast<CallInst>(I).doesNotThrow(); });
  });
}

// Control comes to the header of the loop from its end, with what the last round has computed; false if it never does.
bool Frame::beginRound(const BasicBlock &Header, const SmallPtrSetImpl<const BasicBlock *> &Loop) {
  std::vector<std::pair<Term, Memory *>> Ways;
  std::vector<std::pair<const PHINode *, Val>> Incoming;
  Term Reached = "false";
  for (const BasicBlock *From : predecessors(&Header)) {
    Term Edge = Loop.contains(From) ? reachOf(From, &Header) : "false";
    if (Edge == "false") continue;
    Reached = either(Reached, Edge);
    Ways.push_back({Edge, &Ends[From]});
  }
  if (Ways.empty()) return false;
  for (const BasicBlock *From : predecessors(&Header))
    if (!Loop.contains(From)) Edges.erase({From, &Header});
  for (const PHINode &Phi : Header.phis()) Incoming.push_back({&Phi, phi(Phi)});
  Now = X.merge(Ways);
  for (auto &[Phi, V] : Incoming) Values[Phi] = std::move(V);
  Reach[&Header] = X.S.defineBool(Reached);
  for (auto It = Edges.begin(); It != Edges.end();) It = Loop.contains(It->first.first) ? Edges.erase(It) : std::next(It);
  for (const BasicBlock *BB : Loop) forgetRound(*BB);
  return true;
}

std::array<Term, 3> Frame::firstRounds(const BasicBlock &Header, const SmallPtrSetImpl<const BasicBlock *> &Loop) {
  std::array<Term, 3> Rounds = {"false", "false", "false"};
  InRounds = &Header;
  std::vector<const BasicBlock *> Order = orderOf(F, Back), Inside;
  for (const BasicBlock *BB : Order) {
    if (Loop.contains(BB)) Inside.push_back(BB);
    else if (Inside.empty()) enter(*BB), translate(*BB);
  }
  for (unsigned Round = 0; Round < 2; Round++) {
    for (const BasicBlock *BB : Inside) {
      if (BB != &Header || Round == 0) enter(*BB);
      translate(*BB);
    }
    for (auto &[Edge, When] : Edges) {
      if (!Loop.contains(Edge.first)) continue;
      if (!Loop.contains(Edge.second)) Rounds[Round] = X.S.defineBool(either(Rounds[Round], When));
      if (Round == 1 && Edge.second == &Header) Rounds[2] = X.S.defineBool(either(Rounds[2], When));
    }
    if (Round == 0 && !beginRound(Header, Loop)) break;
  }
  return Rounds;
}

void writeLoops(Translator &X, const FunctionPlan &Plan, ArrayRef<Val> Args, const Memory &Start) {
  std::map<unsigned, std::vector<const BasicBlock *>> Headers; // by the numbers of the first conditionals
  SiteNumbers Numbers = numbersOf(Plan);
  BlockEdges Back;
  orderOf(*Plan.F, Back);
  std::set<const BasicBlock *> Seen;
  for (auto &[From, Header] : Back)
    if (Seen.insert(Header).second)
      if (std::optional<unsigned> Head = headOf(*Header, Numbers)) Headers[*Head].push_back(Header);
  X.WithInvariants = false;
  for (auto &[Head, All] : Headers) {
    auto Loop = naturalLoop(*All.front(), Back);
    if (All.size() > 1 || !Loop || mayThrow(*Loop)) continue;
    X.LinesBefore = X.S.size();
    auto Rounds = Frame(X, *Plan.F, Args, "true", Start, 0).firstRounds(*All.front(), *Loop);
    for (unsigned K = 0; K < Rounds.size(); K++) X.S.goal("rounds_" + std::to_string(Head) + "_" + std::to_string(K), Rounds[K]);
  }
}

} // namespace pen::smt
