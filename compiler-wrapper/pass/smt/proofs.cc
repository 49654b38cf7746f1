// Writes the translation of functions, one file each, for `penfuzz prove`. This happens only if the environment names a
// directory for them. Then the compiler exits after writing them, without an object file.
#include "callees.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/raw_ostream.h"

namespace pen::smt {
using namespace llvm;

// The environment variables:
//
// - PEN_PROOFS: the directory.
// - PEN_PROOFS_OF: the functions, one symbol per line; all if it is empty.
// - PEN_PROOFS_INPUTS: if set, global variables are inputs.
// - PEN_PROOFS_UNWRITTEN: the variables that no other module writes, one per line.
// - PEN_PROOFS_ROUNDS: the number of rounds of each loop that are peeled, in queries for models.
// - PEN_PROOFS_PATHS: a file of paths; then all queries are about these. A line has a symbol, the number of the path,
//   and `SITE:BRANCH` for each of its branches.
// - PEN_PROOFS_INSIDE: the symbol of a function. There are also queries about the operations of the functions that it
//   calls, in the context of these calls.
// - PEN_PROOFS_LOOPS: if set, there are queries about the first rounds of loops.
static constexpr const char *Directory = "PEN_PROOFS", *Wanted = "PEN_PROOFS_OF",
                            *GlobalInputs = "PEN_PROOFS_INPUTS", *Others = "PEN_PROOFS_UNWRITTEN",
                            *Rounds = "PEN_PROOFS_ROUNDS", *Paths = "PEN_PROOFS_PATHS", *WithLoops = "PEN_PROOFS_LOOPS",
                            *Inside = "PEN_PROOFS_INSIDE";

static std::set<std::string> linesOf(const char *Variable) {
  std::set<std::string> Lines;
  const char *Text = std::getenv(Variable);
  for (StringRef Rest = Text ? Text : ""; !Rest.empty();) {
    auto [Line, More] = Rest.split('\n');
    if (!Line.empty()) Lines.insert(Line.str());
    Rest = More;
  }
  return Lines;
}

// Whether F or one of its callees may set the rounding mode.
static bool changesMode(const Function &F, std::set<const Function *> &Seen) {
  static const std::set<StringRef> Setters = {
      "fesetround",          "fesetenv",          "feupdateenv",         "fesetmode",
      "__fesetround",        "llvm.set.rounding", "llvm.set.fpenv.i256", "llvm.set.fpmode.i32",
      "llvm.x86.sse.ldmxcsr"};
  if (!Seen.insert(&F).second) return false;
  for (const Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call) continue;
    if (Call->isInlineAsm()) return true;
    const Function *Callee = Call->getCalledFunction();
    if (!Callee) continue;
    StringRef Name = Callee->getName();
    if (Setters.count(Name) || Name.starts_with("llvm.set.fp")) return true;
    if (!Callee->isDeclaration() && changesMode(*Callee, Seen)) return true;
  }
  return false;
}

// Whether a call in `From` or in its callees may begin another activation of F. Calls of F in F itself are not counted.
static bool mayBegin(const Function &F, const Function &From, std::set<const Function *> &Seen) {
  for (const Instruction &I : instructions(From)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || isa<IntrinsicInst>(I)) continue;
    const Function *Callee = Call->getCalledFunction();
    if (Callee == &F && &From == &F) continue;
    if (Callee == &F) return true;
    // An external or unknown callee can call only functions whose addresses are taken.
    if (!Callee || Callee->isDeclaration()) {
      if (F.hasAddressTaken()) return true;
    } else if (Seen.insert(Callee).second && mayBegin(F, *Callee, Seen)) {
      return true;
    }
  }
  return false;
}

static bool callsItself(const Function &F, bool OnlyThroughOthers) {
  std::set<const Function *> Seen;
  auto IsOwn = [&](const Instruction &I) { return isa<CallBase>(I) && cast<CallBase>(I).getCalledFunction() == &F; };
  return mayBegin(F, F, Seen) || (!OnlyThroughOthers && any_of(instructions(F), IsOwn));
}

