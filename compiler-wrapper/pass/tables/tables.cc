// Emits the records of runtime/pen.h into named sections. The linker concatenates the sections of all translation
// units.
#include "../plugin.h"

#include "llvm/IR/Constants.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

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

Constant *Context::array(ArrayRef<Constant *> Items) {
  if (Items.empty()) return null();
  auto *A = ArrayType::get(Items.front()->getType(), Items.size());
  return new GlobalVariable(M, A, true, GlobalValue::PrivateLinkage, ConstantArray::get(A, Items), "__pen_data");
}

std::string pathOf(const DIFile *F) {
  if (!F) return "";
  if (sys::path::is_absolute(F->getFilename()) || F->getDirectory().empty()) return F->getFilename().str();
  SmallString<256> Path(F->getDirectory());
  sys::path::append(Path, F->getFilename());
  return std::string(Path);
}

std::string unitOf(const Module &M) {
  for (const DICompileUnit *Unit : M.debug_compile_units()) return pathOf(Unit->getFile());
  return M.getSourceFileName();
}

// Whether the dynamic loader calls the function.
static bool isConstructor(const Function &F) {
  const GlobalVariable *List = F.getParent()->getNamedGlobal("llvm.global_ctors");
  if (!List || !List->hasInitializer()) return false;
  return any_of(List->getInitializer()->operands(), [&F](const Use &Entry) {
    auto *Fields = dyn_cast<ConstantStruct>(Entry.get());
    return Fields && is_contained(Fields->operands(), &F);
  });
}

GlobalVariable *placed(Context &X, Function &F, Constant *Init, StringRef Name, StringRef Section,
                       GlobalValue::LinkageTypes Linkage, bool Constant) {
  auto *G = new GlobalVariable(X.M, Init->getType(), Constant, Linkage, Init, Name);
  G->setSection(Section);
  if (auto Found = X.Variants.find(&F); Found != X.Variants.end()) {
    G->setName(Name + "." + Found->second);
    G->setLinkage(GlobalValue::WeakODRLinkage);
    G->setVisibility(GlobalValue::HiddenVisibility);
    G->setComdat(X.M.getOrInsertComdat(("__pen_sites." + Found->second)));
  } else if (F.hasComdat()) {
    G->setComdat(F.getComdat());
  }
  return G;
}

// A name that distinguishes the records of different sources of one function, for example with and without NDEBUG.
static std::string variantOf(const FunctionPlan &Plan) {
  std::string Layout;
  raw_string_ostream Out(Layout);
  for (const Site &S : Plan.Sites) {
    Out << unsigned(S.K) << ' ' << S.Branches << ' ';
    if (S.Where) Out << S.Where.getLine() << ':' << S.Where.getCol() << ' ';
    Value *At = S.At;
    if (auto *Sw = dyn_cast_or_null<SwitchInst>(At))
      for (auto [Arm, Branch] : zip_equal(Sw->cases(), S.CaseBranches))
        Out << Arm.getCaseValue()->getSExtValue() << '-' << Branch << ' ';
  }
  return (Plan.F->getName() + "." + Twine::utohexstr(MD5Hash(Out.str()))).str();
}

GlobalVariable *makeActions(Context &X, const FunctionPlan &Plan) {
  if (Plan.Sites.empty()) return nullptr;
  if (Plan.F->hasComdat() && !Plan.F->hasLocalLinkage()) X.Variants[Plan.F] = variantOf(Plan);
  auto *T = ArrayType::get(X.I8, Plan.ActionBytes);
  GlobalVariable *G = placed(X, *Plan.F, ConstantAggregateZero::get(T), "__pen_actions", "pen_actions",
                             GlobalValue::InternalLinkage, false);
  G->setAlignment(Align(1));
  // The fuzzer writes them; the compiler cannot see that.
  G->setExternallyInitialized(true);
  return G;
}

static std::string recordName(const Function &F) { return ("__pen_function." + F.getName()).str(); }

// The record of a function. For a function that is defined elsewhere, a weak reference: null if it is not instrumented
// there.
Constant *functionRecordOf(Context &X, Function &F, StructType *T) {
  if (GlobalVariable *Known = X.M.getNamedGlobal(recordName(F))) return Known;
  bool IsElsewhere = !isInstrumented(F);
  auto Linkage = IsElsewhere ? GlobalValue::ExternalWeakLinkage : GlobalValue::ExternalLinkage;
  auto *G = new GlobalVariable(X.M, T, false, Linkage, nullptr, recordName(F));
  G->setVisibility(GlobalValue::HiddenVisibility);
  return G;
}

