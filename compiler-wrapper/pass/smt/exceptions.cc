// Floating-point exceptions of operations with finite operands (IEEE 754, Sect. 7). Where the exact condition would need the unrounded result,
// one that is true more often stands for it: that no execution fulfils it still means that none raises the exception.
#include "smt.h"

#include <cmath>

namespace pen::smt {
using namespace llvm;

static Term isFinite(const Term &A) { return negate(either(apply("fp.isNaN", {A}), apply("fp.isInfinite", {A}))); }
static Term isZero(const Term &A) { return apply("fp.isZero", {A}); }

// Operands and result of an operation; of a unary one B is A.
struct Computed {
  Term A, B, Result;
};

// To the nearest, an overflow is infinity. Rounded in another mode it may be the largest number, which exact results can be, too.
static Term overflows(const Computed &V, Sort S, Type *T, bool ChangesMode) {
  Term Largest = literal(APFloat::getLargest(T->getFltSemantics()), S);
  Term IsLargest = apply("fp.eq", {apply("fp.abs", {V.Result}), Largest});
  Term Truncates = ChangesMode ? Term("true") : negate(apply("=", {"mode", "RNE"}));
  return either(apply("fp.isInfinite", {V.Result}), both(Truncates, IsLargest));
}

// The result is tiny, or the least normal number, to which a tiny one may be rounded. Whether it is inexact, too, is left out.
static Term underflows(const Computed &V, Sort S, Type *T) {
  return apply("fp.leq", {apply("fp.abs", {V.Result}), literal(APFloat::getSmallestNormalized(T->getFltSemantics()), S)});
}

// A is no number of an integer type when its fraction is cut off.
static Term isOutside(const Term &A, Sort S, Type *Float, unsigned Bits, bool Signed) {
  auto Power = [&](unsigned Exponent, bool Negative) {
    APFloat V(std::ldexp(Negative ? -1.0 : 1.0, Exponent));
    bool Loses;
    V.convert(Float->getFltSemantics(), APFloat::rmNearestTiesToEven, &Loses);
    return literal(V, S);
  };
  Term Cut = apply("fp.roundToIntegral", {"RTZ", A});
  Term Least = Signed ? Power(Bits - 1, true) : literal(APFloat::getZero(Float->getFltSemantics()), S);
  return either(apply("fp.lt", {Cut, Least}), apply("fp.geq", {Cut, Power(Signed ? Bits - 1 : Bits, false)}));
}

static std::optional<Term> exceptionOf(unsigned Operation, unsigned Exception, const Computed &V, const Instruction &At, Sort S,
                                       bool ChangesMode) {
  bool IsProduct = Operation == PEN_MULTIPLY, IsQuotient = Operation == PEN_DIVIDE;
  bool Rounds = IsProduct || IsQuotient || Operation == PEN_ADD || Operation == PEN_SUBTRACT || Operation == PEN_NARROW;
  bool Converts = isa<FPToSIInst, FPToUIInst>(At);
  if (Exception == PEN_OVERFLOW && Rounds)
    return both(overflows(V, S, At.getType(), ChangesMode), IsQuotient ? negate(isZero(V.B)) : "true");
  if (Exception == PEN_UNDERFLOW && Rounds)
    return both(underflows(V, S, At.getType()), negate(IsProduct ? either(isZero(V.A), isZero(V.B)) : isZero(V.A)));
  if (Exception == PEN_DIVIDE_BY_ZERO && IsQuotient) return both(isZero(V.B), negate(isZero(V.A)));
  if (Exception != PEN_INVALID) return std::nullopt;
  if (IsQuotient) return both(isZero(V.A), isZero(V.B));
  if (Operation == PEN_SQRT) return both(apply("fp.isNegative", {V.A}), negate(isZero(V.A)));
  if (!Converts) return std::nullopt;
  return isOutside(V.A, S, At.getOperand(0)->getType(), At.getType()->getIntegerBitWidth(), isa<FPToSIInst>(At));
}

// The number of operands of an operation that has a condition here, or 0.
static unsigned arityOf(unsigned Operation, const Instruction &At) {
  switch (Operation) {
  case PEN_ADD:
  case PEN_SUBTRACT:
  case PEN_MULTIPLY:
  case PEN_DIVIDE: return 2;
  case PEN_SQRT:
  case PEN_NARROW: return 1;
  }
  return isa<FPToSIInst, FPToUIInst>(At) ? 1 : 0;
}

// The condition that an operation raises this exception, when control comes to it; nothing if there is no such condition here.
std::optional<Term> Frame::raises(const Site &Operation, unsigned Exception) {
  auto *At = dyn_cast_or_null<Instruction>(static_cast<Value *>(Operation.At));
  unsigned Arity = At ? arityOf(Operation.Operation, *At) : 0;
  if (Arity == 0 || !(Operation.Possible >> Exception & 1) || !X.HasExactFloats) return std::nullopt;
  Term Reached = reachOf(At->getParent());
  if (Reached == "false") return Reached;
  auto *Call = dyn_cast<CallBase>(At);
  auto Known = [&](const Value *V) { return X.resolved(valueOf(V), "undefined behaviour" + place(*At)); };
  Val L = Known(Call ? Call->getArgOperand(0) : At->getOperand(0));
  Val R = Arity == 1 ? L : Known(Call ? Call->getArgOperand(1) : At->getOperand(1));
  Val Result = Known(At);
  bool IsKnown = Result.isFloat() || isa<FPToSIInst, FPToUIInst>(At);
  if (!L.isFloat() || !R.isFloat() || !IsKnown) return std::nullopt;
  Computed V{X.floatOf(L), X.floatOf(R), Result.isFloat() ? X.floatOf(Result) : Term()};
  std::optional<Term> Is = exceptionOf(Operation.Operation, Exception, V, *At, Result.isFloat() ? Result.S : L.S, X.ChangesMode);
  if (!Is) return std::nullopt;
  return both(Reached, X.S.defineBool(both(both(isFinite(V.A), isFinite(V.B)), *Is)));
}

} // namespace pen::smt
