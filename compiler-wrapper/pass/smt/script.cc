// Prints terms and scripts of SMT-LIB.
#include "script.h"

#include "llvm/ADT/SmallString.h"

namespace pen::smt {
using namespace llvm;

std::string Sort::text() const {
  if (K == Bool) return "Bool";
  if (K == Bits) return "(_ BitVec " + std::to_string(Width) + ")";
  return "(_ FloatingPoint " + std::to_string(Exponent) + " " + std::to_string(Mantissa) + ")";
}

Term apply(StringRef Operator, std::initializer_list<Term> Operands) {
  Term Text = "(" + Operator.str();
  for (const Term &T : Operands) Text += " " + T;
  return Text + ")";
}

Term indexed(StringRef Operator, std::initializer_list<unsigned> Indices) {
  Term Text = "(_ " + Operator.str();
  for (unsigned I : Indices) Text += " " + std::to_string(I);
  return Text + ")";
}

Term negate(const Term &A) {
  if (A == "true") return "false";
  if (A == "false") return "true";
  return apply("not", {A});
}

Term both(const Term &A, const Term &B) {
  if (A == "false" || B == "false") return "false";
  if (A == "true" || A == B) return B;
  if (B == "true") return A;
  return apply("and", {A, B});
}

Term either(const Term &A, const Term &B) {
  if (A == "true" || B == "true") return "true";
  if (A == "false" || A == B) return B;
  if (B == "false") return A;
  return apply("or", {A, B});
}

Term choose(const Term &If, const Term &Then, const Term &Else) {
  if (If == "true" || Then == Else) return Then;
  if (If == "false") return Else;
  return apply("ite", {If, Then, Else});
}

Term literal(const APInt &V) {
  SmallString<40> Digits;
  V.toString(Digits, 10, /*Signed=*/false);
  return "(_ bv" + std::string(Digits.str()) + " " + std::to_string(V.getBitWidth()) + ")";
}

// Zeros, infinities and NaN have names; other numbers are written as bits, so that they are not rounded.
Term literal(const APFloat &V, Sort S) {
  std::string Format = " " + std::to_string(S.Exponent) + " " + std::to_string(S.Mantissa) + ")";
  std::string Sign = V.isNegative() ? "-" : "+";
  if (V.isNaN()) return "(_ NaN" + Format;
  if (V.isInfinity()) return "(_ " + Sign + "oo" + Format;
  if (V.isZero()) return "(_ " + Sign + "zero" + Format;
  APInt Bits = V.bitcastToAPInt();
  return "(fp " + literal(Bits.extractBits(1, S.Width - 1)) + " " +
         literal(Bits.extractBits(S.Exponent, S.Width - 1 - S.Exponent)) + " " +
         literal(Bits.extractBits(S.Mantissa - 1, 0)) + ")";
}

static bool isAtom(const Term &T) {
  StringRef Text = T;
  return !Text.starts_with("(") || Text.starts_with("(_ ") || Text.starts_with("(fp ");
}

Term Script::define(Sort S, const Term &Body) {
  if (isAtom(Body)) return Body;
  Term &Name = Known[S.text() + Body];
  if (Name.empty()) {
    Name = "v" + std::to_string(++Names);
    Lines.push_back("(define-fun " + Name + " () " + S.text() + " " + Body + ")");
  }
  return Name;
}

static std::string oneLine(std::string Text) {
  for (char &C : Text)
    if (static_cast<unsigned char>(C) < ' ') C = ' ';
  return Text;
}

Term Script::fresh(Sort S, const std::string &Why, Term Name) {
  if (Name.empty()) Name = "u" + std::to_string(++Names);
  Lines.push_back("(declare-fun " + Name + " () " + S.text() + ") ; fresh: " + oneLine(Why));
  return Name;
}

Term Script::freshMode(const std::string &Why) {
  Term Name = "u" + std::to_string(++Names);
  Lines.push_back("(declare-fun " + Name + " () RoundingMode) ; fresh: " + oneLine(Why));
  return Name;
}

void Script::require(const Term &Fresh, const Term &Fact) {
  Lines.push_back("(assert " + Fact + ") ; of " + Fresh);
}

void Script::declare(const Term &Name, Sort S) { Lines.push_back("(declare-fun " + Name + " () " + S.text() + ")"); }

void Script::goal(const std::string &Name, const Term &Body) {
  Lines.push_back("(define-fun " + Name + " () Bool " + Body + ")");
}

void Script::invariant(const std::string &Name, const Term &Fresh, unsigned Loop, const Term &Body,
                       const std::string &Text) {
  Lines.push_back("(define-fun " + Name + " () Bool " + Body + ") ; invariant of " + Fresh + " " +
                  std::to_string(Loop) + " " + oneLine(Text));
}

} // namespace pen::smt
