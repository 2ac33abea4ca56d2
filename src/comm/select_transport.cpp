// SPDX-License-Identifier: Apache-2.0
#include "comm/select_transport.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::comm {
namespace {

// What a rank tells the others: its own failure, and for each transport of its list why it cannot serve.
struct Greeting {
  StatusCode code = StatusCode::ok;
  std::string failure;
  std::vector<std::string> names;
  std::vector<std::string> refusals;  // empty text: it can serve
};

void append(std::vector<std::byte>& bytes, std::string_view text) {
  const std::string_view cut = text.substr(0, 512);  // a group's greetings have to fit the bootstrap's limit
  for (const char letter : cut) bytes.push_back(static_cast<std::byte>(letter == '\0' ? ' ' : letter));
  bytes.push_back(std::byte{0});
}

std::vector<std::byte> encode(const Greeting& greeting) {
  std::vector<std::byte> bytes{static_cast<std::byte>(greeting.code)};
  append(bytes, greeting.failure);
  for (std::size_t i = 0; i < greeting.names.size(); ++i) {
    append(bytes, greeting.names[i]);
    append(bytes, greeting.refusals[i]);
  }
  return bytes;
}

Result<Greeting> decode(std::span<const std::byte> bytes, int rank) {
  std::vector<std::string> texts;
  std::string text;
  for (const std::byte byte : bytes.subspan(std::min<std::size_t>(1, bytes.size()))) {
    if (byte != std::byte{0}) {
      text += static_cast<char>(byte);
      continue;
    }
    texts.push_back(std::move(text));
    text.clear();
  }
  if (bytes.empty() || texts.size() % 2 != 1 ||
      static_cast<int>(bytes[0]) > static_cast<int>(StatusCode::internal))
    return Status::corrupt_data(
        concat("the greeting of rank ", rank, " is not one. Another ringcomm version?"));
  Greeting greeting{
      .code = static_cast<StatusCode>(bytes[0]), .failure = texts[0], .names = {}, .refusals = {}};
  for (std::size_t i = 1; i + 1 < texts.size(); i += 2) {
    greeting.names.push_back(texts[i]);
    greeting.refusals.push_back(texts[i + 1]);
  }
  return greeting;
}

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += list.empty() ? name : "," + name;
  return list;
}

Result<std::size_t> first_that_serves_all(const std::vector<Greeting>& greetings) {
  std::string reasons;
  for (std::size_t i = 0; i < greetings[0].names.size(); ++i) {
    const auto refusing = std::ranges::find_if(
        greetings, [i](const Greeting& greeting) { return !greeting.refusals[i].empty(); });
    if (refusing == greetings.end()) return i;
    reasons += concat(reasons.empty() ? "" : "; ", greetings[0].names[i], " on rank ",
                      refusing - greetings.begin(), ": ", refusing->refusals[i]);
  }
  return Status::not_available(concat("no transport serves this group (", reasons, ")"));
}

}  // namespace

Status could_not_set_up(int rank, StatusCode code, std::string_view reason) {
  return Status(code, concat("rank ", rank, " could not set up: ", reason));
}

Result<std::unique_ptr<Transport>> select_transport(Bootstrap& bootstrap,
                                                    const std::vector<TransportFactory>& factories,
                                                    const Status& own, Deadline deadline) {
  Greeting mine{.code = own.code(), .failure = std::string(own.message()), .names = {}, .refusals = {}};
  std::vector<std::unique_ptr<Transport>> candidates;
  for (const TransportFactory& factory : factories) {
    candidates.push_back(factory());
    mine.names.emplace_back(candidates.back()->name());
    mine.refusals.emplace_back(candidates.back()->can_serve(bootstrap).message());
  }
  auto answers = bootstrap.all_gather(encode(mine), deadline);
  RINGCOMM_TRY(own);
  RINGCOMM_TRY(answers.status());
  std::vector<Greeting> greetings;
  for (const auto& bytes : answers.value()) {
    const int rank = static_cast<int>(greetings.size());
    RINGCOMM_TRY_ASSIGN(auto greeting, decode(bytes, rank));
    if (greeting.code != StatusCode::ok) return could_not_set_up(rank, greeting.code, greeting.failure);
    if (greeting.names != mine.names) {
      return Status::mismatch(concat("transports differ: rank ", bootstrap.rank(), " offers ",
                                     joined(mine.names), ", rank ", rank, " offers ",
                                     joined(greeting.names)));
    }
    greetings.push_back(std::move(greeting));
  }
  RINGCOMM_TRY_ASSIGN(const std::size_t chosen, first_that_serves_all(greetings));
  return std::move(candidates[chosen]);
}

}  // namespace ringcomm::inline v0::comm
