// SPDX-License-Identifier: Apache-2.0
// Finds the reader of a text by its content, and says what a text is that nobody reads.
#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/config.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/evidence_readers.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0 {
namespace {

using topology::Reader;

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

/// What is no text at all, and what to do about it.
Status check_is_text(std::string_view text, const std::string& file) {
  if (text.size() > topology::kTextBytesMax)
    return Status::corrupt_data(concat(file, " has more than ", format_bytes(topology::kTextBytesMax),
                                       " (the limit of a reader). Cut out the part that matters"));
  if (text.starts_with("\x1F\x8B") || text.starts_with("BZh") ||
      text.starts_with("\xFD"
                       "7zXZ") ||
      text.starts_with("\x28\xB5\x2F\xFD"))
    return Status::not_available(concat(file, " is compressed: gunzip it first (or bunzip2, unxz, unzstd)"));
  if (text.starts_with("PK\x03\x04"))
    return Status::not_available(concat(file, " is a zip archive: unzip it first"));
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return Status::not_available(
        concat(file, " is UTF-16: convert it first (iconv -f UTF-16 -t UTF-8 ", file, ")"));
  if (topology::trimmed(text).empty())
    return Status::not_found(
        concat(file, " is empty (formats that are read: ", topology::list_of_formats(), ")"));
  return {};
}

const Reader* find_by_name(std::string_view name) {
  const auto readers = topology::evidence_readers();
  const auto found = std::ranges::find(readers, name, &Reader::name);
  return found == readers.end() ? nullptr : &*found;
}

const Reader* find_by_content(std::string_view text) {
  const auto readers = topology::evidence_readers();
  const auto found =
      std::ranges::find_if(readers, [&](const Reader& reader) { return reader.looks_like(text); });
  return found == readers.end() ? nullptr : &*found;
}

Status nobody_reads(std::string_view text, const std::string& file) {
  if (RINGCOMM_HAVE_PUGIXML == 0 && topology::trimmed(text).starts_with('<'))
    return Status::not_available(concat(file, " is XML: this build reads no XML (built without pugixml)"));
  return Status::not_found(
      concat(file, " is no evidence of a format that is read here: ", topology::list_of_formats()));
}

}  // namespace

Result<Reading> read_evidence(std::string_view text, const std::string& file, std::string_view format) {
  RINGCOMM_TRY(check_is_text(text, file));
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  const Reader* const reader = format.empty() ? find_by_content(text) : find_by_name(format);
  if (reader == nullptr && !format.empty())
    return Status::not_found(concat("no reader is called '", topology::shown(format),
                                    "'. Formats that are read: ", topology::list_of_formats()));
  if (reader == nullptr) return nobody_reads(text, file);
  RINGCOMM_TRY_ASSIGN(Reading reading, reader->read(text, file));
  reading.file = file;
  reading.format = std::string(reader->name);
  return reading;
}

}  // namespace ringcomm::inline v0
