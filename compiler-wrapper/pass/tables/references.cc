// Lists the functions and the variables with a persistent value that a function refers to. The fuzzer follows these
// references from the function under test and finds the state that its evaluations share. Every reference counts, also
// an address that is only passed on. So calls through pointers are included, and so are the accesses of another
// function to that address.
#include "../plugin.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"

namespace pen {
using namespace llvm;

namespace {

// Follows constants to the functions and variables that they contain.
class Collector {
public:
  void add(const User &U) {
    for (const Use &Operand : U.operands()) add(Operand.get());
  }
  void add(const Value *V) {
    if (auto *A = dyn_cast<GlobalAlias>(V)) V = A->getAliaseeObject();
    auto *K = dyn_cast_or_null<Constant>(V);
    if (!K || !Seen.insert(K).second) return;
    if (auto *F = dyn_cast<Function>(K)) addFunction(*F);
    else if (auto *G = dyn_cast<GlobalVariable>(K)) addVariable(*G);
    else if (!isa<GlobalValue>(K)) add(static_cast<const User &>(*K));
  }
  References Found;

private:
  SmallPtrSet<const Constant *, 16> Seen;

  void addFunction(const Function &F) {
    if (!F.isIntrinsic() && !F.getName().starts_with("__pen_")) Found.Functions.push_back(const_cast<Function *>(&F));
  }
  // A constant of this module has no state, but it may contain addresses, for example a table of functions.
  void addVariable(const GlobalVariable &G) {
    if (G.getName().starts_with("llvm.") || G.getName().starts_with("__pen_")) return;
    bool IsHere = G.hasInitializer() && !G.hasAvailableExternallyLinkage();
    if (G.isConstant() && IsHere) add(G.getInitializer());
    else Found.Variables.push_back(const_cast<GlobalVariable *>(&G));
  }
};

// The references of the functions that run before main.
References ofConstructors(const Module &M) {
  Collector All;
  if (const GlobalVariable *List = M.getNamedGlobal("llvm.global_ctors"); List && List->hasInitializer())
    All.add(List->getInitializer());
  for (size_t I = 0; I < All.Found.Functions.size(); I++)
    for (const Instruction &At : instructions(*All.Found.Functions[I])) All.add(At);
  return All.Found;
}

} // namespace

References referencesOf(const Function &F) {
  Collector All;
  for (const Instruction &I : instructions(F)) All.add(I);
  return All.Found;
}

static std::string recordName(const GlobalVariable &G) { return ("__pen_variable." + G.getName()).str(); }

namespace {

class VariableRecords {
public:
  VariableRecords(Context &X, StructType *FunctionType) : X(X), FunctionType(FunctionType) {}

  Constant *listOf(const References &R) {
    std::vector<Constant *> Functions, Variables, FunctionNames, VariableNames, Uses;
    for (Function *F : R.Functions) {
      Functions.push_back(functionRecordOf(X, *F, FunctionType));
      FunctionNames.push_back(X.text(F->getName()));
    }
    for (size_t I = 0; I < R.Variables.size(); I++) {
      Variables.push_back(recordOf(*R.Variables[I]));
      VariableNames.push_back(X.text(R.Variables[I]->getName()));
      // A variable in an initial value: any use is possible, because its address is known elsewhere.
      unsigned Use = I < R.Uses.size() ? R.Uses[I] : PEN_USE_READ | PEN_USE_WRITE;
      Uses.push_back(ConstantInt::get(Type::getInt32Ty(X.C), Use));
    }
    ::pen::Record List(X.C,
                       FIELD(pen_references, functions, X.array(Functions)),
                       FIELD(pen_references, function_names, X.array(FunctionNames)),
                       FIELD(pen_references, variables, X.array(Variables)),
                       FIELD(pen_references, variable_names, X.array(VariableNames)),
                       FIELD(pen_references, variable_uses, X.array(Uses)),
                       FIELD(pen_references, n_functions, Functions.size()),
                       FIELD(pen_references, n_variables, Variables.size()));
    return X.array({List.Init});
  }

  // Defines the record of every variable of the module, with the references of its initial value. A constructor may
  // store any of its references in any variable that it refers to, so these variables get the references of all
  // constructors.
  void define(SmallVectorImpl<GlobalValue *> &Used) {
    References Early = ofConstructors(X.M);
    std::vector<GlobalVariable *> Own;
    for (GlobalVariable &G : X.M.globals())
      if (isRecorded(G)) Own.push_back(&G);
    for (GlobalVariable *G : Own) {
      Collector Initial;
      if (!isOwnConstant(*G)) Initial.add(G->getInitializer());
      if (is_contained(Early.Variables, G)) {
        for (Function *F : Early.Functions) Initial.add(F);
        for (GlobalVariable *Other : Early.Variables) Initial.add(Other);
      }
      define(*G, Initial.Found);
      Used.push_back(cast<GlobalVariable>(recordOf(*G)));
    }
  }

private:
  Context &X;
  StructType *FunctionType;

