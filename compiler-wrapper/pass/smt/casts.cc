// Translates conversions between integers, floats and pointers.
#include "smt.h"

namespace pen::smt {
using namespace llvm;

// 2^Power in a float format; infinity if it exceeds the format.
static Term powerOfTwo(unsigned Power, Sort S, bool Negative) {
  unsigned Bias = (1u << (S.Exponent - 1)) - 1;
  if (Power > Bias)
    return std::string("(_ ") + (Negative ? "-" : "+") + "oo " + std::to_string(S.Exponent) + " " +
           std::to_string(S.Mantissa) + ")";
  return "(fp " + literal(APInt(1, Negative)) + " " + literal(APInt(S.Exponent, Power + Bias)) + " " +
         literal(APInt(S.Mantissa - 1, 0)) + ")";
}

// Truncates towards zero; a value outside of the type is poison.
Val Frame::toInteger(const Instruction &I, const Value *Operand, bool Signed) {
  Val V = valueOf(Operand);
  std::optional<Sort> To = X.sortOf(I.getType());
  if (!V.isFloat() || !To || To->K != Sort::Bits || !X.HasExactFloats) return unknown(I, "conversion to an integer");
  Term Whole = X.S.define(V.S, apply("fp.roundToIntegral", {"RTZ", X.floatOf(V)}));
  Term Above = apply("fp.lt", {Whole, powerOfTwo(To->Width - Signed, V.S, false)});
  Term Least = powerOfTwo(To->Width - 1, V.S, true);
  Term Below = Signed ? apply(StringRef(Least).starts_with("(_") ? "fp.gt" : "fp.geq", {Whole, Least})
                      : apply("fp.geq", {Whole, "(_ -zero " + std::to_string(V.S.Exponent) + " " +
                                                    std::to_string(V.S.Mantissa) + ")"});
  Term IsInside = X.S.defineBool(both(Above, Below));
  Term Number =
      X.S.define(*To, "(" + indexed(Signed ? "fp.to_sbv" : "fp.to_ubv", {To->Width}) + " RTZ " + X.floatOf(V) + ")");
  return Val::scalar(*To, Number, X.S.defineBool(either(V.Poison, negate(IsInside))));
}

Val Frame::toFloat(const Instruction &I, const Value *Operand, bool Signed, const Term &Mode) {
  Val V = valueOf(Operand);
  std::optional<Sort> To = X.sortOf(I.getType());
  if (!To || To->K != Sort::Float || !X.HasExactFloats || !(V.isBits() || V.isBool()))
    return unknown(I, "conversion to a float");
  Term Number = "(" + indexed(Signed ? "to_fp" : "to_fp_unsigned", {To->Exponent, To->Mantissa}) + " " + Mode + " " +
                X.bitsOf(V) + ")";
  Val Result = Val::scalar(*To, X.S.define(*To, Number), V.Poison);
  X.notePayload(Result, {});
  return Result;
}

Val Frame::toOtherFloat(const Instruction &I, const Value *Operand, const Term &Mode) {
  Val V = valueOf(Operand);
  std::optional<Sort> To = X.sortOf(I.getType());
  if (!To || To->K != Sort::Float || !V.isFloat() || !isExact(I)) return unknown(I, "conversion of a float");
  Term Number = "(" + indexed("to_fp", {To->Exponent, To->Mantissa}) + " " + Mode + " " + X.floatOf(V) + ")";
  Val Result = Val::scalar(*To, X.S.define(*To, Number), V.Poison);
  X.notePayload(Result, V, static_cast<int>(To->Mantissa) - static_cast<int>(V.S.Mantissa));
  return Result;
}

static Val resized(Translator &X, const Val &V, Sort To, bool Signed) {
  Term Bits = X.bitsOf(V);
  unsigned From = V.isBool() ? 1 : V.S.Width;
  unsigned Width = To.K == Sort::Bool ? 1 : To.Width;
  if (Width < From) Bits = X.S.define(Sort::bits(Width), "(" + indexed("extract", {Width - 1, 0}) + " " + Bits + ")");
  if (Width > From)
    Bits = X.S.define(Sort::bits(Width),
                      "(" + indexed(Signed ? "sign_extend" : "zero_extend", {Width - From}) + " " + Bits + ")");
  if (To.K == Sort::Bool) return Val::scalar(To, X.truthOf(Bits), V.Poison);
  return Val::scalar(To, Bits, V.Poison);
}

Val Frame::convert(const CastInst &I) {
  Val V = valueOf(I.getOperand(0));
  std::optional<Sort> To = X.sortOf(I.getType());
  bool Promises = I.hasPoisonGeneratingFlags();
  if (V.K == Val::Unknown || V.K == Val::Aggregate || !To || I.getOperand(0)->getType()->isVectorTy() || Promises)
    return unknown(I, std::string("conversion ") + I.getOpcodeName());
  switch (I.getOpcode()) {
  case Instruction::ZExt:
  case Instruction::Trunc:
  case Instruction::SExt: {
    if (V.isBool() && To->K == Sort::Bits) {
      APInt One = I.getOpcode() == Instruction::SExt ? APInt::getAllOnes(To->Width) : APInt(To->Width, 1);
      return Val::scalar(*To, X.S.define(*To, smt::choose(V.Text, literal(One), literal(APInt(To->Width, 0)))),
                         V.Poison);
    }
    Val Raw = rawOf(I.getOperand(0));
    bool IsBitwise = Raw.Undefined && To->K == Sort::Bits && I.getOpcode() != Instruction::SExt;
    Val Resized = resized(X, IsBitwise ? Raw : V, *To, I.getOpcode() == Instruction::SExt);
    if (IsBitwise) Resized.Undefined = Raw.Undefined->zextOrTrunc(To->Width);
    if (Resized.Undefined && Resized.Undefined->isZero()) Resized.Undefined.reset();
    return Resized;
  }
  case Instruction::FPToSI: return toInteger(I, I.getOperand(0), true);
  case Instruction::FPToUI: return toInteger(I, I.getOperand(0), false);
  case Instruction::SIToFP: return toFloat(I, I.getOperand(0), true, X.mode(place(I)));
  case Instruction::UIToFP: return toFloat(I, I.getOperand(0), false, X.mode(place(I)));
  case Instruction::FPTrunc:
  case Instruction::FPExt: return toOtherFloat(I, I.getOperand(0), X.mode(place(I)));
  case Instruction::PtrToInt: return resized(X, Val::scalar(Sort::bits(64), V.Text, V.Poison), *To, false);
  case Instruction::IntToPtr: return X.foreignPointer(resized(X, V, *To, false).Text, V.Poison);
  case Instruction::BitCast:
    if (I.getType()->isPointerTy()) return V;
    {
      Val Raw = rawOf(I.getOperand(0));
      if (Raw.K != Val::Scalar) return X.fromBits(I.getType(), X.bitsOf(V), V.Poison);
      Val Cast = X.fromBits(I.getType(), X.bitsOf(Raw), Raw.Poison);
      Cast.Undefined = Raw.Undefined;
      return Cast;
    }
  default: return unknown(I, std::string("conversion ") + I.getOpcodeName());
  }
}

} // namespace pen::smt
