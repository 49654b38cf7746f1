// Writes the queries about mutants (`penfuzz mutate`). Each mutant has two conditions. If one of them is never true,
// the mutant is equivalent to the original:
//
//   infects_P_K   control reaches point P, and mutant K computes another value there than the original. If only
//                 comparisons use the value: the result of one of them is another
//   differs_P_K   the mutant, in a copy of the function, has another result than the original, or other events (see
//                 Pairing)
//
// docs/mutation.md has the argument.
#include "smt.h"

#include "../code_mutants/code_mutants.h"

#include "llvm/IR/InstIterator.h"

namespace pen::smt {
using namespace llvm;

// The variable with the requested mutants, one per line: the symbol of the function, the number of the point in it, and
// that of the mutant.
static constexpr const char *WantedMutants = "PEN_PROOFS_MUTANTS";

using Numbers = std::set<std::pair<unsigned, unsigned>>;

static std::map<std::string, Numbers> wantedMutants() {
  std::map<std::string, Numbers> All;
  for (const std::string &Line : linesOf(WantedMutants)) {
    SmallVector<StringRef, 3> Words;
    StringRef(Line).split(Words, ' ');
    unsigned Point = 0, Number = 0;
    if (Words.size() == 3 && !Words[1].getAsInteger(10, Point) && !Words[2].getAsInteger(10, Number))
      All[Words[0].str()].insert({Point, Number});
  }
  return All;
}

// The called function, by the name of its variant for double.
static std::string calleeOf(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  if (!Callee) return "";
  StringRef Name = Callee->getName();
  if (Name.consume_front("llvm.")) return Name.split('.').first.str();
  if (Call.getType()->isFloatTy()) Name.consume_back("f");
  return Name.str();
}

// Whether the function reads the exception flags that operations raise.
static bool readsFlags(const Function &F) {
  static const std::set<StringRef> Readers = {"fetestexcept", "fegetexceptflag", "feholdexcept",
                                              "fegetenv",     "feupdateenv",     "feenableexcept"};
  return any_of(instructions(F), [](const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call) return false;
    StringRef Name = Call->getCalledFunction() ? Call->getCalledFunction()->getName() : "";
    return Call->isInlineAsm() || Readers.count(Name) || Name.starts_with("llvm.get.fp");
  });
}

// Whether a call treats all NaN alike: its result is a NaN, or does not depend on which NaN an argument is.
static bool isBlindToNaN(const CallBase &Call, const SmallPtrSetImpl<const Function *> &Known) {
  static const std::set<std::string> Blind = {
      "sin",   "cos",     "tan",   "asin", "acos",  "atan",  "atan2",     "sinh",   "cosh",      "tanh",
      "exp",   "exp2",    "expm1", "log",  "log2",  "log10", "log1p",     "pow",    "sqrt",      "cbrt",
      "hypot", "fabs",    "floor", "ceil", "trunc", "rint",  "nearbyint", "round",  "roundeven", "fmod",
      "fma",   "fmuladd", "erf",   "erfc", "fmin",  "fmax",  "minnum",    "maxnum", "ldexp"};
  if (isa<DbgInfoIntrinsic>(Call) || Known.count(Call.getCalledFunction())) return true;
  if (auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call); Intrinsic && Intrinsic->isAssumeLikeIntrinsic()) return true;
  if (Blind.count(calleeOf(Call))) return true;
  bool TakesFloats = any_of(Call.args(), [](const Use &U) { return U->getType()->isFPOrFPVectorTy(); });
  return Call.doesNotAccessMemory() && !TakesFloats;
}