static Constant *edgesOf(Context &X, ArrayRef<Edges> All, StructType *FunctionType) {
  std::vector<Constant *> Items;
  for (const Edges &E : All) {
    std::vector<Constant *> Next, Calls, Lines, Starts;
    for (unsigned N : E.Next) Next.push_back(X.u32(N));
    for (Function *F : E.Calls) Calls.push_back(functionRecordOf(X, *F, FunctionType));
    for (unsigned L : E.Lines) Lines.push_back(X.u32(L));
    for (auto [Line, Column] : E.Starts) Starts.insert(Starts.end(), {X.u32(Line), X.u32(Column)});
    Record R(X.C,
             FIELD(pen_edges, next, X.array(Next)),
             FIELD(pen_edges, calls, X.array(Calls)),
             FIELD(pen_edges, lines, X.array(Lines)),
             FIELD(pen_edges, starts, X.array(Starts)),
             FIELD(pen_edges, n_next, Next.size()),
             FIELD(pen_edges, n_calls, Calls.size()),
             FIELD(pen_edges, n_lines, Lines.size()),
             FIELD(pen_edges, n_starts, E.Starts.size()));
    Items.push_back(R.Init);
  }
  return X.array(Items);
}

static Constant *passedOf(Context &X, const Parameter &P, StructType *FunctionType) {
  std::vector<Constant *> Items;
  for (const PassedOn &To : P.Passed)
    Items.push_back(Record(X.C,
                           FIELD(pen_passed, function, functionRecordOf(X, *To.To, FunctionType)),
                           FIELD(pen_passed, argument, To.Argument),
                           FIELD(pen_passed, is_first, To.IsFirst))
                        .Init);
  return X.array(Items);
}

static Constant *parametersOf(Context &X, const Signature &S, StructType *FunctionType) {
  std::vector<Constant *> Items;
  for (const Parameter &P : S.Parameters) {
    Record R(X.C,
             FIELD(pen_param, name, X.text(P.Name)),
             FIELD(pen_param, type, X.text(P.Type)),
             FIELD(pen_param, shape, P.Declared ? typeRecordOf(X, P.Declared) : X.null()),
             FIELD(pen_param, passed, passedOf(X, P, FunctionType)),
             FIELD(pen_param, kind, P.Kind),
             FIELD(pen_param, pointer, P.Pointer),
             FIELD(pen_param, offset, P.Offset),
             FIELD(pen_param, size, P.Size),
             FIELD(pen_param, cell, P.Cell),
             FIELD(pen_param, frame, P.Frame),
             FIELD(pen_param, nullable, P.Nullable),
             FIELD(pen_param, reads, P.Reads),
             FIELD(pen_param, indexes, (P.Indexes ? 1 : 0) | (P.IsNumber ? 2 : 0)),
             FIELD(pen_param, promised, P.Dereferenceable),
             FIELD(pen_param, names_file, P.NamesFile),
             FIELD(pen_param, reach_first, P.Reach.First),
             FIELD(pen_param, reach_second, P.Reach.Second),
             FIELD(pen_param, reach_times, P.Reach.Times),
             FIELD(pen_param, reach_plus, P.Reach.Plus),
             FIELD(pen_param, argument, P.Argument),
             FIELD(pen_param, n_passed, P.Passed.size()),
             FIELD(pen_param, unused, 0));
    Items.push_back(R.Init);
  }
  return X.array(Items);
}

