// The cases of a switch, sorted so that the cost of finding an operand does not grow with their number.
#include "../plugin.h"

#include "llvm/IR/Constants.h"

namespace pen {
using namespace llvm;

namespace {

struct Label {
  int64_t Value;
  unsigned Branch;
  uint32_t ToDefault = 0;
};

std::vector<Label> sortedLabels(const Site &S, SwitchInst *Sw) {
  std::vector<Label> Labels;
  for (auto [Arm, Branch] : zip_equal(Sw->cases(), S.CaseBranches))
    Labels.push_back({Arm.getCaseValue()->getSExtValue(), Branch});
  sort(Labels, [](const Label &A, const Label &B) { return A.Value < B.Value; });
  return Labels;
}

// Computes the distance from each label to the nearest value without a label, within its run of consecutive labels. A
// label that leads to the default destination ends a run.
void measureRuns(std::vector<Label> &Labels) {
  for (size_t From = 0, To; From < Labels.size(); From = To) {
    for (To = From + 1; To < Labels.size() && Labels[From].Branch && Labels[To].Branch; To++)
      if (uint64_t(Labels[To].Value) - uint64_t(Labels[To - 1].Value) != 1) break;
    if (!Labels[From].Branch) continue;
    for (size_t I = From; I < To; I++) Labels[I].ToDefault = std::min(I - From, To - 1 - I) + 1;
  }
}

// The index of the first label in each bucket or after it. There are at most as many buckets as labels.
struct Buckets {
  unsigned Shift = 0;
  std::vector<Constant *> First;
};

Buckets bucketsOf(Context &X, const std::vector<Label> &Labels) {
  Buckets All;
  uint64_t Lowest = Labels.front().Value, Span = uint64_t(Labels.back().Value) - Lowest;
  while (Span >> All.Shift >= Labels.size()) All.Shift++;
  size_t At = 0;
  for (uint64_t I = 0; I <= Span >> All.Shift; I++) {
    All.First.push_back(X.u32(At));
    while (At < Labels.size() && (uint64_t(Labels[At].Value) - Lowest) >> All.Shift <= I) At++;
  }
  All.First.push_back(X.u32(Labels.size()));
  return All;
}

Constant *caseRecords(Context &X, const std::vector<Label> &Labels) {
  std::vector<Constant *> Items;
  for (const Label &L : Labels) {
    Record R(X.C, FIELD(pen_case, value, L.Value), FIELD(pen_case, branch, L.Branch),
             FIELD(pen_case, to_default, L.ToDefault));
    Items.push_back(R.Init);
  }
  return ConstantArray::get(ArrayType::get(Items.front()->getType(), Items.size()), Items);
}

Constant *privateCopy(Context &X, Constant *Init) {
  return new GlobalVariable(X.M, Init->getType(), true, GlobalValue::PrivateLinkage, Init, "__pen_data");
}

} // namespace

Constant *makeCases(Context &X, Site &S, SwitchInst *Sw) {
  std::vector<Label> Labels = sortedLabels(S, Sw);
  measureRuns(Labels);
  std::string Name = ("__pen_cases." + Twine(S.FirstAction)).str();
  S.Cases =
      placed(X, *Sw->getFunction(), caseRecords(X, Labels), Name, "pen_cases", GlobalValue::InternalLinkage, true);
  S.Cases->setAlignment(Align(8)); // no padding between the arrays of different switches
  Buckets Found = bucketsOf(X, Labels);
  sort(Labels,
       [](const Label &A, const Label &B) { return std::pair(A.Branch, A.Value) < std::pair(B.Branch, B.Value); });
  std::vector<Constant *> First;
  size_t At = 0;
  for (unsigned Branch = 0; Branch <= S.Branches; Branch++) {
    while (At < Labels.size() && Labels[At].Branch < Branch) At++;
    First.push_back(X.u32(At));
  }
  Record R(X.C,
           FIELD(pen_switch, cases, static_cast<Constant *>(S.Cases)),
           FIELD(pen_switch, by_branch, privateCopy(X, caseRecords(X, Labels))),
           FIELD(pen_switch, first, X.array(First)),
           FIELD(pen_switch, bucket, X.array(Found.First)),
           FIELD(pen_switch, n_cases, Labels.size()),
           FIELD(pen_switch, n_branches, S.Branches),
           FIELD(pen_switch, shift, Found.Shift),
           FIELD(pen_switch, unused, 0));
  return privateCopy(X, R.Init);
}

} // namespace pen
