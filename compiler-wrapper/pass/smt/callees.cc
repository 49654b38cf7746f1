// Exceptions of operations in the functions that the proved function calls, in the context of these calls: the operands
// are those that the calls pass, not any. Barr, Vo, Le and Su (Automatic Detection of Floating-Point Exceptions, POPL
// 2013) inline callees for the same reason.
//
// A goal says that an activation of the callee, in a call that is translated in place, raises the exception. It covers
// all executions only if every call of the callee is translated in place. A call that is not makes its callee *open*,
// with all functions that the callee may call. No goals are written about the operations of open functions.
#include "callees.h"

#include "llvm/IR/InstIterator.h"

namespace pen::smt {
using namespace llvm;

CalleeExceptions::CalleeExceptions(ArrayRef<FunctionPlan> All) {
  for (const FunctionPlan &Plan : All) Plans[Plan.F] = &Plan;
}

// Adds the exceptions of one activation.
void CalleeExceptions::note(Frame &Activation, const Function &F) {
  auto Found = Plans.find(&F);
  if (Found == Plans.end()) return;
  const std::vector<Site> &Sites = Found->second->Sites;
  for (unsigned I = 0; I < Sites.size(); I++) {
    if (!Sites[I].isOperation()) continue;
    for (unsigned K = 0; K < Sites[I].Branches; K++) {
      if (!(Sites[I].Possible >> K & 1)) continue;
      std::optional<Term> Is = Activation.raises(Sites[I], K);
      auto [Known, IsNew] = Raised.insert({{&F, I, K}, Is});
      if (IsNew) continue;
      // A condition that cannot be stated for one activation cannot be stated for all.
      Known->second = Known->second && Is ? std::optional(either(*Known->second, *Is)) : std::nullopt;
    }
  }
}

// Notes a call that is not translated in place.
void CalleeExceptions::noteOpen(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  if (Callee && !Callee->isDeclaration()) return open(*Callee);
  // Functions of the C library call functions of the program only through pointers that are passed to them.
  auto IsFunction = [](const Use &U) { return isa<Function>(U->stripPointerCasts()); };
  bool IsLibrary = Callee && (Callee->isIntrinsic() || Callee->hasFnAttribute("pen-library") ||
                              Callee->getName() == "abort" || Callee->getName() == "exit");
  if (IsLibrary && none_of(Call.args(), IsFunction)) return;
  for (const Function &F : *Call.getModule()) {
    if (F.isDeclaration()) continue;
    // A pointer to a function may come from other code, which knows all functions with external linkage.
    bool IsVisible = !F.hasLocalLinkage() || F.hasAddressTaken();
    bool HasType = Callee || Call.isInlineAsm() || F.getFunctionType() == Call.getFunctionType();
    if (IsVisible && HasType) open(F);
  }
  CallsPointers |= !Callee;
}

void CalleeExceptions::open(const Function &F) {
  if (!Open.insert(&F).second) return;
  for (const Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallBase>(&I)) noteOpen(*Call);
}

// Writes the goals `raise_in_SYMBOL_SITE_EXCEPTION`. A comment has the place of each site.
void CalleeExceptions::write(Translator &X) const {
  if (CallsPointers) X.Assumptions.insert("a call through a pointer calls a function of its type");
  auto IsPlain = [](char C) { return isAlnum(C) || C == '_' || C == '.' || C == '$'; };
  for (const auto &[Key, Is] : Raised) {
    auto [F, Number, Exception] = Key;
    StringRef Symbol = F->getName();
    if (!Is || Open.count(F) || !all_of(Symbol, IsPlain)) continue;
    const DebugLoc &L = Plans.find(F)->second->Sites[Number].Where;
    X.S.comment("inside " + Symbol.str() + " " + std::to_string(Number) + " " + std::to_string(L ? L.getLine() : 0) +
                " " + std::to_string(L ? L.getCol() : 0));
    X.S.goal("raise_in_" + Symbol.str() + "_" + std::to_string(Number) + "_" + std::to_string(Exception), *Is);
  }
}

} // namespace pen::smt
