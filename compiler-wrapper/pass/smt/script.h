// Terms of SMT-LIB (QF_BVFP) and the script that defines them. Each definition is one line, so a reader can extract the
// lines that a term needs.
#pragma once

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace pen::smt {

// A literal or the name of a definition.
using Term = std::string;

struct Sort {
  enum Kind { Bool, Bits, Float } K = Bool;
  unsigned Width = 1; // of Bits; for a float the number of all its bits
  unsigned Exponent = 0, Mantissa = 0; // of a float; the mantissa includes its hidden bit

  static Sort boolean() { return {}; }
  static Sort bits(unsigned Width) { return {Bits, Width, 0, 0}; }
  std::string text() const;
  bool operator==(const Sort &O) const { return K == O.K && Width == O.Width && Exponent == O.Exponent; }
};

// Operators that simplify constants and nothing else.
Term negate(const Term &A);
Term both(const Term &A, const Term &B);
Term either(const Term &A, const Term &B);
Term choose(const Term &If, const Term &Then, const Term &Else);
Term apply(llvm::StringRef Operator, std::initializer_list<Term> Operands);
Term indexed(llvm::StringRef Operator, std::initializer_list<unsigned> Indices);
Term literal(const llvm::APInt &V);
Term literal(const llvm::APFloat &V, Sort S);

class Script {
public:
  // Returns the name of an expression; equal expressions have one name. Names and literals are returned unchanged.
  Term define(Sort S, const Term &Body);
  Term defineBool(const Term &Body) { return define(Sort::boolean(), Body); }
  // An unconstrained value; `Why` is the reason. By default it gets a generated name.
  Term fresh(Sort S, const std::string &Why, Term Name = "");
  Term freshMode(const std::string &Why);
  // Adds a fact that always holds for a fresh value.
  void require(const Term &Fresh, const Term &Fact);
  void declare(const Term &Name, Sort S);
  void comment(const std::string &Text) { Lines.push_back("; " + Text); }
  void goal(const std::string &Name, const Term &Body);
  // Adds a fact that may hold for a fresh value of the loop with this number.
  void invariant(const std::string &Name, const Term &Fresh, unsigned Loop, const Term &Body, const std::string &Text);

  size_t size() const { return Lines.size(); }
  const std::vector<std::string> &lines() const { return Lines; }

private:
  std::vector<std::string> Lines;
  llvm::StringMap<Term> Known; // by sort and expression
  unsigned Names = 0;
};

} // namespace pen::smt
