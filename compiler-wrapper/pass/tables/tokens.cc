// Collects tokens, the strings and bytes that a function compares its data with. Inputs are built from them. Tokens are
// the constant arguments of functions such as strcmp, also if the program's own functions pass them on, and the
// characters in comparisons.
#include "../plugin.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"

#include <set>

namespace pen {
using namespace llvm;

namespace {

// Longer constants are messages rather than parts of an input.
constexpr size_t MaxTokenBytes = 64;
// The limit per function; generated tables of keywords have thousands of entries.
constexpr size_t MaxTokens = 256;
// The limit of nested constants: a table of structures that point to strings has three levels.
constexpr unsigned MaxLevels = 5;

// The form of a constant argument of a C function.
enum class Text { String, Memory, Set, Byte, Format };
struct TokenArgument {
  StringLiteral Name;
  unsigned Index, LengthIndex; // LengthIndex 0: none
  Text Is;
};
constexpr TokenArgument TokenArguments[] = {
    {"strstr", 1, 0, Text::String},   {"strcasestr", 1, 0, Text::String}, {"memmem", 2, 3, Text::Memory},
    {"strchr", 1, 0, Text::Byte},     {"strrchr", 1, 0, Text::Byte},      {"memchr", 1, 0, Text::Byte},
    {"index", 1, 0, Text::Byte},      {"strspn", 1, 0, Text::Set},        {"strcspn", 1, 0, Text::Set},
    {"strpbrk", 1, 0, Text::Set},     {"strtok", 1, 0, Text::Set},        {"strtok_r", 1, 0, Text::Set},
    {"strsep", 1, 0, Text::Set},      {"sscanf", 1, 0, Text::Format},     {"__isoc99_sscanf", 1, 0, Text::Format},
    {"__isoc23_sscanf", 1, 0, Text::Format},
};

class TokenCollector {
public:
  explicit TokenCollector(const TextParameters &Passed) : Passed(Passed) {}
  std::vector<std::string> Found;

  void addArguments(const CallBase &Call) {
    const Function *F = Call.getCalledFunction();
    if (!F || F->isIntrinsic()) return;
    if (const ByteFunction *Compares = byteFunctionOf(*F)) {
      const Value *Length = Compares->HasLength ? Call.getArgOperand(2) : nullptr;
      Text Is = Compares->How & PEN_BYTES_ENDED ? Text::String : Text::Memory;
      for (unsigned I : {0, 1}) addText(Call.getArgOperand(I), Length, Is);
    }
    for (const TokenArgument &T : TokenArguments)
      if (F->isDeclaration() && F->getName() == T.Name && T.Index < Call.arg_size() && T.LengthIndex < Call.arg_size())
        addText(Call.getArgOperand(T.Index), T.LengthIndex ? Call.getArgOperand(T.LengthIndex) : nullptr, T.Is);
    for (const Argument &A : F->args())
      if (Passed.contains(&A) && A.getArgNo() < Call.arg_size())
        addText(Call.getArgOperand(A.getArgNo()), nullptr, Text::String);
  }

  // Adds `c == 'x'` and the labels of a switch on a character. The character may be extended.
  void addCharacters(const Instruction &I) {
    if (auto *Cmp = dyn_cast<ICmpInst>(&I); Cmp && Cmp->isEquality() && isCharacter(Cmp->getOperand(0)))
      addCharacter(Cmp->getOperand(1));
    if (auto *Sw = dyn_cast<SwitchInst>(&I); Sw && isCharacter(Sw->getCondition()))
      for (auto &Case : Sw->cases()) addCharacter(Case.getCaseValue());
  }

private:
  const TextParameters &Passed;
  std::set<std::string> Known;

  void add(StringRef Token) {
    if (Token.empty() || Token.size() > MaxTokenBytes || Found.size() >= MaxTokens) return;
    if (Known.insert(Token.str()).second) Found.push_back(Token.str());
  }

  static bool isCharacter(const Value *V) {
    if (isa<SExtInst>(V) || isa<ZExtInst>(V)) V = cast<CastInst>(V)->getOperand(0);
    return V->getType()->isIntegerTy(8);
  }

  void addCharacter(const Value *V) {
    auto *K = dyn_cast<ConstantInt>(V);
    if (!K || K->getBitWidth() > 64 || K->isZero() || K->getSExtValue() < INT8_MIN || K->getSExtValue() > UINT8_MAX)
      return;
    add(std::string(1, char(K->getSExtValue())));
  }

