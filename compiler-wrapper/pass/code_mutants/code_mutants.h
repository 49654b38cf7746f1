// Mutants (-fpen-mutants): small changes of the program, all compiled into one binary and selected by a switch
// ("schemata": Untch, Offutt and Harrold, *Mutation analysis using mutant schemata*, ISSTA 1993).
//
// A mutation point is an instruction. It is a site of kind PEN_MUTATION with one branch per mutant. The action byte of
// the branch identifies the mutant. A run takes the branch if the mutant is infected there, that is, if it would
// compute another value than the original. Points are found when locals are in registers and before hooks are inserted,
// so that they correspond to the source. The code of the mutants is inserted after the hooks.
#pragma once

#include "../plugin.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include <functional>

namespace pen::mutants {

struct Mutant {
  std::string Operator; // the name in reports
  std::string Text;     // "a < b → a <= b"
  // Emits the mutant's value, which replaces the value of the point; null if there is no value. The point itself is not
  // executed.
  std::function<llvm::Value *(llvm::IRBuilder<> &)> Emit;
  // It has no side effects and cannot trap, so the original run can compute it, too.
  bool IsPure = true;
  // For comparisons: the predicate that holds if and only if original and mutant differ for the operands.
  std::optional<llvm::CmpInst::Predicate> Differs;
  bool AlwaysDiffers = false;
  // Its optimized code equals that of the original, or (`SameAs`) that of the mutant this number of mutants before it
  // in the function.
  bool IsOriginal = false;
  unsigned SameAs = 0;
};

// The comparisons that use the value of a point, directly or through pure instructions, provided that the value has no
// other uses. The other operands are available at the point, or can be computed there.
struct Decisions {
  llvm::SmallSetVector<const llvm::CmpInst *, 4> Comparisons; // empty if there are other uses
  // instructions that a comparison needs and that are computed again at the point
  llvm::SmallPtrSet<const llvm::Instruction *, 8> Again;
};

struct Point {
  llvm::Instruction *At = nullptr;
  unsigned ConstantOperand = ~0u; // if set, the point is this operand of `At` instead of `At` itself
  std::vector<Mutant> All;
  // A mutant that does not change the result of any of these comparisons has no effect.
  Decisions Decides;
};

// text.cc: the variables of a function and their values at each place, as the debug information describes them.
class Variables {
public:
  explicit Variables(llvm::Function &F);
  ~Variables();
  // A value in C notation, as far as names are known; unknown parts are "…".
  std::string textOf(llvm::Value *V, unsigned Depth = 2) const;
  // The operation of an instruction in C notation, also if a variable gets its value.
  std::string operationOf(const llvm::Instruction &I) const;
  // The variables other than V that have a value of its type at an instruction: names and values, in the order of
  // declaration.
  std::vector<std::pair<std::string, llvm::WeakTrackingVH>> othersLike(llvm::Value *V, llvm::Instruction *At);
  // The variable that gets the value of an instruction, and its previous value; null if there is none.
  std::pair<std::string, llvm::Value *> overwrittenBy(llvm::Instruction *I);

private:
  struct Tables;
  std::unique_ptr<Tables> T;
};

// operators.cc, calls.cc: the mutants of an instruction, at most `MostMutants`, those that most likely differ first.
constexpr unsigned MostMutants = 32; // bits of pen_site.possible
std::vector<Mutant> mutantsOf(llvm::Instruction &I, Variables &Names, bool DecidesLoop);
void addCallMutants(std::vector<Mutant> &All, llvm::CallInst &Call, Variables &Names);
// The mutants of a constant operand.
std::vector<Mutant> mutantsOfConstant(llvm::Instruction &I, unsigned Operand, Variables &Names);

// decisions.cc: the comparisons that decide whether a mutant of a value changes anything.
Decisions decisionsOf(const llvm::Instruction &At, const llvm::DominatorTree &Tree);
// The comparison, computed with the value `Of` instead of the value of the point; `Point` is the instruction that now
// has that value.
llvm::Value *decide(llvm::IRBuilder<> &B, const Decisions &All, const llvm::CmpInst &Cmp, llvm::Value *Point,
                    llvm::Value *Of);

// schemata.cc: the mutation points of a function, in the order of their sites.
std::vector<Point> pointsOf(llvm::Function &F, const FunctionPlan &Plan);

// equivalence.cc: a copy of the function with the mutant applied. `Map` maps the function's values to those of the
// copy.
llvm::Function *mutated(llvm::Function &F, const Point &P, const Mutant &M, llvm::ValueToValueMapTy &Map);
// Finds the mutants whose optimized code equals that of the original or of another mutant.
void findEqual(llvm::Function &F, llvm::MutableArrayRef<Point> Points);

} // namespace pen::mutants

namespace pen {

// The mutation points of a function, in the order of their sites in the plan.
struct MutationPoints {
  std::vector<mutants::Point> All;
  unsigned FirstSite = 0;
};

// schemata.cc: addMutationSites adds the mutation points of the plan's function to its sites, if the options request
// mutants of it; insertMutants inserts the mutants' code, after the hooks.
MutationPoints addMutationSites(FunctionPlan &Plan);
void insertMutants(Context &X, const FunctionPlan &Plan, MutationPoints &Points, llvm::GlobalVariable *Actions);
bool hasMutants(const llvm::Function &F);
// Marks the arithmetic of the source, before locals are moved to registers.
void markArithmetic(llvm::Function &F);

} // namespace pen
