// Translates boundary values: the operands of a comparison are equal, or the left one is the next number below or above
// the right one.
#include "smt.h"

#include "llvm/IR/Constants.h"

namespace pen::smt {
using namespace llvm;

// Whether A is the next float below B. The two zeros count as one number, NaN has no neighbour, and infinity is the
// neighbour of the largest number. For finite A, A plus the least positive float, rounded up, is the next float above
// A; for infinite A the difference from B decides.
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

// The condition that the comparison is reached and has this boundary value; nothing if it cannot have one.
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
