// Proposes candidates for loop invariants: simple facts about the values that a loop changes. Each has two conditions:
// that the fact is false when control enters the loop, and that one iteration makes it false. The prover assumes only
// the candidates for which solvers prove both impossible.
#include "smt.h"

namespace pen::smt {
using namespace llvm;

// The maximum number of bounds of one value, and of candidates of one function.
static constexpr size_t MostBounds = 4;
static constexpr unsigned MostCandidates = 400;

// A fact about a value: its text, and its formula.
struct Fact {
  std::string Text;
  std::function<Term(const Val &)> Of;
};

static Term atMost(Translator &X, const Val &A, const Val &B, bool Signed, bool Strict) {
  if (A.isFloat()) return apply(Strict ? "fp.lt" : "fp.leq", {X.floatOf(A), X.floatOf(B)});
  std::string Order = Signed ? "bvs" : "bvu";
  return apply(Order + (Strict ? "lt" : "le"), {A.Text, B.Text});
}

static Val zeroOf(const Sort &S) {
  if (S.K == Sort::Bits) return Val::scalar(S, literal(APInt(S.Width, 0)));
  return Val::scalar(S, "(_ +zero " + std::to_string(S.Exponent) + " " + std::to_string(S.Mantissa) + ")");
}

// Adds facts that compare the value with another one, which does not change in the loop.
static void addOrders(Translator &X, std::vector<Fact> &All, const Val &With, const std::string &Name,
                      bool AlsoUnsigned) {
  for (bool Signed : {true, false}) {
    if (!Signed && (With.isFloat() || !AlsoUnsigned)) break;
    std::string Order = Signed ? "" : " without sign";
    for (bool Strict : {false, true}) {
      All.push_back({(Strict ? "greater than " : "at least ") + Name + Order,
                     [=, &X](const Val &V) { return atMost(X, With, V, Signed, Strict); }});
      All.push_back({(Strict ? "less than " : "at most ") + Name + Order,
                     [=, &X](const Val &V) { return atMost(X, V, With, Signed, Strict); }});
    }
  }
}

static std::vector<Fact> factsOf(Translator &X, const Val &Initial, ArrayRef<Val> Bounds) {
  std::vector<Fact> All;
  addOrders(X, All, zeroOf(Initial.S), "0", false);
  bool IsZero = Initial.Text == zeroOf(Initial.S).Text;
  if (!IsZero) addOrders(X, All, Initial, "its first value", true);
  if (Initial.isFloat()) {
    All.push_back({"no NaN", [&X](const Val &V) { return negate(apply("fp.isNaN", {X.floatOf(V)})); }});
    All.push_back({"finite", [&X](const Val &V) {
                     return negate(either(apply("fp.isNaN", {X.floatOf(V)}), apply("fp.isInfinite", {X.floatOf(V)})));
                   }});
    Val Zero = zeroOf(Initial.S);
    All.push_back(
        {"at least 0 or NaN", [&X, Zero](const Val &V) { return negate(apply("fp.lt", {X.floatOf(V), Zero.Text})); }});
  }
  for (const Val &Bound : Bounds) {
    addOrders(X, All, Bound, "a bound", true);
    if (Initial.isFloat()) continue;
    // If the initial value is beyond the bound already, the loop body is not executed.
    Term First = Initial.Text;
    for (bool IsLower : {false, true})
      All.push_back(
          {std::string("its first value or at ") + (IsLower ? "least" : "most") + " a bound", [=, &X](const Val &V) {
             Term Within = IsLower ? atMost(X, Bound, V, true, false) : atMost(X, V, Bound, true, false);
             return either(apply("=", {V.Text, First}), Within);
           }});
  }
  return All;
}

// The values that the loop compares the changed value with, before or after it changes.
std::vector<Val> Frame::boundsOf(const Cut &C) {
  std::vector<Val> Bounds;
  auto IsOwn = [&](const Value *V) { return V == C.Phi || is_contained(C.Phi->incoming_values(), V); };
  for (const BasicBlock *BB : Loops[C.Phi->getParent()])
    for (const Instruction &I : *BB) {
      if (!isa<CmpInst>(I)) continue;
      for (unsigned K : {0, 1}) {
        const Value *Other = I.getOperand(1 - K);
        auto *Defined = dyn_cast<Instruction>(Other);
        if (!IsOwn(I.getOperand(K)) || (Defined && Loops[C.Phi->getParent()].contains(Defined->getParent()))) continue;
        Val Bound = valueOf(Other);
        bool IsKnown = any_of(Bounds, [&](const Val &V) { return same(V, Bound); });
        bool IsZero = Bound.Text == zeroOf(C.Changed.S).Text;
        if (Bound.K == Val::Scalar && Bound.S == C.Changed.S && Bound.Poison == "false" && !IsKnown && !IsZero &&
            Bounds.size() < MostBounds)
          Bounds.push_back(Bound);
      }
    }
  return Bounds;
}

// The condition that control takes an edge to the header and the fact is false then. `Closing` selects the edges that
// close the loop, else those that enter it.
Term Frame::violation(const Cut &C, bool Closing, const std::function<Term(const Val &)> &Of) {
  const BasicBlock *Header = C.Phi->getParent();
  Term Any = "false";
  std::set<const BasicBlock *> Seen;
  for (const BasicBlock *From : predecessors(Header)) {
    auto Edge = Edges.find({From, Header});
    if (Edge == Edges.end() || !Seen.insert(From).second || (Back.count({From, Header}) > 0) != Closing) continue;
    Val V = valueOf(C.Phi->getIncomingValueForBlock(From));
    bool IsKnown = V.K == Val::Scalar && V.S == C.Changed.S;
    Term Lost = IsKnown ? X.S.defineBool(either(V.Poison, negate(X.S.defineBool(Of(V))))) : Term("true");
    Any = X.S.defineBool(either(Any, both(Edge->second, Lost)));
  }
  return Any;
}

void Frame::proposeInvariants() {
  for (const Cut &C : Cuts) {
    const Val &U = C.Changed;
    if (!(U.isBits() && U.S.Width > 1) && !U.isFloat()) continue;
    if (C.Initial.K != Val::Scalar || !(C.Initial.S == U.S) || C.Initial.Poison != "false") continue;
    Val Initial = C.Initial;
    if (Initial.isFloat()) Initial.Text = X.floatOf(Initial);
    for (const Fact &Each : factsOf(X, Initial, boundsOf(C))) {
      if (X.Candidates >= MostCandidates) return;
      std::string Name = "inv" + std::to_string(++X.Candidates);
      // If control does not reach the loop, the value is arbitrary, and contradictory facts would have to hold there.
      Term Holds = either(negate(reachOf(C.Phi->getParent())), X.S.defineBool(Each.Of(U)));
      X.S.invariant(Name, U.Text.empty() ? U.Bits : U.Text, C.Loop, X.S.defineBool(Holds), C.Name + " is " + Each.Text);
      X.S.goal(Name + "_base", violation(C, false, Each.Of));
      X.S.goal(Name + "_step", violation(C, true, Each.Of));
    }
  }
}

} // namespace pen::smt
