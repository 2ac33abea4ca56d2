// SPDX-License-Identifier: Apache-2.0
#include "hang_input.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <utility>

#include "progress.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

/// At most `limit` and one byte more, so that the reader sees that it is too much.
std::string standard_input(std::size_t limit) {
  std::string text;
  std::vector<char> buffer(std::size_t{64} << 10);
  while (text.size() <= limit) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), stdin);
    if (count == 0) break;
    text.append(buffer.data(), count);
  }
  return text;
}

template <class Fact>
void append_facts(std::vector<Fact>& facts, std::vector<Fact>& others, int files) {
  for (Fact& fact : others) {
    if (fact.source.file >= 0) fact.source.file += files;
  }
  facts.insert(facts.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
}

template <class Value>
void append_values(std::vector<Value>& values, std::vector<Value>& others) {
  values.insert(values.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
}

}  // namespace

void append(diag::HangEvidence& evidence, diag::HangEvidence other) {
  const int files = static_cast<int>(evidence.files.size());
  append_values(evidence.files, other.files);
  append_values(evidence.unread, other.unread);
  append_facts(evidence.groups, other.groups, files);
  append_facts(evidence.ops, other.ops, files);
  append_facts(evidence.steps, other.steps, files);
  append_facts(evidence.counters, other.counters, files);
  append_facts(evidence.events, other.events, files);
  append_facts(evidence.stacks, other.stacks, files);
  append_facts(evidence.gpus, other.gpus, files);
  append_values(evidence.identities, other.identities);
  append_values(evidence.topology, other.topology);
  append_values(evidence.idle, other.idle);
  if (other.world_size && (!evidence.world_size || *evidence.world_size < *other.world_size))
    evidence.world_size = other.world_size;
}

diag::HangEvidence read_hang_input(const std::vector<std::string>& paths) {
  const Progress progress(
      concat("ringcomm-doctor hang: still reading ", paths.size() == 1 ? paths.front() : "the files"));
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (path != "-") files.emplace_back(path);
  }
  diag::HangEvidence evidence = diag::read_hang_evidence(files);
  if (files.size() < paths.size()) {
    const diag::ReadLimits limits;
    append(evidence, diag::read_hang_evidence(standard_input(limits.file_bytes), "standard input", limits));
  }
  return evidence;
}

}  // namespace ringcomm::doctor
