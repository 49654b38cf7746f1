// The pen pass: finds the conditionals of a module, puts a hook before each and describes them in tables
// (runtime/pen.h).
//
// It runs at PipelineStart, before any optimization. There the conditionals are those of the source, and those that
// gcov counts. Afterwards the user's -O level optimizes program and hooks together.
#include "plugin.h"

#include "code_mutants/code_mutants.h"
#include "smt/smt.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

// The plugin has two translation units, this one and formulas.cc. Each file of its own would read LLVM's headers again,
// which takes seconds.
#include "hooks/frame.cc"
#include "hooks/goal.cc"
#include "hooks/hook.cc"
#include "hooks/shadow.cc"
#include "hooks/thrown.cc"
#include "hooks/uninitialized.cc"
#include "sites/assume.cc"
#include "sites/boundary.cc"
#include "sites/bytes.cc"
#include "sites/cases.cc"
#include "sites/composed.cc"
#include "sites/condition.cc"
#include "sites/counters.cc"
#include "sites/decision.cc"
#include "sites/division.cc"
#include "sites/made.cc"
#include "sites/operands.cc"
#include "sites/operation.cc"
#include "sites/moves.cc"
#include "sites/plan.cc"
#include "sites/straighten.cc"
#include "tables/agreement.cc"
#include "tables/buffers.cc"
#include "tables/extents.cc"
#include "tables/reads.cc"
#include "tables/references.cc"
#include "tables/signature.cc"
#include "tables/tables.cc"
#include "tables/tokens.cc"
#include "tables/types.cc"
#include "tables/voids.cc"
// In this unit because they need PassBuilder.h, which formulas.cc does not read.
#include "code_mutants/equivalence.cc"
#include "smt/rounds.cc"

using namespace llvm;

namespace pen {

bool isInstrumented(const Function &F) {
  return !F.isDeclaration() && !F.hasAvailableExternallyLinkage() && !F.hasFnAttribute(Attribute::Naked) &&
         !F.hasFnAttribute(Attribute::NoSanitizeCoverage) &&
         !F.hasFnAttribute(Attribute::DisableSanitizerInstrumentation) && !F.getName().starts_with("__pen_") &&
         !F.getName().starts_with("_GLOBAL__sub_I_") && !F.getName().starts_with("__cxx_global_");
}

// Moves values from stack slots to registers, so that a condition can be traced to its comparisons. The blocks stay.
static void promote(Function &F, FunctionAnalysisManager &FAM) {
  if (F.callsFunctionThatReturnsTwice()) return; // locals must stay in memory for longjmp
  fillLocals(F);
  PreservedAnalyses PA = SROAPass(SROAOptions::PreserveCFG).run(F, FAM);
  keepUsedFills(F);
  FAM.invalidate(F, PA);
}

// A function of this file that does not return, such as the handler of all failed checks, declared so or not.
static bool neverReturns(const Function *F) {
  auto Ends = [](const Instruction &I) { return isa<CallBase>(I) && cast<CallBase>(I).doesNotReturn(); };
  auto Returns = [&](const BasicBlock &B) { return isa<ReturnInst>(B.getTerminator()) && none_of(B, Ends); };
  return F && !F->isDeclaration() && !F->isInterposable() && none_of(reverse(*F), Returns);
}

// Keeps calls of abort(), and of a function that ends by it, at different lines apart, because crashes are
// distinguished by the place where the program ends.
static void keepNoReturnCallsApart(Function &F) {
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (Call && (Call->doesNotReturn() || neverReturns(Call->getCalledFunction()))) Call->addFnAttr(Attribute::NoMerge);
  }
}

// An access through a null pointer ends a program that is compiled without optimization. The optimizer may assume that
// it does not happen and remove it.
static void keepNullAccesses(Function &F) { F.addFnAttr(Attribute::NullPointerIsValid); }

class PenPass : public PassInfoMixin<PenPass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    if (M.getNamedGlobal("__pen_state")) return PreservedAnalyses::all(); // the bitcode is instrumented already
    dropCounters(M);
    auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
    std::vector<Function *> Functions;
    for (Function &F : M)
      if (isInstrumented(F)) Functions.push_back(&F);
    Context X(M);
    SmallVector<GlobalValue *, 32> Used;
    std::vector<FunctionPlan> Plans;
    for (Function *F : Functions) {
      std::vector<Decision> Decisions = decisionsOf(*F);
      straighten(*F);
      References Uses = referencesOf(*F); // before the next line replaces some of them
      markAssumptions(*F);
      if (WithExceptions || hasMutants(*F)) splitMultiplyAdds(*F);
      if (hasMutants(*F)) markArithmetic(*F);
      Plans.push_back(planOf(*F, std::move(Decisions)));
      Plans.back().Uses = std::move(Uses);
      promote(*F, FAM);
      Plans.back().Extents = extentsOf(*F, FAM);
      FAM.invalidate(*F, PreservedAnalyses::none());
      Plans.back().NullParameters = nullComparisonsOf(X, *F);
      keepNoReturnCallsApart(*F);
      keepNullAccesses(*F);
      makeShadow(X, *F);
    }
    noteLibrary(M, FAM);
    TextParameters Passed = textParametersOf(Plans);
    for (FunctionPlan &Plan : Plans) Plan.Tokens = tokensOf(*Plan.F, Passed);
    MemoryUses Memory;
    for (FunctionPlan &Plan : Plans)
      for (Argument &A : Plan.F->args())
        if (A.getType()->isPointerTy()) Plan.Memory[A.getArgNo()] = Memory.of(*Plan.F, A.getArgNo());
    for (FunctionPlan &Plan : Plans) Plan.Buffers = bufferPairsOf(*Plan.F, Memory);
    passBufferPairs(Plans);
    smt::writeProofs(Plans);
    Used.push_back(smt::noteWorld(M));
    for (FunctionPlan &Plan : Plans) noteVariableUses(*Plan.F, Plan.Uses, Memory);
    findCasts(X, Plans);
    for (FunctionPlan &Plan : Plans) {
      MutationPoints Points = addMutationSites(Plan);
      std::vector<ComparedOperands> Compared;
      for (const Site &S : Plan.Sites) Compared.push_back(S.isOperation() ? operandsOfOperation(S) : operandsOfSite(S));
      GlobalVariable *Actions = makeActions(X, Plan);
      makeDecisions(X, Plan, Actions);
      surroundHarness(X, *Plan.F);
      instrument(X, Plan, Actions);
      insertMutants(X, Plan, Points, Actions);
      makeRecords(X, Plan, Compared, Actions, Used);
      keepDivisionTraps(X, *Plan.F);
      FAM.invalidate(*Plan.F, PreservedAnalyses::none());
    }
    fillMemory(M, Functions);
    makeVariableRecords(X, functionRecordType(X), Used);
    dropUnusedShadows(X);
    appendToCompilerUsed(M, Used);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

} // namespace pen

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "pen", "1", [](PassBuilder &PB) {
            PB.registerPipelineStartEPCallback(
                [](ModulePassManager &MPM, OptimizationLevel) { MPM.addPass(pen::PenPass()); });
          }};
}