// Whether the behaviour of these functions never depends on the sign or the payload of a NaN.
static bool areBlindToNaN(const SmallPtrSetImpl<const Function *> &Functions) {
  bool Stores = false, Reads = false;
  for (const Function *F : Functions)
    for (const Instruction &I : instructions(*F)) {
      if (isa<BitCastInst>(I) && I.getOperand(0)->getType()->isFPOrFPVectorTy()) return false;
      if (auto *Call = dyn_cast<CallBase>(&I); Call && !isBlindToNaN(*Call, Functions)) return false;
      if (auto *Store = dyn_cast<StoreInst>(&I)) Stores |= Store->getValueOperand()->getType()->isFPOrFPVectorTy();
      if (isa<LoadInst>(I)) Reads |= !I.getType()->isFPOrFPVectorTy() && !I.getType()->isPointerTy();
    }
  return !Stores || !Reads;
}

// Whether every edge of the control flow has a condition.
static bool hasPlainControl(const SmallPtrSetImpl<const Function *> &Functions) {
  return all_of(Functions, [](const Function *F) {
    return all_of(*F, [](const BasicBlock &BB) {
      return isa<ReturnInst, BranchInst, SwitchInst, UnreachableInst>(BB.getTerminator());
    });
  });
}

namespace {

// A mutant at its point: pairs of an original value and the mutated one. It is infected if the values of one pair
// differ.
struct Probe {
  unsigned Point, Number;
  Term When;
  std::vector<std::pair<Val, Val>> Values;
};

class MutantQueries {
public:
  MutantQueries(const FunctionPlan &Plan, Numbers Wanted)
      : F(*Plan.F), Points(mutants::pointsOf(F, Plan)), Wanted(std::move(Wanted)), X(*F.getParent()) {
    std::set<const Function *> Seen;
    X.ChangesMode = changesMode(F, Seen);
    X.HasExactFloats = hasExactFloats(F);
    X.HasGlobalInputs = std::getenv(GlobalInputs);
    X.Unwritten = linesOf(Others);
    X.WithInvariants = false;
    X.Pair = &Pair;
    X.Active.push_back(&F);
    for (Argument &A : F.args()) Args.push_back(X.argument(A.getType(), A.getArgNo()));
    Start = X.initialMemory();
    for (unsigned P = 0; P < Points.size(); P++) PointsAt[Points[P].At].push_back(P);
  }

  void write(const FunctionPlan &Plan, StringRef To) {
    auto *Scratch = BasicBlock::Create(F.getContext(), "", &F);
    Outcome Before = original(*Scratch);
    Scratch->dropAllReferences();
    Scratch->eraseFromParent();
    if (any_of(functions(), [](const Function *Each) { return readsFlags(*Each); })) return;
    X.Assumptions.insert("nothing reads the floating-point exceptions that operations raise");
    bool AnyNaN = areBlindToNaN(functions());
    for (const Probe &P : Probes) {
      Term Any = "false";
      for (auto &[Original, Mutated] : P.Values) Any = either(Any, X.differ(Original, Mutated, AnyNaN));
      goal("infects", P.Point, P.Number, both(P.When, Any));
    }
    if (hasPlainControl(functions()) && !X.IsIrreducible) {
      X.Assumptions.insert(
          "a function that is not translated does the same for the same arguments and the same memory");
      X.Assumptions.insert("an operation on the same operands has the same NaN each time");
      for (auto &[P, K] : Wanted)
        if (P < Points.size() && K < Points[P].All.size()) goal("differs", P, K, difference(Before, P, K));
    }
    for (auto &[P, K] : Wanted)
      if (P < Points.size() && K < Points[P].All.size())
        X.S.comment("mutant " + std::to_string(P) + " " + std::to_string(K) + " " + Points[P].All[K].Operator + "\t" +
                    Points[P].All[K].Text);
    smt::write(X, Plan, To);
  }

private:
  Function &F;
  std::vector<mutants::Point> Points;
  Numbers Wanted;
  Translator X;
  Pairing Pair;
  std::vector<Val> Args;
  Memory Start;
  std::map<const Instruction *, std::vector<unsigned>> PointsAt;
  std::vector<Probe> Probes;

  SmallPtrSet<const Function *, 8> functions() const {
    SmallPtrSet<const Function *, 8> All(X.Inlined.begin(), X.Inlined.end());
    All.insert(&F);
    return All;
  }

