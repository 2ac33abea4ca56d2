// SPDX-License-Identifier: Apache-2.0
#include "text_source.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "ringcomm/core/text.hpp"

namespace ringcomm::demo {
namespace {

constexpr const char* kDebianText = "/usr/share/common-licenses/GPL-3";

Result<std::string> read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) return Status::not_found(concat("cannot read ", file.string()));
  return bytes;
}

Text own_documents() {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(RINGCOMM_SOURCE_DIR "/docs", ignored)) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Text text{.bytes = {}, .name = "the documents of this repository (docs/*.md)"};
  for (const auto& file : files)
    text.bytes += read_file(file).status().is_ok() ? read_file(file).value() : "";
  return text;
}

}  // namespace

Result<Text> load_text(const std::filesystem::path& file, std::int64_t tokens) {
  Text text;
  if (!file.empty()) {
    auto bytes = read_file(file);
    if (!bytes.is_ok()) return bytes.status();
    text = {.bytes = std::move(bytes).value(), .name = file.string()};
  } else if (auto bytes = read_file(kDebianText); bytes.is_ok()) {
    text = {.bytes = std::move(bytes).value(), .name = kDebianText};
  } else {
    text = own_documents();
  }
  if (static_cast<std::int64_t>(text.bytes.size()) < tokens) {
    return Status::invalid_argument(
        concat("the text ", text.name, " has ", text.bytes.size(), " bytes, ", tokens,
               " are needed (one byte is one token). Give a longer --text or fewer --tokens"));
  }
  text.bytes.resize(static_cast<std::size_t>(tokens));
  return text;
}

}  // namespace ringcomm::demo
