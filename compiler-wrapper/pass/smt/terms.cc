// Translates values of LLVM's types, and conversions between a float and its bits.
#include "smt.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/GlobalVariable.h"

namespace pen::smt {
using namespace llvm;

// Whether the format has the bits of SMT-LIB's floats. The format of x87 stores the leading bit of the significand.
static bool hasInterchangeBits(Sort S) { return S.Exponent + S.Mantissa == S.Width; }

std::optional<Sort> Translator::sortOf(Type *T) const {
  if (T->isIntegerTy(1)) return Sort::boolean();
  if (auto *Int = dyn_cast<IntegerType>(T)) {
    if (Int->getBitWidth() <= 128) return Sort::bits(Int->getBitWidth());
    return std::nullopt;
  }
  if (T->isPointerTy() && Layout.getPointerTypeSizeInBits(T) == PointerBits) return Sort::bits(PointerBits);
  if (T->isHalfTy()) return Sort{Sort::Float, 16, 5, 11};
  if (T->isFloatTy()) return Sort{Sort::Float, 32, 8, 24};
  if (T->isDoubleTy()) return Sort{Sort::Float, 64, 11, 53};
  if (T->isFP128Ty()) return Sort{Sort::Float, 128, 15, 113};
  if (T->isX86_FP80Ty()) return Sort{Sort::Float, 80, 15, 64};
  return std::nullopt;
}

Val Translator::fromBits(Type *T, const Term &Bits, const Term &Poison) {
  std::optional<Sort> S = sortOf(T);
  if (T->isPointerTy()) return foreignPointer(Bits, Poison);
  if (S->K == Sort::Bool) return Val::scalar(*S, truthOf(Bits), Poison);
  if (S->K == Sort::Bits) return Val::scalar(*S, Bits, Poison);
  Val V = Val::scalar(*S, "", Poison);
  V.Bits = Bits;
  return V;
}

// The truth value of one bit.
Term Translator::truthOf(const Term &Bit) { return S.defineBool(apply("=", {Bit, "(_ bv1 1)"})); }

Val Translator::fresh(Type *T, const std::string &Why) {
  if (auto *Struct = dyn_cast<StructType>(T)) {
    Val V;
    V.K = Val::Aggregate;
    for (Type *Part : Struct->elements()) V.Parts.push_back(fresh(Part, Why));
    return V;
  }
  std::optional<Sort> Known = sortOf(T);
  if (!Known) return Val();
  if (T->isPointerTy()) return foreignPointer(S.fresh(*Known, Why), "false");
  if (Known->K != Sort::Float) return Val::scalar(*Known, S.fresh(*Known, Why));
  Val V = Val::scalar(*Known, "");
  V.Bits = S.fresh(Sort::bits(Known->Width), Why);
  return V;
}

Val Translator::undefined(Type *T) {
  Val V = fresh(T, "uninitialised value");
  V.Poison = "true";
  for (Val &Part : V.Parts) Part.Poison = "true";
  return V;
}

// An argument is represented by its bits, so that its value in a model can be executed unchanged.
Val Translator::argument(Type *T, unsigned Number) {
  std::string Name = "arg" + std::to_string(Number);
  std::optional<Sort> Known = sortOf(T);
  if (!Known) return fresh(T, "argument " + std::to_string(Number + 1));
  unsigned Width = Known->K == Sort::Bool ? 1 : Known->Width;
  S.declare(Name, Sort::bits(Width));
  Inputs.insert(Name);
  return fromBits(T, Name, "false");
}

unsigned Translator::newObject(Object O) {
  Objects.push_back(O);
  return Objects.size() - 1;
}

Val Translator::pointerTo(unsigned Object, const Term &Address) {
  Val V = Val::scalar(Sort::bits(PointerBits), Address);
  V.K = Val::Pointer;
  V.Base = Object;
  V.Offset = 0;
  V.OffsetText = literal(APInt(PointerBits, 0));
  return V;
}

Val Translator::foreignPointer(const Term &Address, const Term &Poison) {
  Object O;
  if (Inputs.count(Address)) O.Origin = Address;
  auto Make = [&] { return newObject(O); };
  Val V = pointerTo(Pair && Poison == "false" ? Pair->foreignAt(Address, Make) : Make(), Address);
  V.Poison = Poison;
  return V;
}

Val Translator::pointerInto(const Val &Base, std::optional<int64_t> Offset, const Term &By) {
  Val V = Base;
  V.Offset = Offset && Base.Offset ? std::optional(*Base.Offset + *Offset) : std::nullopt;
  V.OffsetText = V.Offset ? literal(APInt(PointerBits, *V.Offset, true))
                          : S.define(Sort::bits(PointerBits), apply("bvadd", {Base.OffsetText, By}));
  V.Text = Offset == 0 ? Base.Text : S.define(Sort::bits(PointerBits), apply("bvadd", {Base.Text, By}));
  return V;
}

// The address of a global; compilers assume that it is not null unless it is weak.
Term Translator::addressOf(const GlobalValue &G) {
  Term &Known = Addresses[&G];
  if (Known.empty()) {
    Known = S.fresh(Sort::bits(PointerBits), "address of " + G.getName().str());
    if (!G.hasExternalWeakLinkage())
      S.require(Known, apply("not", {apply("=", {Known, literal(APInt(PointerBits, 0))})}));
  }
  return Known;
}

unsigned Translator::objectOf(const GlobalVariable &G) {
  auto [Found, IsNew] = Globals.try_emplace(&G, 0);
  if (IsNew) Found->second = newObject({Object::Global, true, &G});
  return Found->second;
}

Val Translator::constant(const Constant *C) {
  Type *T = C->getType();
  if (isa<UndefValue>(C)) {
    Val V = undefined(T);
    if (isa<PoisonValue>(C) || !(V.isBits() || (V.isFloat() && !V.Bits.empty()))) return V;
    V.Poison = "false";
    V.Undefined = APInt::getAllOnes(V.S.Width);
    return V;
  }
  if (auto *Int = dyn_cast<ConstantInt>(C)) {
    std::optional<Sort> Known = sortOf(T);
    if (!Known) return Val();
    return Val::scalar(*Known, Known->K == Sort::Bool ? (Int->isOne() ? "true" : "false") : literal(Int->getValue()));
  }
  if (auto *Float = dyn_cast<ConstantFP>(C)) {
    std::optional<Sort> Known = sortOf(T);
    if (!Known) return Val();
    Val V = Val::scalar(*Known, literal(Float->getValueAPF(), *Known));
    V.Bits = literal(Float->getValueAPF().bitcastToAPInt());
    if (!Float->getValueAPF().isNaN()) notePayload(V, {});
    return V;
  }
  if (isa<ConstantPointerNull>(C) && sortOf(T)) return foreignPointer(literal(APInt(PointerBits, 0)), "false");
  if (T->isPointerTy() && sortOf(T)) {
    APInt Offset(PointerBits, 0);
    const Value *Base = C->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
    if (auto *Alias = dyn_cast<GlobalAlias>(Base)) return foreignPointer(addressOf(*Alias), "false");
    if (auto *G = dyn_cast<GlobalVariable>(Base); G && !G->isThreadLocal())
      return pointerInto(pointerTo(objectOf(*G), addressOf(*G)), Offset.getSExtValue(), literal(Offset));
    if (auto *Function = dyn_cast<GlobalValue>(Base))
      if (Offset.isZero()) return foreignPointer(addressOf(*Function), "false");
  }
  if (isa<StructType>(T)) {
    Val V;
    V.K = Val::Aggregate;
    for (unsigned I = 0; I < T->getStructNumElements(); I++) {
      const Constant *Part = C->getAggregateElement(I);
      V.Parts.push_back(Part && !isa<UndefValue>(Part) ? constant(Part) : undefined(T->getStructElementType(I)));
    }
    return V;
  }
  return fresh(T, "constant expression");
}

Term Translator::floatOf(const Val &V) {
  if (!V.Text.empty()) return V.Text;
  if (!hasInterchangeBits(V.S)) return floatOfExtended(V);
  return S.define(V.S, "(" + indexed("to_fp", {V.S.Exponent, V.S.Mantissa}) + " " + V.Bits + ")");
}

static Term bitsBetween(unsigned Last, unsigned First, const Term &Bits) {
  return "(" + indexed("extract", {Last, First}) + " " + Bits + ")";
}

// The exponent determines the leading bit of the significand, except in encodings that x87 reads and never writes: with
// exponent 0 and a leading bit, it reads the exponent as 1; otherwise, without a leading bit, it treats them as NaN.
Term Translator::floatOfExtended(const Val &V) {
  Term &Known = FloatsOfBits[V.Bits];
  if (!Known.empty()) return Known;
  Term IsSmall = S.defineBool(apply("=", {bitsBetween(78, 64, V.Bits), literal(APInt(15, 0))}));
  Term IsLeading = S.defineBool(apply("=", {bitsBetween(63, 63, V.Bits), "(_ bv1 1)"}));
  Term Exponent = smt::choose(both(IsSmall, IsLeading), literal(APInt(15, 1)), bitsBetween(78, 64, V.Bits));
  Term Plain = apply("concat", {bitsBetween(79, 79, V.Bits), apply("concat", {Exponent, bitsBetween(62, 0, V.Bits)})});
  Term Value = "(" + indexed("to_fp", {V.S.Exponent, V.S.Mantissa}) + " " + Plain + ")";
  Term IsNone = both(negate(IsSmall), negate(IsLeading));
  return Known = S.define(V.S, smt::choose(IsNone, literal(APFloat::getNaN(APFloat::x87DoubleExtended()), V.S),
                                           S.define(V.S, Value)));
}

// A NaN that an operation returns has the payload of an operand, extended by zeros in a longer format, or a zero
// payload with the quiet bit (LLVM's language reference, "Behavior of Floating-Point NaN values"; IEEE 754-2019,
// 6.2.3). Processors other than these have further NaN.
void Translator::notePayload(const Val &Result, ArrayRef<Val> Operands, int More) {
  if (!HasExactFloats || !hasInterchangeBits(Result.S) || !Result.isFloat() || Result.Text.empty()) return;
  int Zeros = Result.S.Mantissa - 2;
  for (const Val &V : Operands) {
    auto Found = ZerosOfNaN.find(V.Text);
    Zeros = std::min(Zeros, (Found == ZerosOfNaN.end() || V.Text.empty() ? 0 : static_cast<int>(Found->second)) + More);
  }
  if (Zeros > 0) ZerosOfNaN[Result.Text] = Zeros;
}

// The bits of a value. For a computed NaN, they are those of any NaN with the known zero bits.
Term Translator::bitsOf(const Val &V) {
  if (V.K == Val::Pointer || V.isBits()) return V.Text;
  if (V.isBool()) return S.define(Sort::bits(1), smt::choose(V.Text, "(_ bv1 1)", "(_ bv0 1)"));
  if (!V.Bits.empty()) return V.Bits;
  Term &Known = BitsOfFloats[V.Text];
  if (!Known.empty()) return Known;
  unsigned Width = V.S.Exponent + V.S.Mantissa;
  Known = S.fresh(Sort::bits(Width), "bits of a NaN");
  S.require(Known, apply("=", {"(" + indexed("to_fp", {V.S.Exponent, V.S.Mantissa}) + " " + Known + ")", V.Text}));
  if (auto Zeros = ZerosOfNaN.find(V.Text); Zeros != ZerosOfNaN.end()) {
    Term Payload = apply("=", {bitsBetween(Zeros->second - 1, 0, Known), literal(APInt(Zeros->second, 0))});
    S.require(Known, either(negate(apply("fp.isNaN", {V.Text})), Payload));
    Assumptions.insert("a NaN that an operation makes has the payload of an operand or one of zeros");
  }
  if (hasInterchangeBits(V.S)) return Known;
  Term IsSmall = apply("=", {bitsBetween(77, 63, Known), literal(APInt(15, 0))});
  Term Leading = smt::choose(IsSmall, "(_ bv0 1)", "(_ bv1 1)");
  return Known = S.define(
             Sort::bits(V.S.Width),
             apply("concat", {bitsBetween(78, 63, Known), apply("concat", {Leading, bitsBetween(62, 0, Known)})}));
}

bool same(const Val &A, const Val &B) {
  if (A.Undefined || B.Undefined) return false;
  if (A.K != B.K || A.Text != B.Text || A.Bits != B.Bits || A.Poison != B.Poison) return false;
  if (A.K == Val::Pointer) return A.Base == B.Base && A.Offset == B.Offset && A.OffsetText == B.OffsetText;
  if (A.Parts.size() != B.Parts.size() || A.K == Val::Unknown) return false;
  for (size_t I = 0; I < A.Parts.size(); I++)
    if (!same(A.Parts[I], B.Parts[I])) return false;
  return true;
}

Val Translator::choose(const Term &If, const Val &Then, const Val &Else) {
  if (If == "true" || same(Then, Else)) return Then;
  if (If == "false") return Else;
  if (Then.K == Val::Unknown || Else.K == Val::Unknown || Then.K != Else.K) return Val();
  if (Then.K == Val::Aggregate) {
    Val V = Then;
    for (size_t I = 0; I < V.Parts.size(); I++) V.Parts[I] = choose(If, Then.Parts[I], Else.Parts[I]);
    return V;
  }
  Term Poison = S.defineBool(Then.Poison == Else.Poison ? Then.Poison : smt::choose(If, Then.Poison, Else.Poison));
  if (Then.K == Val::Pointer) {
    Term Address = S.define(Then.S, smt::choose(If, Then.Text, Else.Text));
    if (Then.Base != Else.Base) return foreignPointer(Address, Poison);
    Val V = Then;
    V.Text = Address, V.Poison = Poison;
    if (Then.Offset != Else.Offset) V.Offset.reset();
    V.OffsetText = S.define(Then.S, smt::choose(If, Then.OffsetText, Else.OffsetText));
    return V;
  }
  Val V = Val::scalar(Then.S, "", Poison);
  if (Then.isFloat() && !Then.Bits.empty() && !Else.Bits.empty())
    V.Bits = S.define(Sort::bits(V.S.Width), smt::choose(If, Then.Bits, Else.Bits));
  else
    V.Text = S.define(
        V.S, smt::choose(If, Then.isFloat() ? floatOf(Then) : Then.Text, Else.isFloat() ? floatOf(Else) : Else.Text));
  notePayload(V, {Then, Else});
  return V;
}

Val Translator::resolved(const Val &V, const std::string &Why) {
  if (V.Poison == "false" || V.K != Val::Scalar) return V;
  Val Any = Val::scalar(V.S, "");
  (V.isFloat() && !V.Bits.empty() ? Any.Bits : Any.Text) =
      S.fresh(V.isFloat() && !V.Bits.empty() ? Sort::bits(V.S.Width) : V.S, Why);
  Val Plain = V;
  Plain.Poison = "false";
  return choose(V.Poison, Any, Plain);
}

// The rounding mode of an operation: the mode at the call, or any mode if the code may change it.
Term Translator::mode(const std::string &Where) {
  if (!ChangesMode) return "mode";
  return shared([&] { return Val::scalar(Sort::boolean(), S.freshMode("rounding mode" + Where)); }).Text;
}

} // namespace pen::smt
