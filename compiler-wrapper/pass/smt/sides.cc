// Boundary values: the operands of a comparison are equal, or the left one is the number next below or above the right one.
#include "smt.h"

#include "llvm/IR/Constants.h"

namespace pen::smt {
using namespace llvm;

// Whether A is the float next below B. Zeros are one number, NaN has no neighbour, and infinity is that of the largest number. A sum with the
// least positive float, rounded up, is the float next above A, but for an infinite A; so there the difference from B decides.
static Term isNextBelow(const Term &A, const Term &B, Sort S, Type *T) {
  Term Least = literal(APFloat::getSmallest(T->getFltSemantics()), S);
  Term Reaches = apply("fp.leq", {B, apply("fp.add", {"RTP", A, Least})});
  Term IsReached = apply("fp.geq", {A, apply("fp.sub", {"RTN", B, Least})});
  return both(apply("fp.lt", {A, B}), either(Reaches, IsReached));
}

static Term isNextBelow(const Term &A, const Term &B, unsigned Width, bool IsSigned) {
  Term IsLess = apply(IsSigned ? "bvslt" : "bvult", {A, B});
  return both(IsLess, apply("=", {B, apply("bvadd", {A, literal(APInt(Width, 1))})}));
}

// The condition that a comparison has this boundary value, when control comes to it; nothing if it is none that can have one.
std::optional<Term> Frame::sideOf(const Site &Comparison, unsigned Side) {
  auto *At = dyn_cast_or_null<Instruction>(static_cast<Value *>(Comparison.At));
  ComparedOperands Compared = operandsOfSite(Comparison);
  if (!At || !Compared.Left) return std::nullopt;
  Term Reached = reachOf(At->getParent());
  if (Reached == "false") return Reached;
  std::string Why = "undefined behaviour" + place(*At);
  Val L = X.resolved(valueOf(Compared.Left), Why), R = X.resolved(valueOf(Compared.Right), Why);
  bool AreFloats = L.isFloat() && R.isFloat();
  if (!(AreFloats && X.HasExactFloats) && !(L.isBits() && R.isBits())) return std::nullopt;
  Term A = AreFloats ? X.floatOf(L) : L.Text, B = AreFloats ? X.floatOf(R) : R.Text;
  if (Side == PEN_ABOVE) std::swap(A, B);
  bool IsSigned = !CmpInst::isUnsigned(CmpInst::Predicate(Compared.Predicate));
  Term Is = Side == PEN_EQUAL ? apply(AreFloats ? "fp.eq" : "=", {A, B})
            : AreFloats       ? isNextBelow(A, B, L.S, Compared.Left->getType())
                              : isNextBelow(A, B, L.S.Width, IsSigned);
  return both(Reached, X.S.defineBool(Is));
}

} // namespace pen::smt
