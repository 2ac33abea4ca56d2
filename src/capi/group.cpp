// SPDX-License-Identifier: Apache-2.0
// Groups: a thread's operations, noted and then run communicator by communicator at the same time.
#include <algorithm>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "capi/operation.hpp"

namespace ringcomm::inline v0::capi {
namespace {

struct Group {
  int depth = 0;
  std::vector<Operation> noted;
  Status failure;  ///< of a call inside the group
};

Group& group() {
  thread_local Group mine;
  return mine;
}

struct Outcome {
  const Operation* operation = nullptr;
  Status status;
};

Status execute(const Operation& operation) {
  Channel& channel = operation.comm->communicator.channel();
  const CallOptions options{.deadline = {}, .stream = operation.stream};
  RINGCOMM_TRY_ASSIGN(operation.comm->last_work,
                      operation.run ? operation.run(channel, options)
                                    : operation.exchange(channel, operation.messages, options));
  return {};
}

bool joins(const Operation& last, const Operation& next) {
  return !last.messages.empty() && !next.messages.empty() && last.stream.impl == next.stream.impl;
}

/// One list of operations for each communicator; neighbouring messages are one operation.
std::vector<std::vector<Operation>> by_communicator(std::vector<Operation> noted) {
  std::vector<std::vector<Operation>> lists;
  for (Operation& operation : noted) {
    auto list = std::ranges::find_if(
        lists, [&](const std::vector<Operation>& one) { return one.front().comm == operation.comm; });
    if (list == lists.end()) list = lists.emplace(lists.end());
    if (!list->empty() && joins(list->back(), operation)) {
      auto& messages = list->back().messages;
      messages.insert(messages.end(), operation.messages.begin(), operation.messages.end());
    } else {
      list->push_back(std::move(operation));
    }
  }
  return lists;
}

Outcome run_list(const std::vector<Operation>& list) {
  for (const Operation& operation : list) {
    Status status = comm::guard(operation.call, [&] { return execute(operation); });
    if (!status.is_ok()) return {&operation, std::move(status)};
  }
  return {};
}

/// One thread may hold several ranks (as NCCL's users do): blocking calls of one wait for the others', so
/// that every further communicator gets a thread for the time of the group.
Status run_lists(const std::vector<std::vector<Operation>>& lists) {
  std::vector<Outcome> outcomes(lists.size());
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < lists.size(); ++i)
      others.emplace_back([&, i] { outcomes[i] = run_list(lists[i]); });
    outcomes[0] = run_list(lists[0]);
  }
  Status first;
  for (const Outcome& outcome : outcomes) {
    if (outcome.status.is_ok()) continue;
    static_cast<void>(report(outcome.operation->call, outcome.operation->comm, outcome.status));
    if (first.is_ok()) first = outcome.status;
  }
  return first;
}

Status end_group() {
  Group& mine = group();
  if (mine.depth == 0) return Status::not_available("no group is open in this thread");
  if (--mine.depth > 0) return {};
  const Status failure = std::exchange(mine.failure, Status());
  const auto lists = by_communicator(std::exchange(mine.noted, {}));
  RINGCOMM_TRY(failure);
  return lists.empty() ? Status() : run_lists(lists);
}

}  // namespace

Status submit(Operation operation) {
  Group& mine = group();
  if (mine.depth == 0) return execute(operation);
  mine.noted.push_back(std::move(operation));
  return {};
}

void note_failure(const Status& status) {
  Group& mine = group();
  if (mine.depth > 0 && mine.failure.is_ok()) mine.failure = status;
}

Status outside_group() {
  if (group().depth == 0) return {};
  return Status::not_available("this call is not possible between ringcommGroupStart and ringcommGroupEnd");
}

}  // namespace ringcomm::inline v0::capi

namespace capi = ringcomm::capi;

extern "C" {

ringcommResult_t ringcommGroupStart(void) {
  ++capi::group().depth;
  return ringcommSuccess;
}

ringcommResult_t ringcommGroupEnd(void) { return capi::run("ringcommGroupEnd", capi::end_group); }
}
