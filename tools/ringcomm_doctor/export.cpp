// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor export: flight records for PyTorch's tools and for Perfetto.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "command.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/export.hpp"

namespace ringcomm::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "ringcomm-doctor export";

constexpr const char* kFooter = R"(
Examples:
  ringcomm-doctor export --format fr-json /dev/shm/ringcomm-0 -o dumps
  ringcomm-doctor export --format chrome records -o trace.json

fr-json: one file per rank in the folder OUT, as PyTorch's flight recorder dumps them.
chrome: one file OUT for ui.perfetto.dev or about:tracing.
Exit codes: 0 done, 1 some files are no records, 3 nothing written, 64 usage.)";

bool write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return true;
  std::fprintf(stderr, "%s: %s cannot be written\n", kName, path.c_str());
  return false;
}

int failed(const Status& status) {
  std::fprintf(stderr, "%s: %s\n", kName, std::string(status.message()).c_str());
  return 3;
}

int write_dumps(const std::vector<fs::path>& paths, const fs::path& out, std::vector<UnreadFile>& unread) {
  const auto files = diag::export_flight_recorder_json(paths, unread);
  if (!files.is_ok()) return failed(files.status());
  std::error_code error;
  fs::create_directories(out, error);
  for (const diag::ExportedFile& file : files.value()) {
    if (!write(out / file.name, file.text)) return 3;
  }
  std::printf("%zu dumps in %s\n", files.value().size(), out.c_str());
  return 0;
}

int write_trace(const std::vector<fs::path>& paths, const fs::path& out, std::vector<UnreadFile>& unread) {
  const auto text = diag::export_chrome_trace(paths, unread);
  if (!text.is_ok()) return failed(text.status());
  if (!write(out, text.value())) return 3;
  std::printf("%s: open it in ui.perfetto.dev\n", out.c_str());
  return 0;
}

}  // namespace

int run_export(int argc, char** argv) {
  CLI::App app{"Writes flight records of ringcomm in a format that other tools read.", kName};
  std::string format = "chrome";
  std::vector<fs::path> paths;
  fs::path out;
  app.add_option("--format", format, "fr-json or chrome")->check(CLI::IsMember({"fr-json", "chrome"}));
  app.add_option("-o,--out", out, "file (chrome) or folder (fr-json) to write")->required();
  app.add_option("PATH", paths, "records, or folders of them")->required();
  app.footer(kFooter);
  if (const auto code = parse_arguments(app, argc, argv)) return *code;
  std::vector<UnreadFile> unread;
  const int code = format == "chrome" ? write_trace(paths, out, unread) : write_dumps(paths, out, unread);
  for (const UnreadFile& file : unread)
    std::fprintf(stderr, "%s: %s: %s\n", kName, file.file.c_str(),
                 std::string(file.status.message()).c_str());
  return code == 0 && !unread.empty() ? 1 : code;
}

}  // namespace ringcomm::doctor
