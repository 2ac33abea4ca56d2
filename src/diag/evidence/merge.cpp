// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/merge.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "diag/evidence/snapshots.hpp"
#include "diag/evidence/text/timestamp.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

template <class Fact>
void append(std::vector<Fact>& all, std::vector<Fact>& part, int first_file) {
  for (Fact& fact : part) {
    if (fact.source.file != kUnknown) fact.source.file += first_file;
  }
  all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
}

template <class Item>
void append(std::vector<Item>& all, std::vector<Item>& part) {
  all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
}

/// "a/node3/rank_12.log" -> "3 12 "
std::string numbers_of(const std::string& path) {
  std::string numbers;
  for (const char c : path) {
    if (c >= '0' && c <= '9') {
      numbers += c;
    } else if (!numbers.empty() && numbers.back() != ' ') {
      numbers += ' ';
    }
  }
  return numbers;
}

/// At least as large as the groups that name its ranks.
std::optional<int> world_of(const HangEvidence& evidence) {
  int size = 0;
  for (const GroupFact& group : evidence.groups) {
    for (const int rank : group.ranks)
      size = std::max(size, rank < std::numeric_limits<int>::max() ? rank + 1 : 0);
  }
  return size > 0 ? std::optional<int>(size) : std::nullopt;
}

}  // namespace

void Merger::add(FileEvidence&& part) {
  HangEvidence& one = part.evidence;
  const int first_file = static_cast<int>(all_.files.size());
  if (one.files.size() == 1 && one.files[0].facts > 0) {
    FileRead& read = one.files[0];
    const auto [first, is_new] =
        seen_.try_emplace({part.content, {numbers_of(read.path), read.ranks}}, read.path);
    if (!is_new) {
      read.note = concat("a copy of ", first->second);
      read.facts = 0;
      all_.files.push_back(std::move(read));
      return;
    }
  }
  append(all_.groups, one.groups, first_file);
  append(all_.ops, one.ops, first_file);
  append(all_.steps, one.steps, first_file);
  append(all_.counters, one.counters, first_file);
  append(all_.events, one.events, first_file);
  append(all_.stacks, one.stacks, first_file);
  append(all_.gpus, one.gpus, first_file);
  append(all_.files, one.files);
  append(all_.unread, one.unread);
  append(all_.identities, one.identities);
  append(all_.topology, one.topology);
  append(all_.idle, one.idle);
  if (one.world_size) all_.world_size = std::max(all_.world_size.value_or(0), *one.world_size);
}

HangEvidence Merger::finish() {
  text::align_times(all_);
  number_snapshots(all_);
  if (!all_.world_size) all_.world_size = world_of(all_);
  return std::move(all_);
}

}  // namespace ringcomm::inline v0::diag
