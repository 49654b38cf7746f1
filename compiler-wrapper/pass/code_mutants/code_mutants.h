// Mutants (-fpen-mutants): small changes of the program, all in one binary behind a switch ("schemata": Untch, Offutt and Harrold,
// *Mutation analysis using mutant schemata*, ISSTA 1993).
//
// A mutation point is an instruction. It is a site of kind PEN_MUTATION, with a branch for each of its mutants: the action byte of the
// branch identifies the mutant, and a run takes the branch if the mutant is infected there, that is, if it would compute another value
// than the original. Points are found when locals are in registers and before hooks are inserted, so that they are those of the source.
// The code of the mutants is inserted behind the hooks.
#pragma once

#include "../plugin.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include <functional>

namespace pen::mutants {

struct Mutant {
  std::string Operator; // as reports name it
  std::string Text;     // "a < b → a <= b"
  // Emits the value that the mutant has in place of that of its point; null if it has none. The point itself is not executed.
  std::function<llvm::Value *(llvm::IRBuilder<> &)> Emit;
  // Without effects and traps, so that the original run can compute it, too.
  bool IsPure = true;
  // Of comparisons: the predicate that holds for the operands for which original and mutant differ.
  std::optional<llvm::CmpInst::Predicate> Differs;
  bool AlwaysDiffers = false;
  // Its optimized code is that of the original; or of another mutant of the function, so many before it.
  bool IsOriginal = false;
  unsigned SameAs = 0;
};

// All that uses the value of a point, if these are comparisons alone: of the value, or of what pure instructions make of it. The other
// operands are known at the point, or can be computed there.
struct Decisions {
  llvm::SmallSetVector<const llvm::CmpInst *, 4> Comparisons; // empty if there are other uses
  llvm::SmallPtrSet<const llvm::Instruction *, 8> Again;     // instructions that a comparison needs, and whose values are not known at the point
};

struct Point {
  llvm::Instruction *At = nullptr;
  unsigned ConstantOperand = ~0u; // the point is this operand of `At`, and not `At`
  std::vector<Mutant> All;
  // A mutant that changes none of these comparisons changes nothing.
  Decisions Decides;
};

// text.cc: the variables of a function as the debug information describes them: which value they have where.
class Variables {
public:
  explicit Variables(llvm::Function &F);
  ~Variables();
  // A value as C writes it, as far as names are known; "…" for what is not.
  std::string textOf(llvm::Value *V, unsigned Depth = 2) const;
  // The operation of an instruction, also if a variable gets its value.
  std::string operationOf(const llvm::Instruction &I) const;
  // Variables other than V with a value of its type at an instruction: names and values, in the order of declaration.
  std::vector<std::pair<std::string, llvm::WeakTrackingVH>> othersLike(llvm::Value *V, llvm::Instruction *At);
  // The variable that gets the value of an instruction, and the value that it had before; null for none.
  std::pair<std::string, llvm::Value *> overwrittenBy(llvm::Instruction *I);

private:
  struct Tables;
  std::unique_ptr<Tables> T;
};

// operators.cc, calls.cc: the mutants of an instruction, at most `MostMutants`, those first that are the likeliest to differ.
constexpr unsigned MostMutants = 32; // bits of pen_site.possible
std::vector<Mutant> mutantsOf(llvm::Instruction &I, Variables &Names, bool DecidesLoop);
void addCallMutants(std::vector<Mutant> &All, llvm::CallInst &Call, Variables &Names);
// The mutants of a constant operand.
std::vector<Mutant> mutantsOfConstant(llvm::Instruction &I, unsigned Operand, Variables &Names);

// decisions.cc: the comparisons that decide whether a mutant of a value changes anything.
Decisions decisionsOf(const llvm::Instruction &At, const llvm::DominatorTree &Tree);
// The comparison for another value of the point; `Point` is what stands for that value now.
llvm::Value *decide(llvm::IRBuilder<> &B, const Decisions &All, const llvm::CmpInst &Cmp, llvm::Value *Point, llvm::Value *Of);

// schemata.cc: the mutation points of a function, in the order of their sites.
std::vector<Point> pointsOf(llvm::Function &F, const FunctionPlan &Plan);

// equivalence.cc: a copy of the function with the mutant in it, and the map of its values to those of the copy.
llvm::Function *mutated(llvm::Function &F, const Point &P, const Mutant &M, llvm::ValueToValueMapTy &Map);
// Finds the mutants with the same optimized code as the original, or as another.
void findEqual(llvm::Function &F, llvm::MutableArrayRef<Point> Points);

} // namespace pen::mutants

namespace pen {

// Mutation points of a function, in the order of their sites in the plan.
struct MutationPoints {
  std::vector<mutants::Point> All;
  unsigned FirstSite = 0;
};

// schemata.cc: adds the mutation points of the plan's function to its sites, if it is to have any; and inserts the mutants' code, after
// the hooks.
MutationPoints addMutationSites(FunctionPlan &Plan);
void insertMutants(Context &X, const FunctionPlan &Plan, MutationPoints &Points, llvm::GlobalVariable *Actions);
bool hasMutants(const llvm::Function &F);
// Notes what is arithmetic of the source, before locals are moved to registers.
void markArithmetic(llvm::Function &F);

} // namespace pen
