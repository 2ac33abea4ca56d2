// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/smi_affinity.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

constexpr std::string_view kNotAvailable = "N/A";

/// Words, where "112-167N/A" is two.
std::vector<std::string_view> split_tail(std::string_view tail) {
  std::vector<std::string_view> words;
  for (std::string_view word : words_of(tail)) {
    for (std::size_t at = word.find(kNotAvailable); !word.empty(); at = word.find(kNotAvailable)) {
      const std::size_t past = at == 0 ? kNotAvailable.size() : std::min(at, word.size());
      words.push_back(word.substr(0, past));
      word.remove_prefix(past);
    }
  }
  return words;
}

struct Tail {
  std::string_view cpus{};
  std::string_view numa{};
  std::string_view memory{};
};

/// nothing: which word belongs to which column is not shown.
std::optional<Tail> assign_columns(const SmiTable& table, const std::vector<std::string_view>& words,
                                   std::size_t words_max) {
  const bool has_all = !table.has_header;
  const std::string_view header = table.header_tail;
  const bool has_cpu = has_all || header.find("CPU") != std::string_view::npos;
  const bool has_memory = has_all || header.find("GPU NUMA") != std::string_view::npos;
  const bool has_numa = has_all || header.find("NUMA Affinity") != std::string_view::npos;
  // Without a header the longest row tells: an older driver prints CPUs only, or CPUs and NUMA.
  const std::size_t count = has_all ? std::min<std::size_t>(words_max, 3)
                                    : static_cast<std::size_t>(has_cpu) + static_cast<std::size_t>(has_numa) +
                                          static_cast<std::size_t>(has_memory);
  Tail tail;
  if (std::ranges::all_of(words, [](std::string_view word) { return word == kNotAvailable; })) return tail;
  if (words.size() != count) return std::nullopt;
  std::size_t at = 0;
  if (has_cpu && at < words.size()) tail.cpus = words[at++];
  if (has_numa && at < words.size()) tail.numa = words[at++];
  if (has_memory && at < words.size()) tail.memory = words[at++];
  return tail;
}

std::optional<int> parse_node(std::string_view word) {
  const auto number = parse_count(word);
  if (!number || *number >= static_cast<std::int64_t>(kCpusMax)) return std::nullopt;
  return static_cast<int>(*number);
}

/// One row's words into one GPU. True: the CPU list is that of exactly one NUMA node.
void read_row(const Tail& tail, const Where& where, Gpu& gpu, std::vector<Skipped>& skipped) {
  const auto is_known = [](std::string_view word) { return !word.empty() && word != kNotAvailable; };
  if (is_known(tail.cpus)) {
    gpu.cpus = parse_cpu_list(tail.cpus);
    if (!gpu.cpus) add_skipped(skipped, where, tail.cpus, "no list of CPUs");
  }
  if (is_known(tail.memory)) {
    gpu.memory_numa_node = parse_node(tail.memory);
    if (!gpu.memory_numa_node) add_skipped(skipped, where, tail.memory, "no GPU NUMA ID");
  }
  if (!is_known(tail.numa)) return;
  const auto nodes = parse_cpu_list(tail.numa);
  if (!nodes) {
    add_skipped(skipped, where, tail.numa, "no list of NUMA nodes");
  } else if (nodes->size() == 1) {
    gpu.numa_node = nodes->front();
  } else if (gpu.memory_numa_node && nodes->front() < *gpu.memory_numa_node) {
    // The nodes of GPU memory come online after those with CPUs, so they have the higher numbers.
    gpu.numa_node = nodes->front();
  } else {
    add_skipped(skipped, where, tail.numa, "several NUMA nodes: which one is nearest is not shown");
  }
}

void add_nodes(const std::vector<int>& gpus, Reading& reading) {
  std::map<int, NumaNode> nodes;
  for (const int position : gpus) {
    if (position < 0) continue;
    const Gpu& gpu = reading.machine.gpus[static_cast<std::size_t>(position)];
    if (gpu.numa_node) {
      const auto [entry, is_new] = nodes.try_emplace(*gpu.numa_node);
      NumaNode& node = entry->second;
      if (is_new) {
        node.id = *gpu.numa_node;
        node.cpus = gpu.cpus;
        node.where = gpu.where;
      } else if (gpu.cpus && node.cpus && *gpu.cpus != *node.cpus) {
        add_skipped(reading.skipped, gpu.where, concat("NUMA", node.id),
                    "its GPUs name different CPUs: the node has all of them");
        node.cpus->insert(node.cpus->end(), gpu.cpus->begin(), gpu.cpus->end());
        std::ranges::sort(*node.cpus);
        node.cpus->erase(std::unique(node.cpus->begin(), node.cpus->end()), node.cpus->end());
      } else if (!node.cpus) {
        node.cpus = gpu.cpus;
      }
    }
    if (gpu.memory_numa_node) {
      NumaNode& node = nodes[*gpu.memory_numa_node];
      node.id = *gpu.memory_numa_node;
      node.cpus = std::vector<int>{};
      node.subtype = "GPUMemory";
      node.where = gpu.where;
    }
  }
  for (auto& [id, node] : nodes) reading.machine.numa_nodes.push_back(std::move(node));
}

}  // namespace

void read_affinity(const SmiTable& table, const std::vector<int>& gpus, Reading& reading) {
  std::size_t words_max = 0;
  for (const SmiRow& row : table.rows) words_max = std::max(words_max, split_tail(row.tail).size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const SmiRow& row = table.rows[i];
    const auto words = split_tail(row.tail);
    const Where where{reading.file, row.line};
    if (gpus[i] < 0) {
      if (!words.empty()) add_skipped(reading.skipped, where, row.tail, "follows the cells of a NIC");
      continue;
    }
    if (words.empty()) continue;
    if (const auto tail = assign_columns(table, words, words_max)) {
      read_row(*tail, where, reading.machine.gpus[static_cast<std::size_t>(gpus[i])], reading.skipped);
    } else {
      add_skipped(reading.skipped, where, row.tail,
                  "which of these is the CPU, NUMA and GPU NUMA column is not shown");
    }
  }
  add_nodes(gpus, reading);
}

}  // namespace ringcomm::inline v0::topology