template <typename V> static Constant *numbersOf(Context &X, const std::vector<V> &Values) {
  std::vector<Constant *> Items;
  for (V Value : Values) Items.push_back(ConstantInt::get(X.I64, static_cast<uint64_t>(Value)));
  return X.array(Items);
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

// The struct pen_decision of a decision site.
static Constant *decisionOf(Context &X, const FunctionPlan &Plan, unsigned Site) {
  auto Found = find_if(Plan.Decisions, [&](const Decision &D) { return D.Site == Site; });
  return Found == Plan.Decisions.end() ? X.null() : static_cast<Constant *>(Found->Record);
}

static auto siteRecord(Context &X, const FunctionPlan &Plan, unsigned I, const ComparedOperands &Compared,
                       GlobalVariable *Actions, Constant *Owner, StructType *FT) {
  const Site &S = Plan.Sites[I];
  Place P = placeOf(Plan, S.Where);
  unsigned Cases = S.Cases ? cast<ArrayType>(S.Cases->getValueType())->getNumElements() : 0;
  return Record(X.C,
                FIELD(pen_site, function, Owner),
                FIELD(pen_site, file, X.text(P.File)),
                FIELD(pen_site, actions, actionsOf(X, S, Actions)),
                FIELD(pen_site, edges, edgesOf(X, Plan.BranchEdges[I], FT)),
                FIELD(pen_site, cases, S.Cases ? static_cast<Constant *>(S.Cases) : X.null()),
                FIELD(pen_site, name, X.text(S.Name)),
                FIELD(pen_site, line, P.Line),
                FIELD(pen_site, column, P.Column),
                FIELD(pen_site, n_branches, S.Branches),
                FIELD(pen_site, n_cases, Cases),
                FIELD(pen_site, kind, S.K),
                FIELD(pen_site, predicate, Compared.Predicate),
                FIELD(pen_site, operand, Compared.Operand),
                FIELD(pen_site, width, Compared.Width),
                FIELD(pen_site, possible, S.Possible),
                FIELD(pen_site, operation, S.Operation),
                FIELD(pen_site, assumption, S.Assumption),
                FIELD(pen_site, decision, decisionOf(X, Plan, I)));
}

// Stores the extents of the loops' accesses through pointers, with numbers of parameters instead of numbers of
// arguments.
static void noteReach(const FunctionPlan &Plan, ArrayRef<unsigned> Plain, Signature &S) {
  std::map<unsigned, unsigned> Parameters; // by argument, for arguments that are one parameter each; from 1
  unsigned At = 0;
  for (unsigned I = 0; I < S.Parameters.size() && At < Plain.size(); I++) {
    if (S.Parameters[I].IRArguments <= 1) Parameters[Plain[At]] = I + 1;
    At += std::max(S.Parameters[I].IRArguments, 1u);
  }
  for (auto &[Number, Reach] : Plan.Extents) {
    auto Of = Parameters.find(Number), First = Parameters.find(Reach.First - 1),
         Second = Parameters.find(Reach.Second - 1);
    if (Of == Parameters.end() || First == Parameters.end() || (Reach.Second && Second == Parameters.end())) continue;
    S.Parameters[Of->second - 1].Reach = {First->second, Reach.Second ? Second->second : 0, Reach.Times, Reach.Plus};
  }
}

// Marks the pointers that the function compares with null, and those whose memory it reads.
static void notePointers(Function &F, const FunctionPlan &Plan, Signature &S) {
  unsigned At = 0;
  std::vector<unsigned> Plain;
  for (Argument &A : F.args())
    if (!A.hasStructRetAttr()) Plain.push_back(A.getArgNo());
  for (Parameter &P : S.Parameters) {
    if (At < Plain.size()) P.Argument = Plain[At];
    if (P.Pointer && At < Plain.size() && Plan.Memory.count(Plain[At])) {
      P.Nullable = is_contained(Plan.NullParameters, Plain[At]);
      MemoryUse Use = Plan.Memory.at(Plain[At]);
      P.Passed = Use.Passed;
      P.Reads = Use.Reads;
      P.Indexes = Use.Indexes;
      P.IsNumber = Use.IsNumber;
      P.NamesFile = Use.NamesFile;
      auto Pointee = Plan.Pointees.Arguments.find(Plain[At]);
      if (isVoidPointer(P.Declared) && Pointee != Plan.Pointees.Arguments.end()) P.Pointee = Pointee->second;
      P.Dereferenceable = F.getArg(Plain[At])->getDereferenceableBytes();
    }
    At += std::max(P.IRArguments, 1u);
  }
  noteReach(Plan, Plain, S);
}

static Constant *tokensOf(Context &X, ArrayRef<std::string> Tokens) {
  std::vector<Constant *> Items;
  for (const std::string &Token : Tokens)
    Items.push_back(Record(X.C,
                           FIELD(pen_token, bytes, X.text(Token)),
                           FIELD(pen_token, length, Token.size()),
                           FIELD(pen_token, unused, 0))
                        .Init);
  return X.array(Items);
}

static auto functionRecord(Context &X, const FunctionPlan &Plan, Constant *Sites, StructType *FT) {
  Function &F = *Plan.F;
  DISubprogram *SP = F.getSubprogram();
  Signature S = signatureOf(F, Plan.ParameterNames);
  notePointers(F, Plan, S);
  std::vector<Constant *> Casts = castRecords(X, Plan.Pointees, S);
  std::vector<Constant *> Buffers = bufferRecords(X, Plan.Buffers, S);
  std::string File = SP ? pathOf(SP->getFile()) : X.M.getSourceFileName();
  StringRef Name = SP && !SP->getName().empty() ? SP->getName() : F.getName();
  return Record(
      X.C, FIELD(pen_function, name, X.text(Name)), FIELD(pen_function, symbol, X.text(F.getName())),
      FIELD(pen_function, file, X.text(File)), FIELD(pen_function, unit, X.text(unitOf(X.M))),
      FIELD(pen_function, address, &F), FIELD(pen_function, call, makeThunk(X, F, S)),
      FIELD(pen_function, call_frame, makeFrameThunk(X, F, S)), FIELD(pen_function, params, parametersOf(X, S, FT)),
      FIELD(pen_function, sites, Sites), FIELD(pen_function, entry, edgesOf(X, {Plan.Entry}, FT)),
      FIELD(pen_function, floats, numbersOf(X, Plan.Floats)),
      FIELD(pen_function, integers, numbersOf(X, Plan.Integers)), FIELD(pen_function, tokens, tokensOf(X, Plan.Tokens)),
      FIELD(pen_function, result_type, X.text(S.ResultType)),
      FIELD(pen_function, references, makeReferences(X, Plan.Uses, FT)),
      FIELD(pen_function, result_shape,
            S.ResultIsAggregate || S.ResultIsPointer ? typeRecordOf(X, S.DeclaredResult) : X.null()),
      FIELD(pen_function, casts, X.array(Casts)), FIELD(pen_function, buffers, X.array(Buffers)),
      FIELD(pen_function, n_params, S.Parameters.size()),
      FIELD(pen_function, n_sites, Plan.Sites.size()), FIELD(pen_function, n_floats, Plan.Floats.size()),
      FIELD(pen_function, n_integers, Plan.Integers.size()), FIELD(pen_function, n_tokens, Plan.Tokens.size()),
      FIELD(pen_function, result_kind, S.ResultKind), FIELD(pen_function, input_size, S.InputSize),
      FIELD(pen_function, line, SP ? SP->getLine() : 0), FIELD(pen_function, is_static, F.hasLocalLinkage()),
      FIELD(pen_function, output_size, S.OutputSize), FIELD(pen_function, is_constructor, isConstructor(F)),
      FIELD(pen_function, frame_size, S.FrameSize), FIELD(pen_function, result_frame, S.ResultFrame),
      FIELD(pen_function, n_casts, Casts.size()), FIELD(pen_function, n_buffers, Buffers.size()),
      FIELD(pen_function, unused, 0));
}

using FunctionRecord =
    decltype(functionRecord(std::declval<Context &>(), std::declval<const FunctionPlan &>(), nullptr, nullptr));

StructType *functionRecordType(Context &X) { return FunctionRecord::type(X.C); }

void makeRecords(Context &X, const FunctionPlan &Plan, ArrayRef<ComparedOperands> Compared, GlobalVariable *Actions,
                 SmallVectorImpl<GlobalValue *> &Used) {
  Function &F = *Plan.F;
  StructType *FT = FunctionRecord::type(X.C);
  auto *Own = cast<GlobalVariable>(functionRecordOf(X, F, FT));
  Constant *Sites = X.null();
  if (!Plan.Sites.empty()) {
    std::vector<Constant *> Items;
    for (unsigned I = 0; I < Plan.Sites.size(); I++)
      Items.push_back(siteRecord(X, Plan, I, Compared[I], Actions, Own, FT).Init);
    Constant *All = ConstantArray::get(ArrayType::get(Items.front()->getType(), Items.size()), Items);
    GlobalVariable *G = placed(X, F, All, "__pen_sites", "pen_sites", GlobalValue::InternalLinkage, false);
    G->setAlignment(Align(8)); // no padding between the arrays of different functions
    Used.push_back(G);
    Used.push_back(Actions);
    Sites = G;
  }
  Own->setInitializer(functionRecord(X, Plan, Sites, FT).Init);
  Own->setLinkage(F.getLinkage() == GlobalValue::ExternalWeakLinkage ? GlobalValue::ExternalLinkage : F.getLinkage());
  if (!F.hasLocalLinkage()) Own->setVisibility(GlobalValue::HiddenVisibility);
  else Own->setVisibility(GlobalValue::DefaultVisibility);
  Own->setSection("pen_functions");
  Own->setAlignment(Align(8));
  if (F.hasComdat()) Own->setComdat(F.getComdat());
  Used.push_back(Own);
}

} // namespace pen
