// The comparison of a two-way site as a site of its own: its possible boundary values, and the call that passes its
// operands to the runtime where the hook of the two-way site does not.
#include "../plugin.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/Support/KnownBits.h"

namespace pen {
using namespace llvm;

namespace {

// Bits of pen_site.possible.
constexpr uint32_t Below = 1u << PEN_BELOW, Equal = 1u << PEN_EQUAL, Above = 1u << PEN_ABOVE;

// The left operand minus the right one, by enum pen_side.
constexpr int Steps[PEN_SIDES] = {-1, 0, 1};
static_assert(Steps[PEN_BELOW] == -1 && Steps[PEN_EQUAL] == 0 && Steps[PEN_ABOVE] == 1, "the order of enum pen_side");

// Whether V can equal this number, according to its known bits.
bool canEqual(const Value *V, const APInt &Number, const DataLayout &DL) {
  KnownBits Known = computeKnownBits(V, DL);
  return !Number.intersects(Known.Zero) && Known.One.isSubsetOf(Number);
}

// K + Step, or nothing if that overflows.
std::optional<APInt> neighbour(const APInt &K, int Step, bool IsSigned) {
  bool AtMin = IsSigned ? K.isMinSignedValue() : K.isMinValue(),
       AtMax = IsSigned ? K.isMaxSignedValue() : K.isMaxValue();
  bool AtEnd = Step < 0 ? AtMin : AtMax;
  if (Step != 0 && AtEnd) return std::nullopt;
  return K + APInt(K.getBitWidth(), Step, /*isSigned=*/true);
}

uint32_t sidesOfIntegers(Context &X, const ComparedOperands &S) {
  auto *L = dyn_cast<ConstantInt>(S.Left), *R = dyn_cast<ConstantInt>(S.Right);
  uint32_t Sides = 0;
  for (unsigned I = 0; I < PEN_SIDES; I++) {
    if (!L == !R) {
      Sides |= 1u << I;
      continue;
    }
    bool IsSigned = !CmpInst::isUnsigned(CmpInst::Predicate(S.Predicate));
    std::optional<APInt> Other = neighbour((L ? L : R)->getValue(), L ? -Steps[I] : Steps[I], IsSigned);
    if (Other && canEqual(L ? S.Right : S.Left, *Other, X.M.getDataLayout())) Sides |= 1u << I;
  }
  return Sides;
}

// There is no number beyond an infinity, and none next to NaN.
uint32_t sidesOfFloats(const ComparedOperands &S) {
  uint32_t Sides = Below | Equal | Above;
  for (bool IsLeft : {false, true}) {
    auto *K = dyn_cast<ConstantFP>(IsLeft ? S.Left : S.Right);
    if (!K) continue;
    if (K->isNaN()) return 0;
    if (K->isInfinity()) Sides &= K->isNegative() == IsLeft ? ~Above : ~Below;
  }
  return Sides;
}

bool comparesOrder(unsigned Predicate) {
  return Predicate != CmpInst::FCMP_ORD && Predicate != CmpInst::FCMP_UNO && Predicate != CmpInst::FCMP_FALSE &&
         Predicate != CmpInst::FCMP_TRUE;
}

bool isTruth(const Context &X, Value *V) {
  if (isTruthValue(V)) return true;
  auto *Call = dyn_cast<CallInst>(V);
  auto Found = Call ? X.Shadows.find(Call->getCalledFunction()) : X.Shadows.end();
  return Found != X.Shadows.end() && Found->second.IsTruth;
}

// Whether an argument of a call that compares is V, or V extended.
bool isSameOrExtended(Value *Argument, Value *V) {
  if (isa<Constant>(V)) return isa<Constant>(Argument);
  auto *Cast = dyn_cast<CastInst>(Argument);
  return Argument == V || (Cast && (isa<SExtInst>(Cast) || isa<ZExtInst>(Cast)) && Cast->getOperand(0) == V);
}

} // namespace

uint32_t possibleSides(Context &X, const ComparedOperands &S) {
  if (!S.Left || S.Left == S.Right) return 0;
  Type *T = S.Left->getType();
  // The C library decides which number strcmp returns for operands that differ.
  for (Value *V : {S.Left, S.Right})
    if (auto *Call = dyn_cast<CallInst>(V); Call && comparesBytes(*Call)) return sidesOfIntegers(X, S) & Equal;
  if (T->isIntegerTy())
    return T->getIntegerBitWidth() > 64 || (isTruth(X, S.Left) && isTruth(X, S.Right)) ? 0 : sidesOfIntegers(X, S);
  bool IsFloat = T->isFloatTy() || T->isDoubleTy() || T->isX86_FP80Ty();
  return IsFloat && comparesOrder(S.Predicate) ? sidesOfFloats(S) : 0;
}

bool comparesAsWritten(const CallInst *Comparison, const ComparedOperands &S) {
  return isSameOrExtended(Comparison->getArgOperand(2), S.Left) &&
         isSameOrExtended(Comparison->getArgOperand(3), S.Right);
}

void emitSides(Context &X, IRBuilder<> &B, const ComparedOperands &S, Constant *Bytes, Value *Taken, Value *Pair) {
  if (S.Left->getType()->isX86_FP80Ty()) {
    auto Part = [&](Value *V, unsigned Shift, Type *T) {
      return B.CreateTrunc(B.CreateLShr(B.CreateBitCast(V, B.getIntNTy(80)), Shift), T);
    };
    X.call(B, X.Sides80, {Bytes, Taken, Part(S.Left, 0, X.I64), Part(S.Left, 64, X.I32), Part(S.Right, 0, X.I64),
                          Part(S.Right, 64, X.I32)});
    return;
  }
  bool IsUnsigned = CmpInst::isUnsigned(CmpInst::Predicate(S.Predicate));
  auto Wide = [&](Value *V) { return IsUnsigned ? B.CreateZExt(V, X.I64) : B.CreateSExt(V, X.I64); };
  Value *ToEqual = ConstantInt::get(X.I64, 0);
  if (S.Predicate == CmpInst::ICMP_EQ) ToEqual = B.CreateExtractValue(Pair, ToTrue);
  if (S.Predicate == CmpInst::ICMP_NE) ToEqual = B.CreateExtractValue(Pair, ToFalse);
  X.call(B, X.Sides, {Bytes, Taken, X.u32(S.Predicate), Wide(S.Left), Wide(S.Right), ToEqual});
}

} // namespace pen
