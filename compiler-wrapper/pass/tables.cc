// The records of runtime/pen.h, in named sections that the linker concatenates over all translation units.
#include "pen.h"

#include "llvm/IR/Constants.h"
#include "llvm/Support/Path.h"

namespace pen {
using namespace llvm;

Constant *Context::text(StringRef Text) {
  Constant *&Known = Texts[Text.str()];
  if (!Known) {
    Constant *Bytes = ConstantDataArray::getString(C, Text);
    auto *G = new GlobalVariable(M, Bytes->getType(), true, GlobalValue::PrivateLinkage, Bytes, "__pen_text");
    G->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    Known = G;
  }
  return Known;
}

Constant *Context::array(Type *T, ArrayRef<Constant *> Items) {
  if (Items.empty()) return null();
  auto *A = ArrayType::get(T, Items.size());
  return new GlobalVariable(M, A, true, GlobalValue::PrivateLinkage, ConstantArray::get(A, Items), "__pen_data");
}

static std::string pathOf(const DIFile *F) {
  if (!F) return "";
  if (sys::path::is_absolute(F->getFilename()) || F->getDirectory().empty()) return F->getFilename().str();
  SmallString<256> Path(F->getDirectory());
  sys::path::append(Path, F->getFilename());
  return std::string(Path);
}

// Records live and die with their function, also when the linker drops one of several copies.
static GlobalVariable *placed(Context &X, Function &F, Constant *Init, StringRef Name, StringRef Section,
                              GlobalValue::LinkageTypes Linkage, bool Constant) {
  auto *G = new GlobalVariable(X.M, Init->getType(), Constant, Linkage, Init, Name);
  G->setSection(Section);
  if (F.hasComdat()) G->setComdat(F.getComdat());
  return G;
}

GlobalVariable *makeActions(Context &X, const FunctionPlan &Plan) {
  if (Plan.Sites.empty()) return nullptr;
  auto *T = ArrayType::get(X.I8, Plan.ActionBytes);
  GlobalVariable *G = placed(X, *Plan.F, ConstantAggregateZero::get(T), "__pen_actions", "pen_actions",
                             GlobalValue::InternalLinkage, false);
  G->setAlignment(Align(1));
  // The fuzzer writes them behind the compiler's back.
  G->setExternallyInitialized(true);
  return G;
}

static std::string recordName(const Function &F) { return ("__pen_function." + F.getName()).str(); }

// The record of a function; for one that is defined elsewhere a weak reference, null when it is not instrumented there.
static Constant *recordOf(Context &X, Function &F, StructType *T) {
  if (GlobalVariable *Known = X.M.getNamedGlobal(recordName(F))) return Known;
  auto Linkage = F.isDeclaration() || F.hasAvailableExternallyLinkage() ? GlobalValue::ExternalWeakLinkage : GlobalValue::ExternalLinkage;
  auto *G = new GlobalVariable(X.M, T, false, Linkage, nullptr, recordName(F));
  G->setVisibility(GlobalValue::HiddenVisibility);
  return G;
}

static Constant *edgesOf(Context &X, ArrayRef<Edges> All, StructType *FunctionType) {
  auto *T = StructType::get(X.C, {X.Ptr, X.Ptr, X.Ptr, X.I32, X.I32, X.I32, X.I32});
  std::vector<Constant *> Items;
  for (const Edges &E : All) {
    std::vector<Constant *> Next, Calls, Lines;
    for (unsigned N : E.Next) Next.push_back(X.u32(N));
    for (Function *F : E.Calls) Calls.push_back(recordOf(X, *F, FunctionType));
    for (unsigned L : E.Lines) Lines.push_back(X.u32(L));
    Items.push_back(ConstantStruct::get(T, {X.array(X.I32, Next), X.array(X.Ptr, Calls), X.array(X.I32, Lines),
                                            X.u32(Next.size()), X.u32(Calls.size()), X.u32(Lines.size()), X.u32(0)}));
  }
  return X.array(T, Items);
}

static Constant *parametersOf(Context &X, const Signature &S) {
  auto *T = StructType::get(X.C, {X.Ptr, X.Ptr, X.I32, X.I32, X.I32, X.I32, X.I32, X.I32});
  std::vector<Constant *> Items;
  for (const Parameter &P : S.Parameters)
    Items.push_back(ConstantStruct::get(
        T, {X.text(P.Name), X.text(P.Type), X.u32(P.Kind), X.u32(P.Pointer), X.u32(P.Offset), X.u32(P.Size), X.u32(P.Cell),
            X.u32(0)}));
  return X.array(T, Items);
}

template <typename V> static Constant *numbersOf(Context &X, const std::vector<V> &Values) {
  std::vector<Constant *> Items;
  for (V Value : Values) Items.push_back(ConstantInt::get(X.I64, static_cast<uint64_t>(Value)));
  return X.array(X.I64, Items);
}

static StructType *functionType(Context &X) {
  std::vector<Type *> Fields(11, X.Ptr);
  Fields.insert(Fields.end(), 10, X.I32);
  return StructType::get(X.C, Fields);
}

static StructType *siteType(Context &X) {
  return StructType::get(X.C, {X.Ptr, X.Ptr, X.Ptr, X.Ptr, X.Ptr, X.Ptr, X.I32, X.I32, X.I32, X.I32, X.I8, X.I8, X.I8, X.I8, X.I32, X.I32, X.I32});
}

struct Place {
  std::string File;
  unsigned Line = 0, Column = 0;
};

static Place placeOf(const FunctionPlan &Plan, const DebugLoc &L) {
  DISubprogram *SP = Plan.F->getSubprogram();
  if (L) return {pathOf(L->getFile()), L.getLine(), L.getCol()};
  if (SP) return {pathOf(SP->getFile()), SP->getLine(), 0};
  return {Plan.F->getParent()->getSourceFileName(), 0, 0};
}

static Constant *siteRecord(Context &X, const FunctionPlan &Plan, unsigned I, const Shape &Sh, GlobalVariable *Actions,
                            Constant *Owner, StructType *FT) {
  const Site &S = Plan.Sites[I];
  Place P = placeOf(Plan, S.Where);
  Constant *Action = ConstantExpr::getInBoundsGetElementPtr(X.I8, Actions, ArrayRef<Constant *>{X.u32(S.FirstAction)});
  unsigned Cases = 0;
  if (S.Cases) Cases = cast<ArrayType>(cast<GlobalVariable>(S.Cases)->getValueType())->getNumElements();
  return ConstantStruct::get(siteType(X),
                             {Owner, X.text(P.File), Action, edgesOf(X, Plan.Follow[I], FT), S.Cases ? S.Cases : X.null(),
                              X.text(S.Name), X.u32(P.Line), X.u32(P.Column), X.u32(S.Branches), X.u32(Cases),
                              X.u8(unsigned(S.K)), X.u8(Sh.Predicate), X.u8(Sh.Operand), X.u8(Sh.Width),
                              X.u32(S.Possible), X.u32(S.Operation), X.u32(0)});
}

static Constant *functionRecord(Context &X, const FunctionPlan &Plan, Constant *Sites, StructType *FT) {
  Function &F = *Plan.F;
  DISubprogram *SP = F.getSubprogram();
  Signature S = signatureOf(F, Plan.ParameterNames);
  std::string File = SP ? pathOf(SP->getFile()) : X.M.getSourceFileName();
  StringRef Name = SP && !SP->getName().empty() ? SP->getName() : F.getName();
  return ConstantStruct::get(
      FT, {X.text(Name), X.text(F.getName()), X.text(File), &F, makeThunk(X, F, S), parametersOf(X, S), Sites,
           edgesOf(X, {Plan.Entry}, FT), numbersOf(X, Plan.Floats), numbersOf(X, Plan.Integers), X.text(S.ResultType),
           X.u32(S.Parameters.size()), X.u32(Plan.Sites.size()), X.u32(Plan.Floats.size()), X.u32(Plan.Integers.size()),
           X.u32(S.ResultKind), X.u32(S.InputSize), X.u32(SP ? SP->getLine() : 0), X.u32(F.hasLocalLinkage()),
           X.u32(S.OutputSize), X.u32(0)});
}

void makeRecords(Context &X, const FunctionPlan &Plan, ArrayRef<Shape> Shapes, GlobalVariable *Actions,
                 SmallVectorImpl<GlobalValue *> &Used) {
  Function &F = *Plan.F;
  StructType *FT = functionType(X);
  auto *Record = cast<GlobalVariable>(recordOf(X, F, FT));
  Constant *Sites = X.null();
  if (!Plan.Sites.empty()) {
    std::vector<Constant *> Items;
    for (unsigned I = 0; I < Plan.Sites.size(); I++)
      Items.push_back(siteRecord(X, Plan, I, Shapes[I], Actions, Record, FT));
    Constant *All = ConstantArray::get(ArrayType::get(siteType(X), Items.size()), Items);
    GlobalVariable *G = placed(X, F, All, "__pen_sites", "pen_sites", GlobalValue::InternalLinkage, false);
    G->setAlignment(Align(8)); // no gaps between the arrays of different functions
    Used.push_back(G);
    Used.push_back(Actions);
    Sites = G;
  }
  Record->setInitializer(functionRecord(X, Plan, Sites, FT));
  Record->setLinkage(F.getLinkage() == GlobalValue::ExternalWeakLinkage ? GlobalValue::ExternalLinkage : F.getLinkage());
  if (!F.hasLocalLinkage()) Record->setVisibility(GlobalValue::HiddenVisibility);
  else Record->setVisibility(GlobalValue::DefaultVisibility);
  Record->setSection("pen_functions");
  Record->setAlignment(Align(8));
  if (F.hasComdat()) Record->setComdat(F.getComdat());
  Used.push_back(Record);
}

} // namespace pen
