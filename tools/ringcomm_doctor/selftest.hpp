// SPDX-License-Identifier: Apache-2.0
// What the self-test tries, one thing at a time, with ranks that already run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::doctor {

struct SelfCheck {
  const char* name;
  const char* what;  ///< one phrase
  Status (*run)(Communicator& comm);
};
/// In the order in which people are told to try: meet, move bytes, reduce, rotate, attend.
const std::vector<SelfCheck>& self_checks();

/// Causal attention over `tokens` tokens against a float64 closed form; every row of this rank. internal with
/// the row, the value and the expected one when it is wrong.
Status check_attention(Communicator& comm, std::int64_t tokens, DType dtype);

/// Runs a program, its output thrown away, for at most `timeout_s`. ok, or what it exited with.
Status run_program(const std::vector<std::string>& words, int timeout_s);

}  // namespace ringcomm::doctor
