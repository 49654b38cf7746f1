// Functions of the mathematics library without an exact meaning in SMT-LIB. Their results are fresh values, constrained
// by what C (Annex F) and IEEE 754 (Sect. 9.2) state and the examined libraries fulfil (docs/proofs.md): which
// arguments give a NaN, signs, ranges, and whether a result can be infinite or zero. A function has one result for
// equal arguments.
#include "smt.h"

#include <cmath>

namespace pen::smt {
using namespace llvm;

namespace library {

static Term isNaN(const Term &A) { return apply("fp.isNaN", {A}); }
static Term isInfinite(const Term &A) { return apply("fp.isInfinite", {A}); }
static Term isZero(const Term &A) { return apply("fp.isZero", {A}); }
static Term isNegative(const Term &A) { return apply("fp.isNegative", {A}); }
static Term equal(const Term &A, const Term &B) { return apply("=", {A, B}); }
static Term implies(const Term &A, const Term &B) { return either(negate(A), B); }

// The facts about one call. `nearest` adds facts that hold if the operations of the library round to nearest.
class Facts {
public:
  Facts(const fltSemantics &Format, Sort S, Term A, Term B, Term R, bool HasMode)
      : S(S), A(A), B(B), R(R), Format(Format), HasMode(HasMode) {}

  const Sort S;
  const Term A, B, R; // first and last argument, result
  std::vector<Term> All;

  void always(const Term &Fact) { All.push_back(Fact); }
  void nearest(const Term &Fact) {
    if (HasMode) All.push_back(either(negate(equal("mode", "RNE")), Fact));
  }

  Term number(StringRef Decimal, bool Up) const {
    APFloat V(Format);
    auto Done = V.convertFromString(Decimal, Up ? APFloat::rmTowardPositive : APFloat::rmTowardNegative);
    return consumeError(Done.takeError()), literal(V, S);
  }
  Term atMost(const Term &X, StringRef Bound) const { return apply("fp.leq", {X, number(Bound, true)}); }
  Term atLeast(const Term &X, StringRef Bound) const { return apply("fp.geq", {X, number(Bound, false)}); }
  Term leastNormal() const { return literal(APFloat::getSmallestNormalized(Format), S); }
  Term is(const Term &X, StringRef Value) const { return apply("fp.eq", {X, number(Value, true)}); }