  static bool isRecorded(const GlobalVariable &G) {
    if (G.isDeclaration() || G.hasAvailableExternallyLinkage() || G.hasAppendingLinkage()) return false;
    if (G.getName().starts_with("llvm.") || G.getName().starts_with("__pen_") || G.getSection().starts_with("pen_"))
      return false;
    return !isOwnConstant(G) || G.hasMetadata(LLVMContext::MD_dbg);
  }

  // Constants that need a record for messages only. The record must not keep the optimizer from dropping the constant.
  static bool isOwnConstant(const GlobalVariable &G) { return G.isConstant() && G.hasLocalLinkage(); }

  auto record(const GlobalVariable &G, const References &R) {
    const DataLayout &Layout = X.M.getDataLayout();
    SmallVector<DIGlobalVariableExpression *, 1> Described;
    G.getDebugInfo(Described);
    const DIGlobalVariable *D = Described.empty() ? nullptr : Described[0]->getVariable();
    uint32_t Flags = (G.isConstant() ? PEN_VARIABLE_CONSTANT : 0) |
                     (G.isThreadLocal() ? PEN_VARIABLE_THREAD_LOCAL : 0) |
                     (G.hasLocalLinkage() ? PEN_VARIABLE_STATIC : 0) |
                     (D && isa_and_nonnull<DILocalScope>(D->getScope()) ? PEN_VARIABLE_LOCAL : 0);
    Constant *Address = G.isThreadLocal() || isOwnConstant(G) ? X.null() : const_cast<GlobalVariable *>(&G);
    return ::pen::Record(X.C,
                         FIELD(pen_variable, name, X.text(D ? D->getName() : G.getName())),
                         FIELD(pen_variable, file, X.text(D ? pathOf(D->getFile()) : X.M.getSourceFileName())),
                         FIELD(pen_variable, unit, X.text(unitOf(X.M))),
                         FIELD(pen_variable, scope, X.text(D ? scopeOf(D->getScope()) : "")),
                         FIELD(pen_variable, type, D ? typeRecordOf(X, D->getType()) : X.null()),
                         FIELD(pen_variable, address, Address),
                         FIELD(pen_variable, references, listOf(R)),
                         FIELD(pen_variable, size, Layout.getTypeAllocSize(G.getValueType()).getFixedValue()),
                         FIELD(pen_variable, line, D ? D->getLine() : 0),
                         FIELD(pen_variable, flags, Flags));
  }

  // The record of a variable. For a variable that is defined elsewhere, it is a weak reference, null if that definition
  // is not instrumented.
  Constant *recordOf(const GlobalVariable &G) {
    if (GlobalVariable *Known = X.M.getNamedGlobal(recordName(G))) return Known;
    bool IsElsewhere = G.isDeclaration() || G.hasAvailableExternallyLinkage();
    auto Linkage = IsElsewhere ? GlobalValue::ExternalWeakLinkage : GlobalValue::ExternalLinkage;
    StructType *T = decltype(record(G, {}))::type(X.C);
    auto *R = new GlobalVariable(X.M, T, false, Linkage, nullptr, recordName(G));
    R->setVisibility(GlobalValue::HiddenVisibility);
    return R;
  }

  void define(const GlobalVariable &G, const References &R) {
    auto *Own = cast<GlobalVariable>(recordOf(G));
    Own->setInitializer(record(G, R).Init);
    bool IsCommon = G.hasCommonLinkage();
    Own->setLinkage(IsCommon ? GlobalValue::WeakAnyLinkage : G.getLinkage());
    Own->setVisibility(G.hasLocalLinkage() ? GlobalValue::DefaultVisibility : GlobalValue::HiddenVisibility);
    Own->setSection("pen_variables");
    Own->setAlignment(Align(8));
    if (const Comdat *Group = G.getComdat()) Own->setComdat(const_cast<Comdat *>(Group));
  }
};

} // namespace

Constant *makeReferences(Context &X, const References &R, StructType *FunctionType) {
  return VariableRecords(X, FunctionType).listOf(R);
}

void makeVariableRecords(Context &X, StructType *FunctionType, SmallVectorImpl<GlobalValue *> &Used) {
  VariableRecords(X, FunctionType).define(Used);
}

} // namespace pen