  void goal(StringRef What, unsigned P, unsigned K, const Term &Body) {
    X.S.goal((What + "_" + std::to_string(P) + "_" + std::to_string(K)).str(), X.S.defineBool(Body));
  }

  Outcome original(BasicBlock &Scratch) {
    Frame Top(X, F, Args, "true", Start, 0);
    Top.Watch = [&](const Instruction &I, bool IsAfter) {
      auto Found = PointsAt.find(&I);
      if (Found == PointsAt.end() || isa<StoreInst>(I) == IsAfter) return;
      for (unsigned P : Found->second)
        if (Points[P].ConstantOperand == ~0u) probe(Top, Scratch, P);
    };
    Outcome Before = Top.run();
    for (unsigned P = 0; P < Points.size(); P++)
      if (Points[P].ConstantOperand != ~0u) probeConstant(Top, P);
    return Before;
  }

  // Notes the values of the mutants of an instruction: one that was just translated, or a store that is translated
  // next.
  void probe(Frame &Top, BasicBlock &Scratch, unsigned P) {
    Instruction &At = *Points[P].At;
    auto *Store = dyn_cast<StoreInst>(&At);
    // A mutant of an instruction with other effects than its value would omit these effects.
    if (!Store && (At.mayHaveSideEffects() || At.getType()->isVoidTy())) return;
    Term When = Top.reachOf(At.getParent());
    for (unsigned K = 0; K < Points[P].All.size(); K++) {
      const mutants::Mutant &M = Points[P].All[K];
      if (!Wanted.count({P, K})) continue;
      if (Store) {
        Probes.push_back({P, K, When, {{Top.known(Store->getValueOperand()), Top.contentsAt(*Store)}}});
      } else if (M.Emit) {
        Instruction *Last = Scratch.empty() ? nullptr : &Scratch.back();
        IRBuilder<> B(&Scratch);
        auto Results = mutatedValues(B, Points[P], M);
        auto Emitted = make_range(Last ? std::next(Last->getIterator()) : Scratch.begin(), Scratch.end());
        bool IsPure = none_of(Emitted, [](const Instruction &I) {
          return I.mayHaveSideEffects() || (isa<CallBase>(I) && !isa<IntrinsicInst>(I));
        });
        if (!IsPure || Results.empty()) continue;
        Top.translateScratch(Emitted.begin(), Emitted.end());
        Probe All{P, K, When, {}};
        for (auto &[Original, Mutated] : Results) All.Values.push_back({Top.known(Original), Top.known(Mutated)});
        Probes.push_back(std::move(All));
      }
    }
  }

  // Emits the values that show whether a mutant is infected, each for the original and for the mutant.
  static std::vector<std::pair<Value *, Value *>> mutatedValues(IRBuilder<> &B, const mutants::Point &P,
                                                                const mutants::Mutant &M) {
    Value *Result = M.Emit(B);
    if (!Result) return {};
    if (P.Decides.Comparisons.empty()) return {{P.At, Result}};
    std::vector<std::pair<Value *, Value *>> All;
    auto With = [&](const CmpInst &Cmp, Value *V) { return mutants::decide(B, P.Decides, Cmp, P.At, V); };
    for (const CmpInst *Cmp : P.Decides.Comparisons) All.push_back({With(*Cmp, P.At), With(*Cmp, Result)});
    return All;
  }

  // A mutated constant always differs from the original.
  void probeConstant(const Frame &Top, unsigned P) {
    auto *Phi = dyn_cast<PHINode>(Points[P].At);
    Term When = Phi ? Top.reachOf(Phi->getIncomingBlock(Points[P].ConstantOperand), Phi->getParent())
                    : Top.reachOf(Points[P].At->getParent());
    for (unsigned K = 0; K < Points[P].All.size(); K++)
      if (Wanted.count({P, K})) Probes.push_back({P, K, When, {{Val(), Val()}}});
  }

