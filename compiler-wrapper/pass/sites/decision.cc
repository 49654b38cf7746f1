// Decisions (-fpen-decisions): the conditions of each `&&` and `||` expression as the source has them, for condition
// and MC/DC coverage.
//
// clang starts each operand after the first in its own block, with a name that shows it: `land.rhs`, `lor.rhs`,
// `land.lhs.true`, `lor.lhs.false`. Whatever branches there ends the operand before, and belongs to the same decision.
// So `if (a && b)` is one decision and `if (a) if (b)` are two, although their graphs are the same. Bitcode without
// names has the graph only.
//
// The decision is read before repeated branches are straightened (straighten.cc). At that time the truth value of a
// whole condition is a phi, which shows which exits of the decision are its true outcome.
#include "../plugin.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Support/CommandLine.h"

namespace pen {
using namespace llvm;

static cl::opt<bool> WithDecisions("pen-decisions", cl::desc("Make decisions of several conditions sites, too"));

namespace {

// Limits of what is recorded: conditions of a decision, and paths through it. A larger decision has no vectors.
constexpr unsigned MostConditions = 64, MostVectors = 512;

// Limit on the blocks that are followed for one operand.
constexpr unsigned MostSteps = 64;

bool isNumberedName(StringRef Name, StringRef Prefix) {
  return Name.consume_front(Prefix) && (Name.empty() || isDigit(Name.front()));
}

BranchInst *conditionalOf(BasicBlock *BB) {
  auto *Br = dyn_cast<BranchInst>(BB->getTerminator());
  return Br && Br->isConditional() && Br->getSuccessor(0) != Br->getSuccessor(1) ? Br : nullptr;
}

// An edge out of a condition: its branch, and the number of the successor.
using Way = std::pair<BranchInst *, unsigned>;

class DecisionReader {
public:
  explicit DecisionReader(Function &F) : F(F), DT(F), PDT(F), HasNames(F.getEntryBlock().hasName()) {}

  std::vector<Decision> read() {
    for (BasicBlock &BB : F)
      if (DT.isReachableFromEntry(&BB)) joinOperands(BB);
    std::vector<Decision> Found;
    SmallPtrSet<BranchInst *, 16> Known;
    for (BasicBlock &BB : F) {
      BranchInst *Br = conditionalOf(&BB);
      if (!Br || !Known.insert(rootOf(Br)).second || !Joined.count(Br)) continue;
      if (std::optional<Decision> D = decisionOf(Br)) Found.push_back(std::move(*D));
    }
    return Found;
  }

private:
  Function &F;
  DominatorTree DT;
  PostDominatorTree PDT;
  bool HasNames;
  // a union-find structure: a condition and another one of the same decision, up to a root
  DenseMap<BranchInst *, BranchInst *> Joined;
  // the block where an operand begins, and the branch on its first condition
  DenseMap<BasicBlock *, BranchInst *> Starts;

  BranchInst *rootOf(BranchInst *Br) const {
    for (auto Found = Joined.find(Br); Found != Joined.end() && Found->second != Br; Found = Joined.find(Br))
      Br = Found->second;
    return Br;
  }

  void join(BranchInst *A, BranchInst *B) {
    Joined.try_emplace(A, A);
    Joined.try_emplace(B, B);
    Joined[rootOf(A)] = rootOf(B);
  }

  // The first block after those that contain nothing but an unconditional branch.
  static BasicBlock *passedThrough(BasicBlock *BB) {
    for (unsigned I = 0; I < MostSteps && onlyForwards(BB); I++) BB = BB->getSingleSuccessor();
    return BB;
  }

  static bool hasEffect(const BasicBlock &BB) {
    return any_of(BB, [](const Instruction &I) { return I.mayHaveSideEffects() && !isa<DbgInfoIntrinsic>(I); });
  }

