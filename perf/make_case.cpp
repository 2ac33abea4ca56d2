// SPDX-License-Identifier: Apache-2.0
// The operations' code by name.
#include <array>
#include <string_view>

#include "case.hpp"

namespace ringcomm::perf {
namespace {

struct Maker {
  std::string_view name;
  std::unique_ptr<Case> (*make)(Communicator&, const Options&);
};

constexpr std::array kMakers{
    Maker{"ring_rotate", make_ring_rotate},
    Maker{"softmax_all_reduce", make_softmax_all_reduce},
    Maker{"softmax_reduce_scatter", make_softmax_reduce_scatter},
    Maker{"all_gather", make_all_gather},
    Maker{"all_reduce", make_all_reduce},
    Maker{"reduce_scatter", make_reduce_scatter},
    Maker{"alltoall", make_alltoall},
    Maker{"broadcast", make_broadcast},
    Maker{"sendrecv", make_sendrecv},
    Maker{"ring_attention", make_ring_attention},
    Maker{"attention_step", make_attention_step},
    Maker{"decode_step", make_decode_step},
};

}  // namespace

std::unique_ptr<Case> make_case(Communicator& comm, const Options& options) {
  for (const Maker& maker : kMakers) {
    if (maker.name == options.op) return maker.make(comm, options);
  }
  return nullptr;
}

}  // namespace ringcomm::perf
