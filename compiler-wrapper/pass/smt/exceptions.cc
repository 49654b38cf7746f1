// Translates floating-point exceptions of operations with finite operands (IEEE 754, Sect. 7). If the exact condition
// would need the unrounded result, a weaker condition replaces it: the weaker one holds whenever the exact one does, so
// its unsatisfiability still proves that no execution raises the exception.
#include "smt.h"

#include "../../runtime/functions.h"

#include <cmath>

namespace pen::smt {
using namespace llvm;

static Term isFinite(const Term &A) { return negate(either(apply("fp.isNaN", {A}), apply("fp.isInfinite", {A}))); }
static Term isZero(const Term &A) { return apply("fp.isZero", {A}); }

// Operands and result of an operation. For a unary operation, B is A. `Rounding` is the rounding mode of a conversion
// to an integer.
struct Computed {
  Term A, B, Result, Rounding;
};

// When rounding to nearest, the result of an overflow is infinity. In other modes it may be the largest number, which
// is also a possible exact result.
static Term overflows(const Computed &V, Sort S, Type *T, bool ChangesMode) {
  Term Largest = literal(APFloat::getLargest(T->getFltSemantics()), S);
  Term IsLargest = apply("fp.eq", {apply("fp.abs", {V.Result}), Largest});
  Term Truncates = ChangesMode ? Term("true") : negate(apply("=", {"mode", "RNE"}));
  return either(apply("fp.isInfinite", {V.Result}), both(Truncates, IsLargest));
}

// The result is tiny, or the least normal number, to which a tiny result may be rounded. Whether the result is also
// inexact is not checked.
static Term underflows(const Computed &V, Sort S, Type *T) {
  return apply("fp.leq",
               {apply("fp.abs", {V.Result}), literal(APFloat::getSmallestNormalized(T->getFltSemantics()), S)});
}

// The rounding mode of a conversion to an integer: `lround` and `llround`, `lrint` and `llrint`, and casts.
Term Frame::roundingOf(const Instruction &Conversion) {
  auto *Call = dyn_cast<CallBase>(&Conversion);
  if (!Call) return "RTZ";
  const Function *Called = Call->getCalledFunction();
  return Called && Called->getName().contains("round") ? "RNA" : X.mode(place(Conversion));
}

// Whether A, rounded to an integer, is outside of the integer type.
static Term isOutside(const Computed &V, Sort S, Type *Float, unsigned Bits, bool Signed) {
  auto Power = [&](unsigned Exponent, bool Negative) {
    APFloat V(std::ldexp(Negative ? -1.0 : 1.0, Exponent));
    bool Loses;
    V.convert(Float->getFltSemantics(), APFloat::rmNearestTiesToEven, &Loses);
    return literal(V, S);
  };
  Term Cut = apply("fp.roundToIntegral", {V.Rounding, V.A});
  Term Least = Signed ? Power(Bits - 1, true) : literal(APFloat::getZero(Float->getFltSemantics()), S);
  return either(apply("fp.lt", {Cut, Least}), apply("fp.geq", {Cut, Power(Signed ? Bits - 1 : Bits, false)}));
}

// The regions in which a function of the mathematics library is invalid, and in which it has a pole.
static std::pair<region, region> domainOf(unsigned Operation) {
  switch (Operation) {
#define DOMAIN_OF(Number, Name, Operands, Raises, Invalid, Pole) \
  case Number: return {Invalid, Pole};
    PEN_FUNCTIONS(DOMAIN_OF)
#undef DOMAIN_OF
  case PEN_SQRT: return {BELOW_ZERO, NOWHERE};
  case PEN_FMOD: return {SECOND_IS_ZERO, NOWHERE};
  }
  return {NOWHERE, NOWHERE};
}

static Term isIn(region R, const Computed &V, Sort S, Type *T) {
  APFloat One(T->getFltSemantics(), 1);
  Term Zero = literal(APFloat::getZero(T->getFltSemantics()), S), Plus = literal(One, S), Minus = literal(-One, S);
  auto isInteger = [](const Term &A) { return apply("fp.eq", {A, apply("fp.roundToIntegral", {"RTZ", A})}); };
  switch (R) {
  case NOWHERE: return "false";
  case BELOW_ZERO: return apply("fp.lt", {V.A, Zero});
  case BELOW_MINUS_ONE: return apply("fp.lt", {V.A, Minus});
  case BELOW_ONE: return apply("fp.lt", {V.A, Plus});
  case BEYOND_ONE: return apply("fp.gt", {apply("fp.abs", {V.A}), Plus});
  case SECOND_IS_ZERO: return isZero(V.B);
  case ROOT_OF_NEGATIVE: return both(apply("fp.lt", {V.A, Zero}), negate(isInteger(V.B)));
  case AT_NEGATIVE_INTEGERS: return both(apply("fp.lt", {V.A, Zero}), isInteger(V.A));
  case AT_ZERO: return isZero(V.A);
  case AT_MINUS_ONE: return apply("fp.eq", {V.A, Minus});
  case AT_PLUS_MINUS_ONE: return apply("fp.eq", {apply("fp.abs", {V.A}), Plus});
  case POWER_OF_ZERO: return both(isZero(V.A), apply("fp.lt", {V.B, Zero}));
  case AT_INTEGERS_TO_ZERO: return both(apply("fp.leq", {V.A, Zero}), isInteger(V.A));
  }
  return "true";
}

static bool isConversion(unsigned Operation) { return Operation == PEN_TO_SIGNED || Operation == PEN_TO_UNSIGNED; }

static std::optional<Term> exceptionOf(unsigned Operation, unsigned Exception, const Computed &V, const Instruction &At,
                                       Sort S, bool ChangesMode) {
  if (isConversion(Operation)) {
    if (Exception != PEN_INVALID) return std::nullopt;
    return isOutside(V, S, At.getOperand(0)->getType(), At.getType()->getIntegerBitWidth(), Operation == PEN_TO_SIGNED);
  }
  bool IsProduct = Operation == PEN_MULTIPLY, IsQuotient = Operation == PEN_DIVIDE;
  bool KeepsZero = IsProduct || IsQuotient || Operation == PEN_NARROW;
  auto [Invalid, Pole] = domainOf(Operation);
  switch (Exception) {
  case PEN_OVERFLOW:
    return both(overflows(V, S, At.getType(), ChangesMode),
                negate(IsQuotient ? isZero(V.B) : isIn(Pole, V, S, At.getType())));
  case PEN_UNDERFLOW:
    if (Operation == PEN_ADD || Operation == PEN_SUBTRACT) return apply("fp.isSubnormal", {V.Result});
    if (!KeepsZero) return underflows(V, S, At.getType());
    return both(underflows(V, S, At.getType()), negate(IsProduct ? either(isZero(V.A), isZero(V.B)) : isZero(V.A)));
  case PEN_DIVIDE_BY_ZERO: return IsQuotient ? both(isZero(V.B), negate(isZero(V.A))) : isIn(Pole, V, S, At.getType());
  case PEN_INVALID: return IsQuotient ? both(isZero(V.A), isZero(V.B)) : isIn(Invalid, V, S, At.getType());
  }
  return std::nullopt;
}

// The operands of an operation in the order of C, without the rounding mode and other metadata of constrained
// intrinsics.
static SmallVector<const Value *, 3> operandsOf(const Instruction &At) {
  SmallVector<const Value *, 3> All;
  auto *Call = dyn_cast<CallBase>(&At);
  for (const Use &V : Call ? Call->args() : At.operands())
    if (!V->getType()->isMetadataTy()) All.push_back(V);
  return All;
}

// The condition that the operation is reached and raises this exception; nothing if no such condition can be stated.
std::optional<Term> Frame::raises(const Site &Operation, unsigned Exception) {
  auto *At = dyn_cast_or_null<Instruction>(static_cast<Value *>(Operation.At));
  bool IsConversion = At && isConversion(Operation.Operation);
  if (!At || !(At->getType()->isFloatingPointTy() || IsConversion)) return std::nullopt;
  if (!(Operation.Possible >> Exception & 1) || !X.HasExactFloats) return std::nullopt;
  Term Reached = reachOf(At->getParent());
  if (Reached == "false") return Reached;
  auto Known = [&](const Value *V) { return X.resolved(valueOf(V), "undefined behaviour" + place(*At)); };
  std::vector<Term> Floats;
  Term AreFinite = "true";
  for (const Value *V : operandsOf(*At)) {
    if (!V->getType()->isFloatingPointTy()) continue; // integer operands of yn and ldexp
    Val Operand = Known(V);
    if (!Operand.isFloat()) return std::nullopt;
    Floats.push_back(X.floatOf(Operand));
    AreFinite = both(AreFinite, isFinite(Floats.back()));
  }
  Val Result = Known(At);
  if (Floats.empty() || !(Result.isFloat() || IsConversion)) return std::nullopt;
  Computed V{Floats[0], Floats.size() > 1 ? Floats[1] : Floats[0], Result.isFloat() ? X.floatOf(Result) : Term(),
             IsConversion ? roundingOf(*At) : Term()};
  Sort S = Result.isFloat() ? Result.S : *X.sortOf(At->getOperand(0)->getType());
  std::optional<Term> Is = exceptionOf(Operation.Operation, Exception, V, *At, S, X.ChangesMode);
  if (!Is) return std::nullopt;
  return both(Reached, X.S.defineBool(both(AreFinite, *Is)));
}

} // namespace pen::smt