  // Whether an operand of `&&` or `||` other than the first begins here.
  bool startsOperand(BasicBlock &BB, ArrayRef<Way> Before) const {
    if (HasNames)
      return any_of(ArrayRef<StringRef>{"land.rhs", "lor.rhs", "land.lhs.true", "lor.lhs.false"},
                    [&](StringRef Prefix) { return isNumberedName(BB.getName(), Prefix); });
    BranchInst *Own = conditionalOf(&BB);
    if (!Own || hasEffect(BB) || !BB.phis().empty()) return false;
    return any_of(Before, [&](const Way &W) {
      BasicBlock *Other = passedThrough(W.first->getSuccessor(1 - W.second));
      return Other == passedThrough(Own->getSuccessor(0)) || Other == passedThrough(Own->getSuccessor(1));
    });
  }

  // The edges into a block if all of them come from conditional branches; else nothing.
  static std::optional<SmallVector<Way, 4>> waysInto(BasicBlock *BB) {
    SmallVector<Way, 4> Ways;
    SmallVector<BasicBlock *, 4> Work{BB};
    for (unsigned I = 0; I < Work.size() && I < MostSteps; I++)
      for (BasicBlock *P : predecessors(Work[I])) {
        if (BranchInst *Br = conditionalOf(P)) Ways.push_back({Br, Br->getSuccessor(0) == Work[I] ? 0u : 1u});
        else if (onlyForwards(P)) Work.push_back(P);
        else return std::nullopt;
      }
    if (Ways.empty()) return std::nullopt;
    return Ways;
  }

  // Whether a block only merges the value of a part of a condition, and perhaps negates it.
  bool isMerge(const BasicBlock *BB) const {
    if (BB->phis().empty()) return false;
    if (HasNames && !isNumberedName(BB->getName(), "land.end") && !isNumberedName(BB->getName(), "lor.end"))
      return false;
    return all_of(*BB, [](const Instruction &I) {
      return isa<PHINode>(I) || isa<DbgInfoIntrinsic>(I) || isa<BranchInst>(I) || isa<ZExtInst>(I) ||
             isa<FreezeInst>(I) || I.getOpcode() == Instruction::Xor;
    });
  }

  // The branch on the first condition of the operand that begins at `Start`. It skips conditionals that are parts of
  // this condition (`b ? c : d`, `f(b || c)`), which meet again before it.
  BranchInst *firstConditionOf(BasicBlock *Start) const {
    BasicBlock *At = Start;
    for (unsigned I = 0; I < MostSteps; I++) {
      BasicBlock *Next = nullptr;
      if (BranchInst *Br = conditionalOf(At)) {
        bool IsInside = DT.dominates(Start, Br->getSuccessor(0)) && DT.dominates(Start, Br->getSuccessor(1));
        auto *Node = IsInside ? PDT.getNode(At) : nullptr;
        Next = Node && Node->getIDom() ? Node->getIDom()->getBlock() : nullptr;
        if (!Next || !DT.dominates(Start, Next) || isMerge(Next)) return Br;
      } else if (auto *Invoke = dyn_cast<InvokeInst>(At->getTerminator())) {
        Next = Invoke->getNormalDest();
      } else if (isa<SwitchInst>(At->getTerminator())) {
        auto *Node = PDT.getNode(At);
        Next = Node && Node->getIDom() ? Node->getIDom()->getBlock() : nullptr;
      } else {
        Next = At->getSingleSuccessor();
      }
      if (!Next || Next == At || !DT.dominates(Start, Next)) return nullptr;
      At = Next;
    }
    return nullptr;
  }

  void joinOperands(BasicBlock &BB) {
    auto Ways = waysInto(&BB);
    if (!Ways || !startsOperand(BB, *Ways)) return;
    BranchInst *First = firstConditionOf(&BB);
    if (!First) return;
    Starts[&BB] = First;
    for (const Way &W : *Ways) join(First, W.first);
  }

