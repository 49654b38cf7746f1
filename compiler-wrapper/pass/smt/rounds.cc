// Peels the first rounds of each loop, so that a query for a model has no free values because of loops. The query
// describes only the executions with at most this number of rounds: `unsat` is no proof.
#include "smt.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

namespace pen::smt {
using namespace llvm;

static constexpr const char *SiteNumber = "pen.site";

// Sets an option of LLVM for this process, which exits after the translation.
static void setOption(StringRef Name, const std::string &Value) {
  auto &All = cl::getRegisteredOptions();
  auto Found = All.find(Name);
  if (Found != All.end()) Found->second->addOccurrence(0, Name, Value);
}

static void numberSites(const FunctionPlan &Plan) {
  LLVMContext &C = Plan.F->getContext();
  for (unsigned I = 0; I < Plan.Sites.size(); I++)
    if (auto *At = dyn_cast_or_null<Instruction>(static_cast<Value *>(Plan.Sites[I].At));
        At && Plan.Sites[I].isConditional())
      At->setMetadata(SiteNumber, MDNode::get(C, ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(C), I))));
}

// Adds F and its callees.
static void addCalled(Function &F, SmallPtrSetImpl<Function *> &All) {
  if (F.isDeclaration() || !All.insert(&F).second) return;
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallBase>(&I))
      if (Function *Callee = Call->getCalledFunction()) addCalled(*Callee, All);
}

void unfoldLoops(const FunctionPlan &Plan, unsigned Rounds) {
  numberSites(Plan);
  setOption("unroll-peel-count", std::to_string(Rounds));
  setOption("unroll-allow-loop-nests-peeling", "true");
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CAM;
  ModuleAnalysisManager MAM;
  PassBuilder Builder;
  Builder.registerModuleAnalyses(MAM);
  Builder.registerCGSCCAnalyses(CAM);
  Builder.registerFunctionAnalyses(FAM);
  Builder.registerLoopAnalyses(LAM);
  Builder.crossRegisterProxies(LAM, FAM, CAM, MAM);
  FunctionPassManager Passes;
  Passes.addPass(LoopSimplifyPass());
  Passes.addPass(LCSSAPass());
  Passes.addPass(LoopUnrollPass(LoopUnrollOptions(2).setPeeling(true).setPartial(false).setRuntime(false)));
  SmallPtrSet<Function *, 16> All;
  addCalled(*Plan.F, All);
  for (Function *F : All) {
    F->removeFnAttr(Attribute::OptimizeForSize);
    F->removeFnAttr(Attribute::MinSize);
    Passes.run(*F, FAM);
  }
}

std::vector<Instruction *> copiesOf(const FunctionPlan &Plan, unsigned Site) {
  std::vector<Instruction *> All;
  for (Instruction &I : instructions(*Plan.F))
    if (MDNode *Number = I.getMetadata(SiteNumber))
      if (mdconst::extract<ConstantInt>(Number->getOperand(0))->equalsInt(Site)) All.push_back(&I);
  return All;
}

} // namespace pen::smt