  void isNaNFor(const Term &Arguments) { always(equal(isNaN(R), Arguments)); }
  void keepsSign() { always(either(isNaN(R), equal(isNegative(R), isNegative(A)))); }
  void isZeroForZero() { nearest(equal(isZero(R), isZero(A))); }
  void within(StringRef Least, StringRef Most) { nearest(either(isNaN(R), both(atLeast(R, Least), atMost(R, Most)))); }
  void isNotNegative() { always(either(isNaN(R), negate(isNegative(R)))); }
  // Finite numbers of the format are below 2 to this power.
  double largestExponent() const { return std::ldexp(1.0, S.Exponent - 1); }

private:
  const fltSemantics &Format;
  const bool HasMode; // all operations use one rounding mode, `mode`
};

static std::string decimal(double V) { return std::to_string(V); }

// b^x, given log2(b).
static void exponential(Facts &F, double Log2) {
  F.isNaNFor(isNaN(F.A));
  F.isNotNegative();
  double Most = (F.largestExponent() - 1) / Log2, Least = -(F.largestExponent() - 3) / Log2;
  F.nearest(implies(isInfinite(F.R), F.atLeast(F.A, decimal(Most - 1))));
  F.nearest(implies(apply("fp.leq", {F.R, F.leastNormal()}), F.atMost(F.A, decimal(Least + 1))));
  F.nearest(implies(F.atLeast(F.A, "0"), F.atLeast(F.R, "1")));
  F.nearest(implies(F.atMost(F.A, "0"), F.atMost(F.R, "1")));
}

// The logarithm to base b, given log2(b).
static void logarithm(Facts &F, double Log2) {
  F.isNaNFor(either(isNaN(F.A), apply("fp.lt", {F.A, F.number("0", true)})));
  F.always(either(isNaN(F.R), equal(isInfinite(F.R), either(isInfinite(F.A), isZero(F.A)))));
  F.always(implies(isZero(F.A), isNegative(F.R)));
  std::string Most = decimal((F.largestExponent() + F.S.Mantissa) / Log2 + 1);
  F.nearest(either(either(isNaN(F.R), isInfinite(F.R)), both(F.atLeast(F.R, "-" + Most), F.atMost(F.R, Most))));
  F.nearest(implies(F.atLeast(F.A, "1"), F.atLeast(F.R, "0")));
  F.nearest(implies(F.atMost(F.A, "1"), either(isNaN(F.R), F.atMost(F.R, "0"))));
  F.nearest(equal(isZero(F.R), F.is(F.A, "1")));
}

// A function that is odd, defined for all numbers, and zero at 0.
static void odd(Facts &F) {
  F.isNaNFor(isNaN(F.A));
  F.keepsSign();
  F.isZeroForZero();
}

static void odd(Facts &F, StringRef Most) {
  odd(F);
  F.within(("-" + Most).str(), Most);
}

static void isNaNOutside(Facts &F, StringRef Least, StringRef Most) {
  F.isNaNFor(negate(both(F.atLeast(F.A, Least), F.atMost(F.A, Most))));
}

// musl 1.2.3 returns numbers instead of NaN for some arguments below 1.
static void hyperbolic(Facts &F) {
  F.always(implies(isNaN(F.A), isNaN(F.R)));
  F.always(implies(F.atLeast(F.A, "1"), F.atLeast(F.R, "0")));
}

// newlib 3.3.0 returns a negative infinity for a base of 0.
static void power(Facts &F) {
  F.always(implies(isNaN(F.R), either(either(isNaN(F.A), isNaN(F.B)), isNegative(F.A))));
  Term IsPositive = apply("fp.gt", {F.A, F.number("0", true)}), IsSquare = both(F.is(F.B, "2"), negate(isZero(F.A)));
  F.always(implies(either(IsPositive, IsSquare), either(isNaN(F.R), negate(isNegative(F.R)))));
  // the result for a signalling NaN may be NaN
  Term IsOne = either(both(isZero(F.B), negate(isNaN(F.A))), both(F.is(F.A, "1"), negate(isNaN(F.B))));
  F.always(implies(IsOne, F.is(F.R, "1")));
}

static void remainder(Facts &F) {
  F.isNaNFor(either(either(isNaN(F.A), isNaN(F.B)), either(isInfinite(F.A), isZero(F.B))));
  F.keepsSign();
  Term Size = apply("fp.abs", {F.R});
  F.always(either(isNaN(F.R), both(apply("fp.leq", {Size, apply("fp.abs", {F.A})}),
                                   apply("fp.lt", {Size, apply("fp.abs", {F.B})}))));
  F.always(implies(both(isInfinite(F.B), negate(isNaN(F.R))), apply("fp.eq", {F.R, F.A})));
}

// The larger or the smaller number; for two zeros, either. A quiet NaN counts as missing; a signalling NaN does so only
// in some libraries.
static void extreme(Facts &F, const char *Order) {
  F.always(either(equal(F.R, F.A), equal(F.R, F.B)));
  F.always(either(either(isNaN(F.A), isNaN(F.B)), both(apply(Order, {F.R, F.A}), apply(Order, {F.R, F.B}))));
}

static constexpr StringRef Pi = "3.14159265358979323846", HalfPi = "1.57079632679489661923";
static constexpr double Log2OfE = 1.44269504088896340736, Log2Of10 = 3.32192809488736234787;

struct Known {
  unsigned Arguments; // number of arguments, all of the type of the result
  void (*State)(Facts &);
};

static const std::map<StringRef, Known> &known() {
  static const std::map<StringRef, Known> All{
      {"exp", {1, [](Facts &F) { exponential(F, Log2OfE); }}},
      {"exp2", {1, [](Facts &F) { exponential(F, 1); }}},
      {"exp10", {1, [](Facts &F) { exponential(F, Log2Of10); }}},
      {"expm1", {1, [](Facts &F) { odd(F), F.nearest(either(isNaN(F.R), F.atLeast(F.R, "-1"))); }}},
      {"log", {1, [](Facts &F) { logarithm(F, Log2OfE); }}},
      {"log2", {1, [](Facts &F) { logarithm(F, 1); }}},
      {"log10", {1, [](Facts &F) { logarithm(F, Log2Of10); }}},
      {"log1p", {1, [](Facts &F) { F.isNaNFor(negate(F.atLeast(F.A, "-1"))), F.keepsSign(), F.isZeroForZero(); }}},
      {"sin",
       {1, [](Facts &F) { F.isNaNFor(either(isNaN(F.A), isInfinite(F.A))), F.isZeroForZero(), F.within("-1", "1"); }}},
      {"cos",
       {1,
        [](Facts &F) {
          F.isNaNFor(either(isNaN(F.A), isInfinite(F.A))), F.nearest(negate(isZero(F.R))), F.within("-1", "1");
        }}},
      {"tan",
       {1,
        [](Facts &F) {
          F.isNaNFor(either(isNaN(F.A), isInfinite(F.A))), F.isZeroForZero(), F.nearest(negate(isInfinite(F.R)));
        }}},
      {"asin",
       {1,
        [](Facts &F) {
          isNaNOutside(F, "-1", "1"), F.keepsSign(), F.isZeroForZero(), F.within("-1.57079632679489661923", HalfPi);
        }}},
      {"acos", {1, [](Facts &F) { isNaNOutside(F, "-1", "1"), F.isNotNegative(), F.within("0", Pi); }}},
      {"atan", {1, [](Facts &F) { odd(F, HalfPi); }}},
      {"sinh", {1, [](Facts &F) { odd(F); }}},
      {"cosh", {1, [](Facts &F) { F.isNaNFor(isNaN(F.A)), F.nearest(either(isNaN(F.R), F.atLeast(F.R, "1"))); }}},
      {"tanh", {1, [](Facts &F) { odd(F, "1"); }}},
      {"asinh", {1, [](Facts &F) { odd(F); }}},
      {"acosh", {1, hyperbolic}},
      {"atanh", {1, [](Facts &F) { isNaNOutside(F, "-1", "1"), F.keepsSign(), F.isZeroForZero(); }}},
      {"cbrt", {1, [](Facts &F) { odd(F), F.always(equal(isInfinite(F.R), isInfinite(F.A))); }}},
      {"erf", {1, [](Facts &F) { odd(F, "1"); }}},
      {"erfc", {1, [](Facts &F) { F.isNaNFor(isNaN(F.A)), F.within("0", "2"); }}},
      {"atan2",
       {2,
        [](Facts &F) {
          F.isNaNFor(either(isNaN(F.A), isNaN(F.B))), F.keepsSign(), F.within("-3.14159265358979323846", Pi);
        }}},
      {"pow", {2, power}},
      {"hypot",
       {2, [](Facts &F) { F.isNotNegative(), F.always(implies(isNaN(F.R), either(isNaN(F.A), isNaN(F.B)))); }}},
      {"fmod", {2, remainder}},
      {"fmin", {2, [](Facts &F) { extreme(F, "fp.leq"); }}},
      {"fmax", {2, [](Facts &F) { extreme(F, "fp.geq"); }}},
  };
  return All;
}

} // namespace library

// The result of a call of the library function that is `Name` for double; nothing if the function is unknown. The
// caller translates the other effects of the call.
std::optional<Val> Frame::libraryFunction(const CallBase &I, StringRef Name) {
  std::optional<Sort> S = X.sortOf(I.getType());
  auto Found = library::known().find(Name);
  if (Found == library::known().end() || !S || S->K != Sort::Float || !isExact(I) ||
      I.arg_size() != Found->second.Arguments)
    return std::nullopt;
  std::vector<Term> Arguments;
  for (const Use &Argument : I.args()) {
    if (Argument->getType() != I.getType()) return std::nullopt;
    Val A = X.resolved(valueOf(Argument), "undefined behaviour" + place(I));
    if (!A.isFloat()) return std::nullopt;
    Arguments.push_back(X.floatOf(A));
  }
  // The facts refer to these arguments. A mutant that shares the result with the original may pass others.
  auto Make = [&] {
    Val Result = unknown(I, "call of " + Name.str());
    library::Facts F(I.getType()->getFltSemantics(), *S, Arguments.front(), Arguments.back(), X.floatOf(Result),
                     !X.ChangesMode);
    Found->second.State(F);
    for (const Term &Fact : F.All) X.S.require(Result.Bits, Fact);
    return Result;
  };
  X.Assumptions.insert(Name.str() +
                       " is the function of the C library, with the range, signs and special values that C states");
  return X.shared([&] { return X.resultOf(Name, *S, Arguments, Make); });
}

// Returns the value of an earlier call with the same function and arguments, else calls `Make`.
Val Translator::resultOf(StringRef Function, Sort S, const std::vector<Term> &Arguments,
                         const std::function<Val()> &Make) {
  if (ChangesMode) return Make();
  std::string Key = Function.str() + " " + S.text();
  for (const Term &A : Arguments) Key += " " + A;
  auto [Found, IsNew] = Results.try_emplace(Key);
  if (IsNew) Found->second = Make();
  return Found->second;
}

} // namespace pen::smt