  void addText(const Value *V, const Value *Length, Text Is) {
    if (Is == Text::Byte) return addCharacter(V);
    StringRef Bytes;
    if (!getConstantStringInfo(V, Bytes, /*TrimAtNul=*/false)) return addTable(V);
    if (auto *K = dyn_cast_or_null<ConstantInt>(Length)) Bytes = Bytes.take_front(K->getLimitedValue());
    if (Is != Text::Memory) Bytes = Bytes.take_until([](char C) { return !C; });
    if (Is == Text::Set)
      for (char C : Bytes) add(StringRef(&C, 1));
    else if (Is == Text::Format) addFormat(Bytes);
    else add(Bytes);
  }

  // Adds the text between the conversions of a format.
  void addFormat(StringRef Format) {
    while (!Format.empty()) {
      add(Format.take_until([](char C) { return C == '%' || C == ' '; }));
      Format = Format.drop_until([](char C) { return C == '%' || C == ' '; });
      if (Format.consume_front(" ") || Format.consume_front("%%")) continue;
      Format = Format.drop_until([](char C) { return C == '[' || (C >= 'a' && C <= 'z') || (C >= 'A' && C <= 'Z'); });
      while (Format.starts_with("h") || Format.starts_with("l") || Format.starts_with("L"))
        Format = Format.drop_front();
      if (Format.consume_front("["))
        Format = Format.drop_front(Format.empty() ? 0 : 1).drop_until([](char C) { return C == ']'; });
      Format = Format.drop_front(Format.empty() ? 0 : 1);
    }
  }

  // If the value is an element of a table, such as `keywords[i].name`, adds every string of the table.
  void addTable(const Value *V) {
    if (auto *Load = dyn_cast<LoadInst>(V)) V = Load->getPointerOperand();
    auto *G = dyn_cast<GlobalVariable>(getUnderlyingObject(V));
    if (G && G->isConstant() && G->hasDefinitiveInitializer()) addStrings(G->getInitializer(), 0);
  }

  void addStrings(const Constant *K, unsigned Level) {
    if (Level > MaxLevels || Found.size() >= MaxTokens) return;
    if (auto *Data = dyn_cast<ConstantDataSequential>(K)) {
      if (Data->isString()) add(Data->getAsString().take_until([](char C) { return !C; }));
    } else if (auto *G = dyn_cast<GlobalVariable>(K)) {
      if (G->isConstant() && G->hasDefinitiveInitializer()) addStrings(G->getInitializer(), Level + 1);
    } else if (isa<ConstantAggregate>(K) || isa<ConstantExpr>(K)) {
      for (const Use &Operand : K->operands()) addStrings(cast<Constant>(Operand.get()), Level + 1);
    }
  }
};

// Adds the parameters of F that a call in F compares or passes on. Returns whether one of them is new.
bool addParameters(const Function &F, TextParameters &Passed) {
  bool IsNew = false;
  for (const Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    if (!Callee || Callee->isIntrinsic()) continue;
    bool Compares = byteFunctionOf(*Callee);
    for (unsigned N = 0; N < Call->arg_size() && N < Callee->arg_size(); N++) {
      auto *A = dyn_cast<Argument>(Call->getArgOperand(N));
      if (A && A->getType()->isPointerTy() && ((Compares && N < 2) || Passed.contains(Callee->getArg(N))))
        IsNew |= Passed.insert(A).second;
    }
  }
  return IsNew;
}

} // namespace

TextParameters textParametersOf(ArrayRef<FunctionPlan> Plans) {
  TextParameters Passed;
  // Each round finds the callers of the functions of the round before; a chain of three wrappers is rare.
  for (unsigned Round = 0; Round < 4; Round++) {
    bool IsNew = false;
    for (const FunctionPlan &Plan : Plans) IsNew |= addParameters(*Plan.F, Passed);
    if (!IsNew) break;
  }
  return Passed;
}

std::vector<std::string> tokensOf(const Function &F, const TextParameters &Passed) {
  TokenCollector Tokens(Passed);
  for (const Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallBase>(&I)) Tokens.addArguments(*Call);
  for (const Instruction &I : instructions(F)) Tokens.addCharacters(I);
  return std::move(Tokens.Found);
}

} // namespace pen