// x87 computes in its own precision.
static bool hasExactFloats(const Function &F) {
  std::string Triple = F.getParent()->getTargetTriple().str();
  StringRef Features = F.getFnAttribute("target-features").getValueAsString();
  if (StringRef(Triple).starts_with("x86_64")) return !Features.contains("-sse2");
  return StringRef(Triple).starts_with("aarch64") || StringRef(Triple).starts_with("riscv64");
}

Term outcomeOf(Frame &Top, const Site &S, const Instruction &At, unsigned Branch) {
  if (auto *Br = dyn_cast<BranchInst>(&At)) return Top.edgeOf(*Br, Branch);
  if (auto *Sw = dyn_cast<SwitchInst>(&At)) {
    Term Any = Branch == 0 ? Top.caseOf(*Sw, Sw->getNumCases()) : "false";
    for (unsigned K = 0; K < S.CaseBranches.size(); K++)
      if (S.CaseBranches[K] == Branch) Any = either(Any, Top.caseOf(*Sw, K));
    return Any;
  }
  Term Reached = Top.reachOf(At.getParent());
  if (Reached == "false") return "false";
  Term Condition = Top.conditionOf(At);
  return both(Reached, Branch == 0 ? Condition : negate(Condition));
}

static std::string hashOf(const Function &F, const SmallPtrSetImpl<const Function *> &Inlined) {
  std::set<std::string> Texts;
  for (const Function *Each : Inlined) {
    std::string Text;
    raw_string_ostream Out(Text);
    Each->print(Out);
    Texts.insert(Out.str());
  }
  std::string All;
  raw_string_ostream Out(All);
  F.print(Out);
  for (const std::string &Text : Texts) Out << Text;
  MD5 Hash;
  Hash.update(Out.str());
  MD5::MD5Result Result;
  Hash.final(Result);
  return std::string(Result.digest());
}

static void write(Translator &X, const FunctionPlan &Plan, StringRef To) {
  const Function &F = *Plan.F;
  std::string Unit = unitOf(*F.getParent());
  std::string Name = To.str() + "/" + utohexstr(MD5Hash(Unit + "\n" + F.getName().str())) + ".smt2";
  std::error_code Failure;
  raw_fd_ostream Out(Name, Failure);
  if (Failure) return;
  Out << "; penfuzz-proofs 1\n; unit " << Unit << "\n; symbol " << F.getName() << "\n; hash " << hashOf(F, X.Inlined)
      << "\n";
  if (X.IsRecursive) Out << "; recursive\n";
  for (const std::string &Text : X.Assumptions) Out << "; assumption " << Text << "\n";
  for (const std::string &Line : X.S.lines()) Out << Line << "\n";
  Out << "; end\n";
}

// Each kind has its own names, because sites of several kinds may have one place in the source.
static std::string goalOf(const Site &S, unsigned Number, unsigned Branch) {
  StringRef Kind = S.isComparison() ? "side_" : S.isOperation() ? "raise_" : "site_";
  return Kind.str() + std::to_string(Number) + "_" + std::to_string(Branch);
}

static void noteSite(Translator &X, const Site &S, unsigned Number) {
  const DebugLoc &L = S.Where;
  X.S.comment("site " + std::to_string(Number) + " " + std::to_string(L ? L.getLine() : 0) + " " +
              std::to_string(L ? L.getCol() : 0));
}

// Writes the goals of the boundary values of a comparison, or of the exceptions of an operation.
static void writeBeside(Translator &X, Frame &Top, const Site &S, unsigned Number) {
  noteSite(X, S, Number);
  for (unsigned K = 0; K < S.Branches; K++)
    if (std::optional<Term> Is = S.isComparison() ? Top.sideOf(S, K) : Top.raises(S, K))
      X.S.goal(goalOf(S, Number, K), *Is);
}

SiteNumbers numbersOf(const FunctionPlan &Plan) {
  SiteNumbers Numbers;
  for (unsigned I = 0; I < Plan.Sites.size(); I++)
    if (Plan.Sites[I].isConditional() && Plan.Sites[I].At) Numbers[&*Plan.Sites[I].At] = I;
  return Numbers;
}