  // The target of an edge out of a condition: the next condition, or a block outside the decision.
  struct End {
    BranchInst *Next = nullptr;
    BasicBlock *Out = nullptr;
    std::optional<bool> Truth; // of the whole decision, if a phi holds it
  };

  End follow(const Way &W) const {
    End Found;
    DenseMap<Value *, bool> Known{{W.first->getCondition(), W.second == 0}};
    BasicBlock *From = W.first->getParent(), *At = W.first->getSuccessor(W.second);
    for (unsigned I = 0; I < MostSteps; I++) {
      if (auto Start = Starts.find(At); Start != Starts.end() && rootOf(Start->second) == rootOf(W.first)) {
        Found.Next = Start->second;
        return Found;
      }
      bool IsMerge = isMerge(At);
      if (IsMerge || !At->phis().empty())
        for (PHINode &Phi : At->phis())
          if (Phi.getType()->isIntegerTy(1) && Phi.getBasicBlockIndex(From) >= 0)
            if (std::optional<bool> T = truthOf(Phi.getIncomingValueForBlock(From), Known)) {
              Known[&Phi] = *T;
              Found.Truth = T;
            }
      if (!onlyForwards(At) && !(IsMerge && At->getSingleSuccessor())) break;
      From = At;
      At = At->getSingleSuccessor();
    }
    Found.Out = At;
    return Found;
  }

  static std::optional<bool> truthOf(Value *V, const DenseMap<Value *, bool> &Known) {
    if (auto Found = Known.find(V); Found != Known.end()) return Found->second;
    if (auto *K = dyn_cast<ConstantInt>(V)) return !K->isZero();
    auto *Op = dyn_cast<BinaryOperator>(V);
    if (!Op || Op->getOpcode() != Instruction::Xor) return std::nullopt;
    std::optional<bool> L = truthOf(Op->getOperand(0), Known), R = truthOf(Op->getOperand(1), Known);
    return L && R ? std::optional(*L != *R) : std::nullopt;
  }

  // Returns nothing if the edges are not those of a short-circuit expression with one first condition and two outcomes.
  std::optional<Decision> decisionOf(BranchInst *Member) const {
    SmallVector<BranchInst *, 8> All;
    for (BasicBlock &BB : F)
      if (BranchInst *Br = conditionalOf(&BB); Br && rootOf(Br) == rootOf(Member))
        if (!isa<Constant>(Br->getCondition())) All.push_back(Br);
    if (All.size() < 2 || All.size() > MostConditions) return std::nullopt;
    auto NumberOf = [&](BranchInst *Br) { return unsigned(find(All, Br) - All.begin()); };
    Decision D;
    SmallVector<bool, 64> IsEntered(All.size(), false);
    BasicBlock *TrueBlock = nullptr, *FalseBlock = nullptr;
    D.Nodes.resize(All.size());
    for (unsigned I = All.size(); I-- > 0;) {
      D.Nodes[I].At = All[I];
      for (unsigned Side : {0u, 1u}) {
        End To = follow({All[I], Side});
        for (unsigned Step = 0; Step < MostSteps && To.Next && isa<Constant>(To.Next->getCondition()); Step++)
          To = follow({To.Next, cast<Constant>(To.Next->getCondition())->isZeroValue() ? 1u : 0u});
        unsigned &Next = D.Nodes[I].Next[Side];
        if (To.Next) {
          Next = NumberOf(To.Next);
          if (Next <= I || Next >= All.size()) return std::nullopt;
          IsEntered[Next] = true;
          continue;
        }
        if (!To.Truth) {
          // The true outcome is the block that the last condition leads to if it holds.
          BasicBlock *&Block = !TrueBlock || To.Out == TrueBlock ? TrueBlock : FalseBlock;
          if (!Block) Block = To.Out;
          if (Block != To.Out) return std::nullopt;
          To.Truth = Block == TrueBlock;
        }
        Next = *To.Truth ? PEN_OUTCOME_TRUE : PEN_OUTCOME_FALSE;
      }
    }
    if (count(IsEntered, false) != 1 || IsEntered[0]) return std::nullopt;
    return countVectors(D) ? std::optional(std::move(D)) : std::nullopt;
  }

