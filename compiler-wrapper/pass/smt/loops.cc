// Translates the first rounds of loops: a loop is left in the first round, in the second, or begins a third. Both
// rounds are translated separately; enclosing and nested loops are cut. The goal that a loop is left at its head
// concerns any round and the head after it.
#include "smt.h"

#include "llvm/IR/CFG.h"

namespace pen::smt {
using namespace llvm;

// The conditional that begins each round; null if it is not always the same one.
static const Instruction *headOf(const BasicBlock &Header, const SiteNumbers &Numbers) {
  SmallPtrSet<const BasicBlock *, 8> Seen;
  for (const BasicBlock *BB = &Header; BB && Seen.insert(BB).second; BB = BB->getSingleSuccessor())
    for (const Instruction &I : *BB)
      if (Numbers.count(&I)) return &I;
  return nullptr;
}

// Whether a callee may throw: an exception leaves the function without an edge.
static bool mayThrow(const SmallPtrSetImpl<const BasicBlock *> &Loop) {
  return any_of(Loop, [](const BasicBlock *BB) {
    return !BB->getParent()->doesNotThrow() &&
           any_of(*BB, [](const Instruction &I) { return isa<CallInst>(I) && !cast<CallInst>(I).doesNotThrow(); });
  });
}

// Moves control from the end of the loop to its header, with the values of the last round. Returns false if no edge
// closes the loop.
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
  for (auto It = Edges.begin(); It != Edges.end();)
    It = Loop.contains(It->first.first) ? Edges.erase(It) : std::next(It);
  for (const BasicBlock *BB : Loop) forgetRound(*BB);
  return true;
}

// Translates the blocks before the loop. Returns the blocks of the loop in order.
std::vector<const BasicBlock *> Frame::comeToLoop(const SmallPtrSetImpl<const BasicBlock *> &Loop) {
  std::vector<const BasicBlock *> Inside;
  for (const BasicBlock *BB : orderOf(F, Back)) {
    if (Loop.contains(BB)) Inside.push_back(BB);
    else if (Inside.empty()) enter(*BB), translate(*BB);
  }
  return Inside;
}

Term Frame::leftAtHead(const BasicBlock &Header, const BasicBlock &Head,
                       const SmallPtrSetImpl<const BasicBlock *> &Loop) {
  for (const BasicBlock *BB : comeToLoop(Loop)) enter(*BB), translate(*BB);
  if (!beginRound(Header, Loop)) return "false";
  for (const BasicBlock *BB = &Header;; BB = BB->getSingleSuccessor()) {
    if (BB != &Header) enter(*BB);
    translate(*BB);
    if (BB == &Head) break;
  }
  Term Left = "false";
  for (auto &[Edge, When] : Edges)
    if (Edge.first == &Head && !Loop.contains(Edge.second)) Left = either(Left, When);
  return Left;
}

std::array<Term, 3> Frame::firstRounds(const BasicBlock &Header, const SmallPtrSetImpl<const BasicBlock *> &Loop) {
  std::array<Term, 3> Rounds = {"false", "false", "false"};
  InRounds = &Header;
  std::vector<const BasicBlock *> Inside = comeToLoop(Loop);
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
  std::map<unsigned, std::vector<const BasicBlock *>> Headers; // by the number of the first conditional
  SiteNumbers Numbers = numbersOf(Plan);
  BlockEdges Back;
  orderOf(*Plan.F, Back);
  std::set<const BasicBlock *> Seen;
  for (auto &[From, Header] : Back)
    if (Seen.insert(Header).second)
      if (const Instruction *Head = headOf(*Header, Numbers)) Headers[Numbers.lookup(Head)].push_back(Header);
  X.WithInvariants = false;
  for (auto &[Number, All] : Headers) {
    const BasicBlock &Header = *All.front();
    auto Loop = naturalLoop(Header, Back);
    if (All.size() > 1 || !Loop || mayThrow(*Loop)) continue;
    X.LinesBefore = X.S.size();
    std::string Name = "rounds_" + std::to_string(Number) + "_";
    auto Rounds = Frame(X, *Plan.F, Args, "true", Start, 0).firstRounds(Header, *Loop);
    for (unsigned K = 0; K < Rounds.size(); K++) X.S.goal(Name + std::to_string(K), Rounds[K]);
    const Instruction &Head = *headOf(Header, Numbers);
    if (!Head.isTerminator()) continue;
    X.LinesBefore = X.S.size();
    X.S.goal(Name + "3", Frame(X, *Plan.F, Args, "true", Start, 0).leftAtHead(Header, *Head.getParent(), *Loop));
  }
}

} // namespace pen::smt
