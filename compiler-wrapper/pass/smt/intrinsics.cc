// Translates intrinsics of integers, and the classes of floats.
#include "smt.h"

#include "llvm/ADT/FloatingPointMode.h"
#include "llvm/IR/Constants.h"

namespace pen::smt {
using namespace llvm;

static Term bitOf(const Term &V, unsigned I) {
  return apply("=", {"(" + indexed("extract", {I, I}) + " " + V + ")", "(_ bv1 1)"});
}

// The number of zeros above the highest bit set, or below the lowest.
static Term zerosOf(Script &S, const Term &V, unsigned Width, bool Leading) {
  Sort Bits = Sort::bits(Width);
  Term Count = literal(APInt(Width, Width));
  for (unsigned K = 0; K < Width; K++) {
    unsigned Bit = Leading ? K : Width - 1 - K;
    Count = S.define(Bits, choose(bitOf(V, Bit), literal(APInt(Width, Width - 1 - K)), Count));
  }
  return Count;
}

static Term onesOf(Script &S, const Term &V, unsigned Width) {
  Sort Bits = Sort::bits(Width);
  Term Count = literal(APInt(Width, 0));
  for (unsigned K = 0; K < Width; K++)
    Count = S.define(Bits,
                     apply("bvadd", {Count, choose(bitOf(V, K), literal(APInt(Width, 1)), literal(APInt(Width, 0)))}));
  return Count;
}

static Term bytesReversed(Script &S, const Term &V, unsigned Width) {
  Term Reversed = "(" + indexed("extract", {7, 0}) + " " + V + ")";
  for (unsigned At = 8; At < Width; At += 8)
    Reversed = S.define(Sort::bits(At + 8),
                        apply("concat", {Reversed, "(" + indexed("extract", {At + 7, At}) + " " + V + ")"}));
  return Reversed;
}

static const char *orderOf(unsigned ID) {
  switch (ID) {
  case Intrinsic::smax: return "bvsge";
  case Intrinsic::smin: return "bvsle";
  case Intrinsic::umax: return "bvuge";
  case Intrinsic::umin: return "bvule";
  default: return nullptr;
  }
}

// The operation of `llvm.OP.with.overflow`, and whether it is signed.
static std::pair<const char *, bool> checkedOf(unsigned ID) {
  switch (ID) {
  case Intrinsic::sadd_with_overflow: return {"bvadd", true};
  case Intrinsic::ssub_with_overflow: return {"bvsub", true};
  case Intrinsic::smul_with_overflow: return {"bvmul", true};
  case Intrinsic::uadd_with_overflow: return {"bvadd", false};
  case Intrinsic::usub_with_overflow: return {"bvsub", false};
  case Intrinsic::umul_with_overflow: return {"bvmul", false};
  default: return {nullptr, false};
  }
}

std::optional<Val> Frame::integerIntrinsic(const IntrinsicInst &I) {
  if (I.arg_size() == 0) return std::nullopt;
  Val A = valueOf(I.getArgOperand(0)), B = I.arg_size() > 1 ? valueOf(I.getArgOperand(1)) : Val();
  if (!A.isBits()) return std::nullopt;
  unsigned Width = A.S.Width, ID = I.getIntrinsicID();
  Term Poison = X.S.defineBool(either(A.Poison, B.Poison));
  auto Made = [&](const Term &T, const Term &When) {
    return Val::scalar(A.S, X.S.define(A.S, T), X.S.defineBool(When));
  };
  if (const char *Order = orderOf(ID); Order && B.isBits())
    return Made(smt::choose(apply(Order, {A.Text, B.Text}), A.Text, B.Text), Poison);
  if (auto [Op, Signed] = checkedOf(ID); Op && B.isBits()) {
    Val V;
    V.K = Val::Aggregate;
    V.Parts = {Made(apply(Op, {A.Text, B.Text}), Poison),
               Val::scalar(Sort::boolean(), overflows(X.S, Op, A.Text, B.Text, Width, Signed), Poison)};
    return V;
  }
  auto *Flag = I.arg_size() > 1 ? dyn_cast<ConstantInt>(I.getArgOperand(1)) : nullptr;
  Term IsZero = apply("=", {A.Text, literal(APInt(Width, 0))});
  switch (ID) {
  case Intrinsic::abs: {
    Term IsLeast = apply("=", {A.Text, literal(APInt::getSignedMinValue(Width))});
    Term Magnitude = smt::choose(apply("bvslt", {A.Text, literal(APInt(Width, 0))}), apply("bvneg", {A.Text}), A.Text);
    return Made(Magnitude, Flag && Flag->isZero() ? A.Poison : either(A.Poison, IsLeast));
  }
  case Intrinsic::ctlz:
  case Intrinsic::cttz:
    return Made(zerosOf(X.S, A.Text, Width, ID == Intrinsic::ctlz),
                Flag && Flag->isZero() ? A.Poison : either(A.Poison, IsZero));
  case Intrinsic::ctpop: return Made(onesOf(X.S, A.Text, Width), A.Poison);
  case Intrinsic::bswap: return Made(bytesReversed(X.S, A.Text, Width), A.Poison);
  default: return std::nullopt;
  }
}

// `llvm.is.fpclass`: NaN, infinity, normal and so on, each with its sign. Quiet and signaling NaN differ in their bits.
std::optional<Val> Frame::classOf(const IntrinsicInst &I) {
  Val V = valueOf(I.getArgOperand(0));
  auto *Mask = dyn_cast<ConstantInt>(I.getArgOperand(1));
  if (!V.isFloat() || !Mask) return std::nullopt;
  unsigned Classes = Mask->getZExtValue();
  Term Float = X.floatOf(V), Any = "false";
  if ((Classes & fcNan) == fcNan) Any = apply("fp.isNaN", {Float});
  else if (Classes & fcNan) return std::nullopt;
  struct Class {
    unsigned Negative, Positive;
    const char *Test;
  };
  for (Class C : {Class{fcNegInf, fcPosInf, "fp.isInfinite"}, Class{fcNegNormal, fcPosNormal, "fp.isNormal"},
                  Class{fcNegSubnormal, fcPosSubnormal, "fp.isSubnormal"}, Class{fcNegZero, fcPosZero, "fp.isZero"}}) {
    Term Is = apply(C.Test, {Float}), IsNegative = apply("fp.isNegative", {Float});
    if ((Classes & C.Negative) && (Classes & C.Positive)) Any = either(Any, Is);
    else if (Classes & C.Negative) Any = either(Any, both(Is, IsNegative));
    else if (Classes & C.Positive) Any = either(Any, both(Is, negate(IsNegative)));
  }
  return Val::scalar(Sort::boolean(), X.S.defineBool(Any), V.Poison);
}

} // namespace pen::smt
