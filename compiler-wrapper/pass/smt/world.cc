// Emits what each translation unit defines, calls and writes, as text in the object file. From the texts of a linked
// file, the prover finds the units that define the functions of a query, and the variables that no unit writes, without
// compiling the other units again.
#include "smt.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"

namespace pen::smt {
using namespace llvm;

// Each record is a letter and a text, and ends in NUL:
//   U  the source of the unit; the records until the next U are its own
//   F  a function that other units can call; f  one that they cannot. Until the next function,
//   R  a function or variable that it refers to
//   V  a variable that other units can refer to, with an initial value that no other definition replaces
//   W  a variable of any unit that this one may write, or whose address it may pass on
//   A  assembly, which can name anything
static constexpr const char *Section = "pen_world";

// The functions and variables in a constant.
static void namesIn(const Value *V, std::set<const Constant *> &Seen, std::set<StringRef> &Names) {
  auto *C = dyn_cast<Constant>(V);
  if (!C || !Seen.insert(C).second) return;
  if (auto *G = dyn_cast<GlobalValue>(C)) Names.insert(G->getName());
  else
    for (const Use &U : C->operands()) namesIn(U.get(), Seen, Names);
}

static bool isOwn(const GlobalValue &G) {
  return G.getName().starts_with("llvm.") || G.getName().starts_with("__pen_");
}

static std::string worldOf(const Module &M) {
  std::string Text;
  auto Note = [&](char What, StringRef Name) { (Text += What).append(Name.data(), Name.size()).push_back('\0'); };
  Note('U', unitOf(M));
  if (!M.getModuleInlineAsm().empty()) Note('A', M.getModuleInlineAsm());
  for (const GlobalVariable &G : M.globals()) {
    if (isOwn(G) || G.hasLocalLinkage()) continue;
    if (G.hasDefinitiveInitializer()) Note('V', G.getName());
    if (!isOnlyRead(G)) Note('W', G.getName());
  }
  for (const Function &F : M) {
    if (F.isDeclaration() || F.isInterposable() || isOwn(F)) continue;
    Note(F.hasLocalLinkage() ? 'f' : 'F', F.getName());
    std::set<const Constant *> Seen;
    std::set<StringRef> Names;
    for (const Instruction &I : instructions(F)) {
      for (const Use &U : I.operands()) namesIn(U.get(), Seen, Names);
      auto *Call = dyn_cast<CallBase>(&I);
      if (auto *Assembly = Call ? dyn_cast<InlineAsm>(Call->getCalledOperand()) : nullptr)
        Note('A', Assembly->getAsmString());
    }
    for (StringRef Name : Names)
      if (!Name.starts_with("llvm.") && !Name.starts_with("__pen_")) Note('R', Name);
  }
  return Text;
}

GlobalVariable *noteWorld(Module &M) {
  Constant *Text = ConstantDataArray::getString(M.getContext(), worldOf(M), /*AddNull=*/false);
  auto *G =
      new GlobalVariable(M, Text->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage, Text, "__pen_world");
  G->setSection(Section);
  G->setAlignment(Align(1));
  return G;
}

} // namespace pen::smt
