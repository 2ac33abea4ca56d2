// SPDX-License-Identifier: Apache-2.0
#include "diag/record/live_record.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/try.hpp"
#include "diag/evidence/record/plain_text.hpp"
#include "diag/evidence/record/record_reader.hpp"
#include "diag/record/record_folder.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/recorder.hpp"
#include "ringcomm/diag/watchdog.hpp"

namespace ringcomm::inline v0::diag {
namespace {

namespace fs = std::filesystem;

constexpr off_t kFileBytesMax = off_t{1} << 30;

/// What a process is like, as an event; nothing where it runs as it should. One that ended after it had
/// failed, or closed its communicator, ended because of that.
std::optional<EventFact> event_of(const LiveRecord& record) {
  const bool has_ended =
      record.process.state == ProcessState::gone || record.process.state == ProcessState::zombie;
  if (has_ended && record.view.header().state != static_cast<std::uint32_t>(RecordState::open)) return {};
  EventFact event;
  event.who.rank = record.view.header().world_rank;
  event.who.pid = record.view.header().pid;
  event.who.host = plain_text(record.view.header().host);
  switch (record.process.state) {
    case ProcessState::gone:
      event.kind = EventKind::missing_process;
      event.detail = "no such process";
      break;
    case ProcessState::zombie:
      event.kind = EventKind::missing_process;
      event.detail = "has ended (zombie)";
      break;
    case ProcessState::stopped:
      event.kind = EventKind::stopped;
      event.detail = "state T";
      break;
    default:
      return {};
  }
  event.text = concat("process ", event.who.pid, " of rank ", event.who.rank, ": ", event.detail);
  return event;
}

}  // namespace

Result<std::string> read_own_file(const fs::path& path) {
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Status::not_available(std::strerror(errno));
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid() ||
      facts.st_size > kFileBytesMax)
    return Status::not_available(std::strerror(S_ISREG(facts.st_mode) ? EPERM : EINVAL));
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got =
        ::pread(file.get(), bytes.data() + size, bytes.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

std::unique_ptr<LiveRecord> read_live_record(const fs::path& path, Status& why) {
  auto record = std::make_unique<LiveRecord>();
  auto bytes = read_own_file(path);
  if (!bytes.is_ok()) {
    why = bytes.status();
    return nullptr;
  }
  record->path = path;
  record->bytes = std::move(bytes).value();
  auto view = RecordView::of(record->bytes);
  if (!view.is_ok()) {
    why = view.status();
    return nullptr;
  }
  record->view = std::move(view).value();
  record->process = process_of(record->view.header(), path);
  return record;
}

std::vector<fs::path> record_files(std::span<const fs::path> folders, std::optional<std::uint64_t> job) {
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      const auto name = parse_name(at->path().filename().string());
      if (name && (!job || name->job == *job)) files.push_back(at->path());
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

void append_live_facts(const LiveRecord& record, HangEvidence& evidence) {
  const int file = static_cast<int>(evidence.files.size());
  evidence.files.push_back({.path = record.path.string(), .formats = {"ringcomm_record"}});
  append_facts(record.view, file, evidence);
  if (auto event = event_of(record)) {
    event->source = {file};
    evidence.events.push_back(std::move(*event));
  }
}

std::vector<fs::path> records_of_job(std::uint64_t job) { return record_files(record_folders(), job); }

HangEvidence read_live_records(std::span<const fs::path> records) {
  HangEvidence evidence;
  for (const fs::path& path : records) {
    Status why;
    const auto record = read_live_record(path, why);
    if (record) {
      append_live_facts(*record, evidence);
    } else {
      evidence.unread.push_back({path.string(), why});
    }
  }
  return evidence;
}

}  // namespace ringcomm::inline v0::diag
