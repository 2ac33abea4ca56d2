// SPDX-License-Identifier: Apache-2.0
// softmax_all_reduce as one MPI_Allreduce with an operation of our own on packed rows. Packing and unpacking
// are part of it: the caller has out and lse apart, as for ringcomm.
#include "softmax.hpp"

namespace ringcomm::perf::peers {
namespace {

void merge_op(void* from, void* into, int* count, MPI_Datatype* /*type*/) {
  merge_rows(static_cast<float*>(into), static_cast<const float*>(from), static_cast<std::size_t>(*count));
}

class UserOperation final : public Softmax {
 public:
  void run() override {
    for (std::size_t row = 0; row < rows_; ++row) {
      std::copy_n(&out_[row * kDim], kDim, &packed_[row * kRowFloats]);
      packed_[row * kRowFloats + kDim] = lse_[row];
    }
    MPI_Allreduce(packed_.data(), merged_.data(), static_cast<int>(rows_), row_type_, merge_, MPI_COMM_WORLD);
    for (std::size_t row = 0; row < rows_; ++row) {
      std::copy_n(&merged_[row * kRowFloats], kDim, &result_out_[row * kDim]);
      result_lse_[row] = merged_[row * kRowFloats + kDim];
    }
  }

 protected:
  void allocate() override {
    packed_.assign(rows_ * kRowFloats, 0.0F);
    merged_.assign(rows_ * kRowFloats, 0.0F);
    if (merge_ != MPI_OP_NULL) return;
    MPI_Type_contiguous(static_cast<int>(kRowFloats), MPI_FLOAT, &row_type_);
    MPI_Type_commit(&row_type_);
    MPI_Op_create(merge_op, 1, &merge_);
  }

 private:
  MPI_Datatype row_type_ = MPI_DATATYPE_NULL;
  MPI_Op merge_ = MPI_OP_NULL;
  std::vector<float> packed_, merged_;
};

}  // namespace
}  // namespace ringcomm::perf::peers

int main(int argc, char** argv) {
  ringcomm::perf::peers::UserOperation peer;
  return ringcomm::perf::peers::serve(&argc, &argv, "MPI_Op", peer);
}
