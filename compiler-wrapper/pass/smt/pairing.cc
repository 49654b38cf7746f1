// Compares two translations step by step: the original and a mutant.
#include "smt.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/InlineAsm.h"

namespace pen::smt {
using namespace llvm;

// The context of calls that only the mutant has.
static constexpr unsigned OnlyInMutant = ~0u;

void Pairing::begin(std::map<const Value *, const Value *> Known) {
  IsOriginal = false;
  OriginalOf = std::move(Known);
  Mutant.clear();
  Repeated.clear();
  Shifted.clear();
  Added = 0;
  nowhere();
}

// Only the function itself is copied; its callees are the same.
const Value *Pairing::inOriginal(const Value *V) const {
  if (IsOriginal || Context != 0 || !V) return V;
  auto Found = OriginalOf.find(V);
  return Found == OriginalOf.end() ? nullptr : Found->second;
}

unsigned Pairing::contextOf(unsigned Outer, const Value *Call) {
  Context = Outer;
  auto [Found, IsNew] = Contexts.try_emplace({Outer, inOriginal(Call)}, OnlyInMutant);
  if (IsNew && IsOriginal) Found->second = Contexts.size();
  return Found->second;
}

std::optional<bool> Pairing::wasInlined(unsigned Outer, const Value *Call) {
  Context = Outer;
  const Value *Before = Outer == OnlyInMutant ? nullptr : inOriginal(Call);
  if (IsOriginal || !Before) return std::nullopt;
  auto Found = Contexts.find({Outer, Before});
  return Found != Contexts.end() && Found->second != OnlyInMutant;
}

static bool same(const Memory &A, const Memory &B) {
  auto AreSame = [](auto &One, auto &Other) {
    return One.first == Other.first && One.second.Size == Other.second.Size &&
           smt::same(One.second.Value, Other.second.Value);
  };
  return A.Epoch == B.Epoch && A.Own == B.Own && A.Clean == B.Clean && A.Cells.size() == B.Cells.size() &&
         std::equal(A.Cells.begin(), A.Cells.end(), B.Cells.begin(), AreSame);
}

void Pairing::record(unsigned Inside, Start From, const Outcome &Done) {
  if (IsOriginal) Calls.insert_or_assign(Inside, Call{std::move(From), Done, unsigned(Contexts.size())});
}

const Outcome *Pairing::repeat(unsigned Inside, const Start &From) {
  auto Found = IsOriginal || Inside == OnlyInMutant ? Calls.end() : Calls.find(Inside);
  if (Found == Calls.end()) return nullptr;
  const Start &Known = Found->second.From;
  auto AreSame = [](const Val &A, const Val &B) { return smt::same(A, B); };
  if (!std::equal(Known.Args.begin(), Known.Args.end(), From.Args.begin(), From.Args.end(), AreSame) ||
      !same(Known.Before, From.Before))
    return nullptr;
  for (unsigned Each = Inside; Each <= Found->second.Last; Each++) Repeated.insert(Each);
  if (Known.When != From.When) Shifted.push_back({Known.When, From.When, Found->second.Done.Acts});
  return &Found->second.Done;
}

void Pairing::at(unsigned NewContext, const Value *V, const Value *Before) {
  Context = NewContext, Ordinal = 0;
  At = Context == OnlyInMutant ? nullptr : inOriginal(V);
  From = inOriginal(Before);
  if (Before && !From) At = nullptr;
}

Val Pairing::value(const std::function<Val()> &Make, const std::string &Extra) {
  if (!At) return Make();
  Key Here = next(Extra);
  if (IsOriginal) return Values[Here] = Make();
  auto Found = Values.find(Here);
  return Found == Values.end() ? Make() : Found->second;
}

unsigned Pairing::epoch(unsigned New) {
  if (!At) return New;
  Key Here = next("");
  if (IsOriginal) return Epochs[Here] = New;
  auto Found = Epochs.find(Here);
  return Found == Epochs.end() ? New : Found->second;
}

unsigned Pairing::foreignAt(const Term &Address, const std::function<unsigned()> &Make) {
  auto [Found, IsNew] = Foreign.try_emplace(Address, 0);
  if (IsNew) Found->second = Make();
  return Found->second;
}

void Pairing::removeObjectsFrom(unsigned First) {
  removeIf(Foreign, [&](auto &Each) { return Each.second >= First; });
}

void Pairing::note(Event E) {
  Events &All = IsOriginal ? Original : Mutant;
  Key Here{At ? Context : OnlyInMutant, At, From, At ? 0 : ++Added, ""};
  while (!All.emplace(Here, E).second) std::get<3>(Here)++;
}

void Frame::at(const Value *V) const {
  if (X.Pair) X.Pair->at(Context, V);
}

// A call that is translated in place. Its body is translated as if control reached the call unconditionally, so that
// original and mutant share the translation if only the conditions differ.
Outcome Frame::compared(const CallBase &I, Function &Callee, std::vector<Val> Passed) {
  Term Here = endOf(I.getParent());
  Pairing::Start From{X.S.defineBool(both(Outside, Here)), std::move(Passed), Now};
  unsigned Inside = X.Pair->contextOf(Context, &I);
  Outcome Done;
  if (const Outcome *Known = X.Pair->repeat(Inside, From)) {
    Done = *Known;
  } else {
    Frame Inner(X, Callee, From.Args, "true", Now, Depth + 1, Inside);
    Inner.Outside = From.When;
    Done = Inner.runInside();
    Done.Acts = Inner.Acts;
    X.Pair->record(Inside, std::move(From), Done);
  }
  Acts = X.S.defineBool(either(Acts, X.S.defineBool(both(Here, Done.Acts))));
  Done.When = X.S.defineBool(both(Here, Done.When));
  return Done;
}

void Frame::note(const Term &When, bool IsEffect, std::vector<Val> Operands) {
  if (IsEffect) Acts = X.S.defineBool(either(Acts, When));
  X.Pair->note({X.S.defineBool(both(Outside, When)), IsEffect, std::move(Operands)});
}

void Frame::noteEvent(const Instruction &I, bool IsEffect) {
  if (!X.Pair) return;
  std::vector<Val> Operands;
  for (const Use &U : I.operands()) {
    Type *T = U->getType();
    if (T->isMetadataTy() || T->isLabelTy() || T->isTokenTy() || isa<InlineAsm>(U)) continue;
    Operands.push_back(valueOf(U));
  }
  note(reachOf(I.getParent()), IsEffect, std::move(Operands));
}

// Notes the values with which each loop begins, and with which it closes a round.
void Frame::noteRounds() {
  if (!X.Pair) return;
  for (auto &[Header, Loop] : Loops) {
    std::set<const BasicBlock *> Seen;
    for (const BasicBlock *From : predecessors(Header)) {
      Term When = reachOf(From, Header);
      if (!Seen.insert(From).second || When == "false") continue;
      std::vector<Val> Operands;
      for (const PHINode &Phi : Header->phis()) Operands.push_back(valueOf(Phi.getIncomingValueForBlock(From)));
      X.Pair->at(Context, Header, From);
      note(When, true, std::move(Operands));
    }
  }
}

static Term unequal(const Term &A, const Term &B) {
  return A == B ? Term("false") : apply("not", {apply("=", {A, B})});
}

Term Translator::differ(const Val &A, const Val &B, bool AnyNaN) {
  if (A.K == Val::Unknown || A.K != B.K || A.Undefined || B.Undefined) return "true";
  if (A.K == Val::Aggregate) {
    if (A.Parts.size() != B.Parts.size()) return "true";
    Term Any = "false";
    for (size_t I = 0; I < A.Parts.size(); I++) Any = S.defineBool(either(Any, differ(A.Parts[I], B.Parts[I], AnyNaN)));
    return Any;
  }
  if (!(A.S == B.S)) return "true";
  // Compilers may choose another value at each use of a poison value.
  Term Poison = S.defineBool(either(A.Poison, B.Poison));
  if (!A.isFloat()) return S.defineBool(either(Poison, unequal(A.Text, B.Text)));
  bool AreBits = !A.Bits.empty() && !B.Bits.empty();
  if (AreBits && (!AnyNaN || A.Bits == B.Bits)) return S.defineBool(either(Poison, unequal(A.Bits, B.Bits)));
  Term One = floatOf(A), Other = floatOf(B);
  if (A.Text == B.Text && !A.Text.empty()) return Poison;
  Term Differ = unequal(One, Other);
  if (!AnyNaN) Differ = either(Differ, apply("fp.isNaN", {One}));
  return S.defineBool(either(Poison, Differ));
}

} // namespace pen::smt
