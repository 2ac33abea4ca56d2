// SPDX-License-Identifier: Apache-2.0
// What the attention peers share: the few words on their command lines (a form, then flags as
// ringcomm-perf's), the kernel, and how they start.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "../attention_data.hpp"
#include "peer.hpp"
#include "ringcomm/attention/local_attention.hpp"
#include "ringcomm/attention/mask.hpp"
#include "ringcomm/core/status.hpp"

namespace ringcomm::perf::peers {

struct AttentionFlags {
  std::string form;
  AttentionShape shape{.q_heads = 32, .kv_heads = 8};
  Mask mask = Mask::causal;
  std::int64_t queries = 64, tokens = 512;
};

/// Leaves the program with exit code 6 for what it does not know.
inline AttentionFlags read_attention_flags(int argc, char** argv, const char* forms) {
  AttentionFlags flags;
  bool is_known = argc >= 2 && argc % 2 == 0;
  if (is_known) flags.form = argv[1];
  for (int i = 2; is_known && i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--q-heads") {
      flags.shape.q_heads = std::atoi(value.c_str());
    } else if (name == "--kv-heads") {
      flags.shape.kv_heads = std::atoi(value.c_str());
    } else if (name == "--queries") {
      flags.queries = std::atoll(value.c_str());
    } else if (name == "--seq") {
      flags.tokens = std::atoll(value.c_str());
    } else if (name == "--mask" && (value == "full" || value == "causal")) {
      flags.mask = value == "full" ? Mask::full : Mask::causal;
    } else {
      is_known = false;
    }
  }
  const std::string known = std::string("|") + forms + "|";
  if (is_known && known.find("|" + flags.form + "|") != std::string::npos) return flags;
  std::fprintf(stderr,
               "usage: %s %s [--q-heads N] [--kv-heads N] [--mask full|causal] [--queries N] [--seq N]\n",
               argv[0], forms);
  std::exit(6);
}

/// A peer has nobody to return an error to.
inline void must(const Status& status) {
  if (status.is_ok()) return;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(3);
}

/// The kernel that both sides use, for `q_rows` queries.
inline LocalAttention attention_of(const AttentionShape& shape, std::int64_t q_rows) {
  auto attention = LocalAttention::create({.q_rows = q_rows,
                                           .q_heads = shape.q_heads,
                                           .kv_heads = shape.kv_heads,
                                           .head_dim = static_cast<int>(shape.head_dim),
                                           .dtype = shape.dtype});
  must(attention.status());
  return std::move(attention).value();
}

/// main() of a peer that exchanges blocks in one of the two forms.
template <class ExchangingPeer>
int serve_exchange(int argc, char** argv) {
  const AttentionFlags flags = read_attention_flags(argc, argv, "sendrecv|isend");
  ExchangingPeer peer(flags);
  return serve(&argc, &argv, flags.form == "isend" ? "MPI_Isend" : "MPI_Sendrecv", peer);
}

}  // namespace ringcomm::perf::peers
