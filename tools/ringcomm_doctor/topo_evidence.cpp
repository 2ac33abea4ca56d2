// SPDX-License-Identifier: Apache-2.0
#include "topo_evidence.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/discover.hpp"

namespace ringcomm::doctor {
namespace {

constexpr std::size_t kTextBytesMax = std::size_t{64} << 20;  // read_evidence's own limit

Result<std::string> read_stream(std::FILE* stream, const std::string& name) {
  std::string text;
  std::vector<char> buffer(std::size_t{64} << 10);
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), stream)) {
    text.append(buffer.data(), count);
    if (text.size() > kTextBytesMax) return Status::corrupt_data(concat(name, " has more than 64 MiB"));
  }
  if (std::ferror(stream) != 0) return Status::not_available(concat("cannot read ", name));
  return text;
}

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) return Status::not_found(concat("no such file: ", path));
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::fifo)
    return Status::not_available(concat(path, " is not a file (--format reads single files)"));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return Status::not_available(concat("cannot open ", path));
  return read_stream(file.get(), path);
}

void add_text(Result<std::string> text, const std::string& name, const std::string& format,
              std::vector<Reading>& readings, std::vector<UnreadFile>& unread) {
  if (!text.is_ok()) {
    unread.push_back({name, text.status()});
    return;
  }
  auto reading = read_evidence(text.value(), name, format);
  if (reading.is_ok())
    readings.push_back(std::move(reading).value());
  else
    unread.push_back({name, reading.status()});
}

/// A job that is started from here would see these.
void add_environment(JobEvidence& job) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool is_ours =
        text.starts_with("RINGCOMM_") || text.starts_with("NCCL_") || text.starts_with("UCX_");
    const std::size_t equals = text.find('=');
    if (!is_ours || equals == std::string_view::npos) continue;
    job.events.push_back(
        {LogEventKind::environment,
         {},
         {},
         {{"name", std::string(text.substr(0, equals))}, {"value", std::string(text.substr(equals + 1))}},
         {"environment", 0}});
  }
}

Evidence read_live() {
  Evidence out;
  out.merged = discover_machine();
  add_environment(out.merged.job);
  const Machine& machine = out.merged.machine;
  out.is_incomplete = machine.numa_nodes.empty() && machine.gpus.empty() && machine.pci.empty();
  out.sources.push_back({"this machine", "live"});
  return out;
}

}  // namespace

Evidence gather_evidence(const std::vector<std::string>& files, const std::string& format) {
  if (files.empty()) return read_live();
  Evidence out;
  std::vector<Reading> readings;
  for (const std::string& file : files) {
    if (file == "-") {
      add_text(read_stream(stdin, "standard input"), "standard input", format, readings, out.unread);
    } else if (!format.empty()) {
      add_text(read_file(file), file, format, readings, out.unread);
    } else {
      const std::filesystem::path path(file);
      for (Reading& reading : read_evidence_paths({&path, 1}, out.unread))
        readings.push_back(std::move(reading));
    }
  }
  const auto is_named = [&](const UnreadFile& unread) {
    return unread.file == "standard input" ||
           std::find(files.begin(), files.end(), unread.file) != files.end();
  };
  out.is_incomplete = readings.empty() || std::any_of(out.unread.begin(), out.unread.end(), is_named);
  for (const Reading& reading : readings) out.sources.push_back({reading.file, reading.format});
  out.merged = merge_evidence(std::move(readings));
  return out;
}

}  // namespace ringcomm::doctor