  static bool countVectors(Decision &D) {
    std::vector<uint64_t> Below(D.Nodes.size());
    for (unsigned I = D.Nodes.size(); I-- > 0;) {
      auto Of = [&](unsigned Next) { return Next < D.Nodes.size() ? Below[Next] : 1; };
      D.Nodes[I].OnTrue = std::min<uint64_t>(Of(D.Nodes[I].Next[0]), MostVectors + 1);
      Below[I] = std::min<uint64_t>(D.Nodes[I].OnTrue + Of(D.Nodes[I].Next[1]), MostVectors + 1);
    }
    D.Vectors = Below[0];
    return Below[0] <= MostVectors;
  }
};

} // namespace

std::vector<Decision> decisionsOf(Function &F) {
  if (!WithDecisions) return {};
  return DecisionReader(F).read();
}

// Appends the sites of decisions after all others, so that the others have the same numbers with and without decisions.
void addDecisions(FunctionPlan &Plan, std::vector<Decision> Decisions) {
  DenseMap<const Value *, unsigned> Numbers;
  for (unsigned I = 0; I < Plan.Sites.size(); I++)
    if (Plan.Sites[I].isConditional() && Plan.Sites[I].K == Kind::Branch) Numbers[&*Plan.Sites[I].At] = I;
  for (Decision &D : Decisions) {
    auto IsSite = [&](const DecisionNode &N) { return N.At && Numbers.count(N.At); };
    if (!all_of(D.Nodes, IsSite)) continue;
    const Site &First = Plan.Sites[Numbers[D.Nodes.front().At]];
    Site S;
    S.K = Kind::Decision;
    S.At = First.At;
    S.Where = First.Where;
    S.Branches = D.Vectors;
    S.Assumption = First.Assumption & PEN_ASSUMED;
    S.FirstAction = Plan.ActionBytes;
    D.Site = Plan.Sites.size();
    for (unsigned I = 0; I < D.Nodes.size(); I++) {
      D.Nodes[I].Site = Numbers[D.Nodes[I].At];
      Site &Condition = Plan.Sites[D.Nodes[I].Site];
      Condition.Decision = Plan.Decisions.size();
      Condition.Node = I;
    }
    Plan.ActionBytes += S.Branches;
    Plan.Sites.push_back(std::move(S));
    Plan.Decisions.push_back(std::move(D));
  }
}

// Emits the struct pen_decision of each decision of the plan.
void makeDecisions(Context &X, FunctionPlan &Plan, GlobalVariable *Actions) {
  for (Decision &D : Plan.Decisions) {
    std::vector<Constant *> Nodes;
    for (const DecisionNode &N : D.Nodes)
      Nodes.push_back(Record(X.C,
                             FIELD(pen_node, actions, actionsOf(X, Plan.Sites[N.Site], Actions)),
                             FIELD(pen_node, next_true, N.Next[0]),
                             FIELD(pen_node, next_false, N.Next[1]),
                             FIELD(pen_node, on_true, N.OnTrue),
                             FIELD(pen_node, unused, 0))
                          .Init);
    Constant *Init = Record(X.C,
                            FIELD(pen_decision, actions, actionsOf(X, Plan.Sites[D.Site], Actions)),
                            FIELD(pen_decision, nodes, X.array(Nodes)),
                            FIELD(pen_decision, n_nodes, D.Nodes.size()),
                            FIELD(pen_decision, n_vectors, D.Vectors))
                         .Init;
    D.Record = new GlobalVariable(X.M, Init->getType(), true, GlobalValue::PrivateLinkage, Init, "__pen_decision");
  }
}

} // namespace pen
