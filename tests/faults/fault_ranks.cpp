// SPDX-License-Identifier: Apache-2.0
#include "faults/fault_ranks.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <regex>
#include <sstream>
#include <thread>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::test {
namespace {

constexpr std::chrono::seconds kBarrier{30};
constexpr std::chrono::seconds kChildLimit{60};
constexpr char kField = '\t';

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  // The records of what failed stay, on purpose, in a folder of their own.
  const std::string records = concat("ringcomm-", ::geteuid());
  for (const auto& item : std::filesystem::directory_iterator(directory, ignored)) {
    if (item.path().filename() != records) names.push_back(item.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Names in /dev/shm that were not there before; those of other programs come and go, so that they get time.
std::string new_shared_names(const std::vector<std::string>& before) {
  std::string added;
  for (int turn = 0; turn < 50; ++turn) {
    added.clear();
    for (const std::string& name : names_in("/dev/shm")) {
      if (!std::binary_search(before.begin(), before.end(), name))
        added += concat(added.empty() ? "" : " ", name);
    }
    if (added.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return added;
}

struct Said {
  Status status;
  Status health;
  std::int64_t ms = 0;
};

Said meet_and_run(Communicator& comm, const Body& body) {
  CallOptions options;
  options.deadline = kBarrier;
  Said said;
  said.status = barrier(comm.channel(), options).status();
  const std::int64_t began_ns = now_ns();
  if (said.status.is_ok()) said.status = body(comm);
  said.ms = (now_ns() - began_ns) / 1'000'000;
  said.health = comm.health();
  return said;
}

std::vector<RankOutcome> thread_outcomes(int ranks, const Body& body, const CommunicatorOptions& options) {
  auto made = Communicator::create_local(ranks, options);
  if (!made.is_ok())
    return std::vector<RankOutcome>(static_cast<std::size_t>(ranks),
                                    RankOutcome{golden(made.status().to_string()), {}, 0, {}});
  std::vector<RankOutcome> all(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    threads.emplace_back([&, rank, comm = std::move(made.value()[rank])]() mutable {
      const Said said = meet_and_run(comm, body);
      all[rank] = {golden(said.status.to_string()), golden(said.health.to_string()), said.ms, {}};
    });
  }
  threads.clear();
  return all;
}

}  // namespace

std::string golden(std::string text, const std::string& directory) {
  if (!directory.empty()) {
    for (std::size_t at = text.find(directory); at != std::string::npos; at = text.find(directory))
      text.replace(at, directory.size(), "DIR");
  }
  static const std::regex pid(R"(\b(pid|process) [0-9]+)");
  static const std::regex wait(R"(\b(within|waited) [0-9]+ ms)");
  static const std::regex told(R"( \(told by rank [0-9]+\)|rank [0-9]+ gave up: )");
  static const std::regex place(R"(, while rank [0-9]+ waited in [a-z_]+ #[0-9]+ step [0-9]+)");
  text = std::regex_replace(text, place, ", while rank R waited in OP");
  text = std::regex_replace(text, pid, "$1 P");
  text = std::regex_replace(text, wait, "$1 T ms");
  text = std::regex_replace(text, told, "");
  static const std::regex verdict("; verdict: .*");  // what the watchdog adds has tests of its own
  return std::regex_replace(text, verdict, "");
}

std::string name_of(Medium medium) { return medium == Medium::threads ? "threads" : "processes"; }

std::string run_and_report(const std::function<Result<Communicator>()>& make, const Body& body) {
  const int descriptors = open_descriptors();
  Said said;
  {
    auto comm = make();
    if (comm.is_ok()) {
      said = meet_and_run(comm.value(), body);
    } else {
      said.status = comm.status();
    }
  }
  std::string left;
  // Fewer than before are no leak: the sockets of the mesh were taken.
  if (const int more = open_descriptors() - descriptors; more > 0) left += concat(more, " descriptors ");
  if (const int maps = mappings_with("memfd:ringcomm"); maps != 0) left += concat(maps, " mappings ");
  if (const int threads = threads_of_this_process(); threads != 1) left += concat(threads - 1, " threads ");
  return concat(said.status.to_string(), kField, said.health.to_string(), kField, said.ms, kField, left,
                kField);
}

RankOutcome parse_report(const RankReport& report) {
  std::vector<std::string> fields;
  std::istringstream in(report.message);
  for (std::string field; std::getline(in, field, kField);) fields.push_back(field);
  if (fields.size() != 4) return {report.to_string(), {}, 0, {}};
  return {golden(fields[0]), golden(fields[1]), std::stoll(fields[2]), fields[3]};
}

std::vector<RankOutcome> outcomes(Medium medium, int ranks, const Body& body,
                                  const CommunicatorOptions& options) {
  if (medium == Medium::threads) return thread_outcomes(ranks, body, options);
  auto mesh = ForkedMesh::create(ranks);
  check(mesh.status());
  std::optional<ForkedMesh> taken(std::move(mesh).value());
  ProcessRanks processes(ranks, [&](int rank, const RankVoice&) {
    return run_and_report(
        [&]() -> Result<Communicator> {
          RINGCOMM_TRY_ASSIGN(auto bootstrap, taken->take(rank));
          return Communicator::create(std::move(bootstrap), options);
        },
        body);
  });
  taken.reset();
  std::vector<RankOutcome> all;
  for (const RankReport& report : processes.wait_all(kChildLimit)) all.push_back(parse_report(report));
  return all;
}

LeftBehind::LeftBehind()
    : descriptors_(open_descriptors()),
      mappings_(mappings_with("memfd:")),
      threads_(threads_of_this_process()),
      shared_names_(names_in("/dev/shm")) {}

std::string LeftBehind::differences() const {
  std::string text;
  if (::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) text += "a child process; ";
  const auto differ = [&](std::string_view what, int before, int after) {
    if (before != after) text += concat(what, ": ", after, " instead of ", before, "; ");
  };
  differ("descriptors", descriptors_, open_descriptors());
  differ("memfd mappings", mappings_, mappings_with("memfd:"));
  differ("threads", threads_, threads_of_this_process());
  const std::string added = new_shared_names(shared_names_);
  if (!added.empty()) text += concat("names in /dev/shm: ", added, "; ");
  return text;
}

CommunicatorOptions patient(std::chrono::milliseconds deadline) {
  CommunicatorOptions options;
  options.deadline = deadline;
  options.arena_bytes = 64 << 10;
  return options;
}

Result<Block> make_block(Communicator& comm, const BlockShape& shape) {
  Block block;
  const std::int64_t elements = shape.rows * shape.heads * shape.dim;
  const auto bytes = static_cast<std::size_t>(elements) * bytes_of(shape.dtype);
  RINGCOMM_TRY_ASSIGN(block.window, comm.allocate(2 * bytes));
  block.k = TensorView::contiguous(block.window.data(), shape.dtype, {shape.rows, shape.heads, shape.dim});
  block.v =
      TensorView::contiguous(block.window.data() + bytes, shape.dtype, {shape.rows, shape.heads, shape.dim});
  return block;
}

namespace {

float element_of(int rank, int round, std::int64_t index) {
  return static_cast<float>((rank * 16 + round % 16) * 65536 + static_cast<int>(index % 65536));
}

}  // namespace

void fill_block(const Block& block, int rank, int round) {
  const std::span<float> elements = block.window.span<float>();
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = element_of(rank, round, static_cast<std::int64_t>(i));
}

Status check_step(const RotationStep& step, int round) {
  for (const RotationPart& part : step.parts()) {
    std::int64_t index = 0;
    for (const TensorView* view : {&part.k, &part.v}) {
      const auto* data = static_cast<const float*>(view->data);
      for (std::int64_t i = 0; i < view->element_count(); ++i, ++index) {
        if (data[i] == element_of(part.source, round, index)) continue;
        return Status::internal(concat("step ", step.index(), ": element ", index, " of rank ", part.source,
                                       " is ", static_cast<double>(data[i])));
      }
    }
  }
  return {};
}

Status rotate_checked(Communicator& comm, const Block& block, RingRotation& rotation, int round,
                      const std::function<void(int step)>& at_step) {
  fill_block(block, comm.rank(), round);
  RINGCOMM_TRY(rotation.start());
  int steps = 0;
  while (RotationStep step = rotation.next()) {
    RINGCOMM_TRY(check_step(step, round));
    if (at_step) at_step(step.index());
    ++steps;
  }
  RINGCOMM_TRY(rotation.status());
  return steps == comm.size() ? Status() : Status::internal(concat("only ", steps, " steps"));
}

}  // namespace ringcomm::test