static void writeSites(Translator &X, const FunctionPlan &Plan, ArrayRef<Val> Args, const Memory &Start,
                       CalleeExceptions *Callees) {
  Frame Top(X, *Plan.F, Args, "true", Start, 0);
  X.Inside = Callees;
  Top.run();
  X.Inside = nullptr;
  if (Callees) Callees->write(X);
  for (unsigned I = 0; I < Plan.Sites.size(); I++) {
    const Site &S = Plan.Sites[I];
    if ((S.isComparison() || S.isOperation()) && !X.HasFewRounds) writeBeside(X, Top, S, I);
    if (!S.isConditional() || !S.At || !isa<BranchInst, SwitchInst, SelectInst>(&*S.At)) continue;
    noteSite(X, S, I);
    std::vector<Instruction *> Copies = X.HasFewRounds ? copiesOf(Plan, I) : std::vector{cast<Instruction>(&*S.At)};
    for (unsigned K = 0; K < S.Branches; K++) {
      Term Any = "false";
      for (Instruction *At : Copies) Any = either(Any, outcomeOf(Top, S, *At, K));
      X.S.goal(goalOf(S, I, K), Any);
    }
  }
}

// Writes the queries about these paths of the function or, if `Asked` is null, about each of its sites.
static void prove(const FunctionPlan &Plan, StringRef To, const PathsOf *Asked, ArrayRef<FunctionPlan> All) {
  Function &F = *Plan.F;
  if (F.callsFunctionThatReturnsTwice()) return;
  Translator X(*F.getParent());
  if (const char *Text = std::getenv(Rounds)) {
    X.HasFewRounds = true;
    X.Assumptions.insert("each loop makes few rounds: only a model means something");
    unfoldLoops(Plan, std::max(1, std::atoi(Text)));
  }
  X.HasGlobalInputs = std::getenv(GlobalInputs);
  X.Unwritten = linesOf(Others);
  X.WithInvariants = !Asked;
  std::set<const Function *> Seen;
  X.ChangesMode = changesMode(F, Seen);
  X.HasExactFloats = hasExactFloats(F);
  X.Active.push_back(&F);
  std::vector<Val> Args;
  for (Argument &A : F.args()) Args.push_back(X.argument(A.getType(), A.getArgNo()));
  Memory Start = X.initialMemory();
  if (!Asked) {
    const char *Named = std::getenv(Inside);
    CalleeExceptions Callees(All);
    writeSites(X, Plan, Args, Start, Named && F.getName() == Named && !X.HasFewRounds ? &Callees : nullptr);
    // In a recursive function, the rounds of one activation are not those in the record of an execution.
    if (std::getenv(WithLoops) && !callsItself(F, false) && !X.HasFewRounds) writeLoops(X, Plan, Args, Start);
  } else {
    for (unsigned I = 0; I < Plan.Sites.size(); I++)
      if (Plan.Sites[I].isConditional()) noteSite(X, Plan.Sites[I], I);
    X.IsRecursive = callsItself(F, true);
    if (!X.IsRecursive) writePaths(X, Plan, Args, Start, *Asked);
  }
  write(X, Plan, To);
}

void writeProofs(ArrayRef<FunctionPlan> Plans) {
  const char *To = std::getenv(Directory);
  if (!To || !*To) return;
  std::set<std::string> Symbols = linesOf(Wanted);
  if (writeMutants(Plans, To)) std::_Exit(0);
  const char *File = std::getenv(Paths);
  std::map<std::string, PathsOf> All = File ? readPaths(File) : std::map<std::string, PathsOf>();
  for (const FunctionPlan &Plan : Plans) {
    std::string Symbol = Plan.F->getName().str();
    if (!Symbols.empty() && !Symbols.count(Symbol)) continue;
    prove(Plan, To, File ? &All[Symbol] : nullptr, Plans);
  }
  std::_Exit(0);
}

} // namespace pen::smt