  Term difference(const Outcome &Before, unsigned P, unsigned K) {
    ValueToValueMapTy Map;
    Function *Copy = mutants::mutated(F, Points[P], Points[P].All[K], Map);
    std::map<const Value *, const Value *> OriginalOf{{Copy, &F}};
    for (BasicBlock &BB : F) {
      if (Value *Mapped = Map.lookup(&BB)) OriginalOf[Mapped] = &BB;
      for (Instruction &I : BB)
        if (Value *Mapped = &I == Points[P].At && Points[P].ConstantOperand == ~0u ? nullptr : Map.lookup(&I))
          OriginalOf[Mapped] = &I;
    }
    Pair.begin(std::move(OriginalOf));
    X.LinesBefore = X.S.size();
    unsigned FirstOwn = X.Objects.size();
    Outcome After = Frame(X, *Copy, Args, "true", Start, 0).run();
    Copy->eraseFromParent();
    bool AnyNaN = areBlindToNaN(functions());
    Term Any = exclusive(Before.When, After.When);
    if (Before.Returns && After.Returns && !F.getReturnType()->isVoidTy())
      Any = either(Any, X.S.defineBool(both(Before.When, X.differ(Before.Result, After.Result, true))));
    Any = X.S.defineBool(Any);
    for (auto &[Where, E] : Pair.Original) {
      if (Pair.isRepeated(Where)) continue;
      auto Found = Pair.Mutant.find(Where);
      Any = X.S.defineBool(either(Any, Found == Pair.Mutant.end() ? onlyIn(E) : unequal(E, Found->second, AnyNaN)));
    }
    for (auto &[Where, E] : Pair.Mutant)
      if (!Pair.Original.count(Where)) Any = X.S.defineBool(either(Any, onlyIn(E)));
    for (auto &[One, Other, Acts] : Pair.Shifted) Any = X.S.defineBool(either(Any, both(exclusive(One, Other), Acts)));
    X.removeObjectsFrom(FirstOwn);
    return Any;
  }

  Term exclusive(const Term &A, const Term &B) {
    return A == B ? Term("false") : X.S.defineBool(apply("xor", {A, B}));
  }

  static Term onlyIn(const Pairing::Event &E) { return E.IsEffect ? E.When : Term("false"); }

  Term unequal(const Pairing::Event &A, const Pairing::Event &B, bool AnyNaN) {
    Term Any = A.IsEffect || B.IsEffect ? exclusive(A.When, B.When) : Term("false");
    if (A.Operands.size() != B.Operands.size()) return either(Any, A.When);
    Term Both = X.S.defineBool(both(A.When, B.When)), Differ = "false";
    for (size_t I = 0; I < A.Operands.size(); I++)
      Differ = X.S.defineBool(either(Differ, X.differ(A.Operands[I], B.Operands[I], AnyNaN)));
    return X.S.defineBool(either(Any, X.S.defineBool(both(Both, Differ))));
  }
};

} // namespace

// Translates code that is not part of the function. Values that it reads are not compared with another translation.
void Frame::translateScratch(BasicBlock::const_iterator From, BasicBlock::const_iterator To) {
  if (X.Pair) X.Pair->nowhere();
  Pairing *Kept = std::exchange(X.Pair, nullptr);
  for (; From != To; ++From) translate(*From);
  X.Pair = Kept;
}

// The value that a store overwrites.
Val Frame::contentsAt(const StoreInst &Store) {
  if (X.Pair) X.Pair->nowhere();
  if (!Store.isSimple()) return Val();
  return X.load(Now, valueOf(Store.getPointerOperand()), Store.getValueOperand()->getType(), "memory" + place(Store));
}

bool writeMutants(ArrayRef<FunctionPlan> Plans, StringRef To) {
  if (!std::getenv(WantedMutants)) return false;
  std::map<std::string, Numbers> Wanted = wantedMutants();
  for (const FunctionPlan &Plan : Plans) {
    auto Found = Wanted.find(Plan.F->getName().str());
    if (Found == Wanted.end() || !hasMutants(*Plan.F)) continue;
    MutantQueries(Plan, Found->second).write(Plan, To);
  }
  return true;
}

} // namespace pen::smt
