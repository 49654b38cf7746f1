// Translates calls. Functions of the module are translated in place, up to a depth. Some functions have an exact
// meaning. All others may have any effect that code outside of the module can have.
#include "callees.h"

#include "llvm/IR/Constants.h"

namespace pen::smt {
using namespace llvm;

// The limits of translation in place: the depth of nested calls, and the number of lines in the script.
static constexpr unsigned MostDepth = 4;
static constexpr size_t MostLines = 20000;

// The called function of the C library, or the one that an intrinsic corresponds to, by the name of its variant for
// double.
std::optional<StringRef> Frame::libraryName(const CallBase &I) const {
  const Function *Callee = I.getCalledFunction();
  if (!Callee || !Callee->isDeclaration() || I.isNoBuiltin() || F.hasFnAttribute("no-builtins") || I.isStrictFP())
    return std::nullopt;
  StringRef Name = Callee->getName();
  if (Name.consume_front("llvm.")) {
    Name = Name.split('.').first;
    return Name == "minnum" ? "fmin" : Name == "maxnum" ? "fmax" : Name;
  }
  if (I.getType()->isFloatTy() && !Name.consume_back("f")) return std::nullopt;
  if (I.getType()->isX86_FP80Ty() && !Name.consume_back("l")) return std::nullopt;
  return Name;
}

Val Frame::call(const CallBase &I) {
  if (auto *Constrained = dyn_cast<ConstrainedFPIntrinsic>(&I))
    if (std::optional<Val> V = constrained(*Constrained)) return *V;
  if (auto *Intrinsic = dyn_cast<IntrinsicInst>(&I))
    if (std::optional<Val> V = intrinsic(*Intrinsic)) return *V;
  Function *Callee = I.getCalledFunction();
  std::string Name = Callee ? Callee->getName().str() : I.isInlineAsm() ? "inline assembly" : "a pointer";
  std::optional<StringRef> InDouble = libraryName(I);
  if (Callee && !Callee->isIntrinsic()) {
    if (std::optional<Val> V = inlined(I, *Callee)) return *V;
    if (Callee->isDeclaration() && Name == "fegetround")
      if (std::optional<Val> V = roundingMode(I)) return *V;
    if (InDouble)
      if (std::optional<Val> V = mathFunction(I, *InDouble)) return *V;
  }
  if (X.Inside) X.Inside->noteOpen(I);
  unknownCall(I);
  if (I.getType()->isVoidTy()) return Val();
  if (InDouble)
    if (std::optional<Val> V = libraryFunction(I, *InDouble)) return *V;
  return X.shared([&] { return unknown(I, "call of " + Name); });
}

std::optional<Val> Frame::inlined(const CallBase &I, Function &Callee) {
  bool IsKnown = !Callee.isDeclaration() && !Callee.isInterposable() && !Callee.isVarArg() &&
                 Callee.arg_size() == I.arg_size() && Callee.getReturnType() == I.getType() &&
                 !Callee.callsFunctionThatReturnsTwice() && !Callee.getName().starts_with("__pen_");
  X.IsRecursive |= is_contained(X.Active, &Callee);
  if (!IsKnown || Depth >= MostDepth || is_contained(X.Active, &Callee)) return std::nullopt;
  std::optional<bool> Before = X.Pair ? X.Pair->wasInlined(Context, &I) : std::nullopt;
  if (!Before.value_or(X.S.size() - X.LinesBefore <= MostLines)) return std::nullopt;
  std::vector<Val> Passed;
  for (unsigned K = 0; K < I.arg_size(); K++) {
    if (Callee.getArg(K)->getType() != I.getArgOperand(K)->getType() || I.isByValArgument(K)) return std::nullopt;
    Passed.push_back(valueOf(I.getArgOperand(K)));
  }
  X.Inlined.insert(&Callee);
  Outcome Done;
  if (X.Pair) {
    Done = compared(I, Callee, std::move(Passed));
  } else {
    Frame Inner(X, Callee, std::move(Passed), endOf(I.getParent()), Now, Depth + 1);
    Done = Inner.runInside();
  }
  at(&I);
  if (!Done.Returns) {
    unknownCall(I);
    return unknown(I, "call that does not return, of " + Callee.getName().str());
  }
  Now = std::move(Done.After);
  if (Done.CanFail) ReturnedIn[I.getParent()] = Done.When, CanFail = true;
  return Done.Result;
}

// Used instead of run() if another function calls this one.
Outcome Frame::runInside() {
  X.Active.push_back(&F);
  Outcome Done = run();
  if (X.Inside) X.Inside->note(*this, F);
  X.Active.pop_back();
  forgetLocals(Done.After);
  return Done;
}

// Removes the local variables from memory when the function has returned.
void Frame::forgetLocals(Memory &After) const {
  for (unsigned O : Locals) {
    After.Cells.erase(After.Cells.lower_bound({O, INT64_MIN}), After.Cells.lower_bound({O + 1, INT64_MIN}));
    After.Clean.erase(O);
    After.Own.erase(O);
  }
}

void Frame::unknownCall(const CallBase &I) {
  noteEvent(I, I.mayHaveSideEffects());
  if (I.onlyReadsMemory()) return;
  for (const Use &Arg : I.args()) {
    if (!Arg->getType()->isPointerTy()) continue;
    Val V = valueOf(Arg);
    if (V.K != Val::Pointer) return X.forgetAll(Now);
    X.forgetObject(Now, V.Base);
  }
  X.forgetEscaped(Now);
}

// The rounding mode of a function that rounds to an integer; null if it is no such function. "mode" is the mode of the
// environment.
static const char *modeOf(StringRef Name) {
  if (Name == "floor") return "RTN";
  if (Name == "ceil") return "RTP";
  if (Name == "trunc") return "RTZ";
  if (Name == "round") return "RNA";
  if (Name == "roundeven") return "RNE";
  if (Name == "rint" || Name == "nearbyint") return "mode";
  return nullptr;
}

// Translates a function of the C library or an intrinsic that has a meaning in SMT-LIB, by its name for double.
std::optional<Val> Frame::mathFunction(const CallBase &I, StringRef Name) {
  if (!I.getType()->isFloatingPointTy() || I.arg_size() == 0 || !isExact(I)) return std::nullopt;
  Val A = valueOf(I.getArgOperand(0));
  if (!A.isFloat() || I.getArgOperand(0)->getType() != I.getType()) return std::nullopt;
  bool IsKnown = Name == "fabs" || Name == "sqrt" || Name == "copysign" || modeOf(Name);
  if (IsKnown && !isa<IntrinsicInst>(I))
    X.Assumptions.insert(Name.str() + " is the function of the C library, rounded correctly");
  if (Name == "fabs") return signChanged(A, "fp.abs", "bvand", false);
  if (const char *Mode = modeOf(Name)) {
    Term Used = StringRef(Mode) == "mode" ? X.mode(place(I)) : Term(Mode);
    return Val::scalar(A.S, X.S.define(A.S, apply("fp.roundToIntegral", {Used, X.floatOf(A)})), A.Poison);
  }
  if (Name == "sqrt") {
    if (!isa<IntrinsicInst>(I) && !I.onlyReadsMemory()) noteEvent(I), X.forgetEscaped(Now); // it may set errno
    return Val::scalar(A.S, X.S.define(A.S, apply("fp.sqrt", {X.mode(place(I)), X.floatOf(A)})), A.Poison);
  }
  if (Name == "copysign" && I.arg_size() == 2) {
    Val B = valueOf(I.getArgOperand(1));
    if (!B.isFloat() || !(B.S == A.S)) return std::nullopt;
    APInt Sign = APInt::getSignMask(A.S.Width);
    Sort Bits = Sort::bits(A.S.Width);
    Val V = Val::scalar(A.S, "", X.S.defineBool(either(A.Poison, B.Poison)));
    V.Bits = X.S.define(Bits, apply("bvor", {apply("bvand", {X.bitsOf(A), literal(~Sign)}),
                                             apply("bvand", {X.bitsOf(B), literal(Sign)})}));
    return V;
  }
  return std::nullopt;
}

// Translates `fegetround` of the C library, with the values of <fenv.h> on x86-64.
std::optional<Val> Frame::roundingMode(const CallBase &I) {
  if (!I.getType()->isIntegerTy(32) || I.arg_size() != 0 ||
      !StringRef(F.getParent()->getTargetTriple().str()).starts_with("x86_64"))
    return std::nullopt;
  Term Mode = X.mode(place(I)), Value = literal(APInt(32, 0xc00)); // FE_TOWARDZERO
  static constexpr std::pair<const char *, unsigned> Others[] = {{"RTP", 0x800}, {"RTN", 0x400}, {"RNE", 0}};
  for (auto [Name, Number] : Others) Value = choose(apply("=", {Mode, Name}), literal(APInt(32, Number)), Value);
  X.Assumptions.insert("fegetround is the function of the C library");
  return Val::scalar(Sort::bits(32), X.S.define(Sort::bits(32), Value));
}

// Whether the target processor has no fused multiply-add, so that a*b+c is two operations.
static bool hasNoFused(const Function &F) {
  StringRef Triple = F.getParent()->getTargetTriple().str();
  StringRef Features = F.getFnAttribute("target-features").getValueAsString();
  return Triple.starts_with("x86_64") && !Features.contains("+fma") && !Features.contains("+avx512");
}

static Val multiplyAdd(Translator &X, const Val &A, const Val &B, const Val &C, const Term &Mode, bool IsFused) {
  Term Poison = X.S.defineBool(either(either(A.Poison, B.Poison), C.Poison));
  if (IsFused)
    return Val::scalar(A.S, X.S.define(A.S, apply("fp.fma", {Mode, X.floatOf(A), X.floatOf(B), X.floatOf(C)})), Poison);
  Term Product = X.S.define(A.S, apply("fp.mul", {Mode, X.floatOf(A), X.floatOf(B)}));
  return Val::scalar(A.S, X.S.define(A.S, apply("fp.add", {Mode, Product, X.floatOf(C)})), Poison);
}

// `fma` is always fused; `fmuladd` may be.
std::optional<Val> Frame::fused(const CallBase &I, bool Always, const Term &Mode) {
  Val A = valueOf(I.getArgOperand(0)), B = valueOf(I.getArgOperand(1)), C = valueOf(I.getArgOperand(2));
  if (!A.isFloat() || !B.isFloat() || !C.isFloat() || !isExact(I)) return std::nullopt;
  if (!Always && !hasNoFused(F)) return unknown(I, "multiplication and addition that may be fused");
  return multiplyAdd(X, A, B, C, Mode, Always);
}

static Term modeOf(const ConstrainedFPIntrinsic &I, const Term &Dynamic) {
  std::optional<RoundingMode> Mode = I.getRoundingMode();
  if (!Mode || *Mode == RoundingMode::Dynamic) return Dynamic;
  switch (*Mode) {
  case RoundingMode::NearestTiesToEven: return "RNE";
  case RoundingMode::TowardPositive: return "RTP";
  case RoundingMode::TowardNegative: return "RTN";
  case RoundingMode::TowardZero: return "RTZ";
  default: return Dynamic;
  }
}

std::optional<Val> Frame::constrained(const ConstrainedFPIntrinsic &I) {
  if (I.getType()->isVectorTy()) return std::nullopt;
  Term Mode = modeOf(I, X.mode(place(I)));
  const Value *L = I.getArgOperand(0), *R = I.arg_size() > 1 ? I.getArgOperand(1) : nullptr;
  switch (I.getIntrinsicID()) {
  case Intrinsic::experimental_constrained_fadd: return arithmetic(I, Instruction::FAdd, L, R, Mode);
  case Intrinsic::experimental_constrained_fsub: return arithmetic(I, Instruction::FSub, L, R, Mode);
  case Intrinsic::experimental_constrained_fmul: return arithmetic(I, Instruction::FMul, L, R, Mode);
  case Intrinsic::experimental_constrained_fdiv: return arithmetic(I, Instruction::FDiv, L, R, Mode);
  case Intrinsic::experimental_constrained_fma: return fused(I, true, Mode);
  case Intrinsic::experimental_constrained_fmuladd: return fused(I, false, Mode);
  case Intrinsic::experimental_constrained_fptosi: return toInteger(I, L, true);
  case Intrinsic::experimental_constrained_fptoui: return toInteger(I, L, false);
  case Intrinsic::experimental_constrained_sitofp: return toFloat(I, L, true, Mode);
  case Intrinsic::experimental_constrained_uitofp: return toFloat(I, L, false, Mode);
  case Intrinsic::experimental_constrained_fpext:
  case Intrinsic::experimental_constrained_fptrunc: return toOtherFloat(I, L, Mode);
  case Intrinsic::experimental_constrained_fcmp:
  case Intrinsic::experimental_constrained_fcmps:
    return compareFloats(I, cast<ConstrainedFPCmpIntrinsic>(I).getPredicate(), L, R);
  case Intrinsic::experimental_constrained_sqrt: return mathFunction(I, "sqrt");
  case Intrinsic::experimental_constrained_floor: return mathFunction(I, "floor");
  case Intrinsic::experimental_constrained_ceil: return mathFunction(I, "ceil");
  case Intrinsic::experimental_constrained_trunc: return mathFunction(I, "trunc");
  case Intrinsic::experimental_constrained_round: return mathFunction(I, "round");
  case Intrinsic::experimental_constrained_rint: return mathFunction(I, "rint");
  case Intrinsic::experimental_constrained_nearbyint: return mathFunction(I, "nearbyint");
  default: return unknown(I, "call of " + I.getCalledFunction()->getName().str());
  }
}

std::optional<Val> Frame::intrinsic(const IntrinsicInst &I) {
  if (isa<DbgInfoIntrinsic>(I) || I.getType()->isVectorTy()) return Val();
  if (memoryIntrinsic(I)) return Val();
  switch (I.getIntrinsicID()) {
  case Intrinsic::assume:
  case Intrinsic::donothing:
  case Intrinsic::stackrestore:
  case Intrinsic::experimental_noalias_scope_decl: return Val();
  case Intrinsic::expect:
  case Intrinsic::expect_with_probability: return valueOf(I.getArgOperand(0));
  case Intrinsic::fma: return fused(I, true, X.mode(place(I)));
  case Intrinsic::fmuladd: return fused(I, false, X.mode(place(I)));
  case Intrinsic::fabs: return mathFunction(I, "fabs");
  case Intrinsic::sqrt: return mathFunction(I, "sqrt");
  case Intrinsic::floor: return mathFunction(I, "floor");
  case Intrinsic::ceil: return mathFunction(I, "ceil");
  case Intrinsic::trunc: return mathFunction(I, "trunc");
  case Intrinsic::rint: return mathFunction(I, "rint");
  case Intrinsic::nearbyint: return mathFunction(I, "nearbyint");
  case Intrinsic::round: return mathFunction(I, "round");
  case Intrinsic::roundeven: return mathFunction(I, "roundeven");
  case Intrinsic::copysign: return mathFunction(I, "copysign");
  case Intrinsic::is_fpclass: return classOf(I);
  default: return integerIntrinsic(I);
  }
}

bool Frame::memoryIntrinsic(const IntrinsicInst &I) {
  static constexpr uint64_t MostBytes = 512;
  if (I.isLifetimeStartOrEnd()) {
    Val V = valueOf(I.getArgOperand(I.arg_size() - 1));
    V.K == Val::Pointer ? X.forgetObject(Now, V.Base) : X.forgetAll(Now);
    // At the start of its lifetime, the bytes of a local variable are uninitialised.
    bool IsLocal = V.K == Val::Pointer && X.Objects[V.Base].K == Object::Stack;
    if (IsLocal && I.getIntrinsicID() == Intrinsic::lifetime_start) Now.Clean.insert(V.Base);
    return true;
  }
  auto *Change = dyn_cast<MemIntrinsic>(&I);
  if (!Change) return false;
  noteEvent(I);
  Val To = valueOf(Change->getRawDest());
  auto *Length = dyn_cast<ConstantInt>(Change->getLength());
  uint64_t Bytes = Length ? Length->getZExtValue() : MostBytes + 1;
  auto *Copy = dyn_cast<MemTransferInst>(Change);
  auto *Filled = Copy ? nullptr : dyn_cast<ConstantInt>(cast<MemSetInst>(Change)->getValue());
  if (Bytes > MostBytes || (!Copy && !Filled) || To.K != Val::Pointer || !To.Offset) {
    X.forget(Now, To, std::nullopt);
    return true;
  }
  std::vector<std::pair<uint64_t, Val>> Parts; // all parts are read before the first is written
  Val From = Copy ? valueOf(Copy->getRawSource()) : Val();
  for (uint64_t At = 0; At < Bytes;) {
    unsigned Size = Bytes - At >= 8 ? 8 : 1;
    Type *T = IntegerType::get(X.C, Size * 8);
    if (Filled)
      Parts.push_back({At, Val::scalar(Sort::bits(Size * 8), literal(APInt::getSplat(Size * 8, Filled->getValue())))});
    else if (From.K != Val::Pointer) Parts.push_back({At, unknown(I, "memory")});
    else Parts.push_back({At, X.load(Now, X.pointerInto(From, At, literal(APInt(64, At))), T, "memory" + place(I))});
    At += Size;
  }
  for (auto &[At, V] : Parts)
    X.store(Now, X.pointerInto(To, At, literal(APInt(64, At))), V, V.K == Val::Scalar ? V.S.Width / 8 : 1);
  return true;
}

} // namespace pen::smt
