// SPDX-License-Identifier: Apache-2.0
// How every fallible call reports what went wrong: a code to branch on and a sentence for a person.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class StatusCode : unsigned char {
  ok = 0,
  invalid_argument,  ///< the caller's values are wrong; nothing was changed
  not_available,     ///< this machine, build or path cannot do it; the message names the clause that failed
  not_found,
  unreachable,    ///< a peer or address could not be reached
  timeout,        ///< the deadline passed; the message names who was waited for
  peer_lost,      ///< a peer died or left
  mismatch,       ///< two ranks called with different values; the message names both
  out_of_memory,  ///< a limit or the system refused the memory
  aborted,        ///< somebody called abort(), or another rank failed
  corrupt_data,   ///< outside bytes that cannot be what they claim to be
  internal,       ///< our own invariant broke
};

/// The enumerator's own spelling, for example "peer_lost".
std::string_view name_of(StatusCode code);

/// Success, or a code with a message. Copying is cheap (one shared pointer); success allocates nothing.
///
/// Message shape, lower case: what failed, with values (why it matters) hint?
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message);

  static Status invalid_argument(std::string m) { return {StatusCode::invalid_argument, std::move(m)}; }
  static Status not_available(std::string m) { return {StatusCode::not_available, std::move(m)}; }
  static Status not_found(std::string m) { return {StatusCode::not_found, std::move(m)}; }
  static Status unreachable(std::string m) { return {StatusCode::unreachable, std::move(m)}; }
  static Status timeout(std::string m) { return {StatusCode::timeout, std::move(m)}; }
  static Status peer_lost(std::string m) { return {StatusCode::peer_lost, std::move(m)}; }
  static Status mismatch(std::string m) { return {StatusCode::mismatch, std::move(m)}; }
  static Status out_of_memory(std::string m) { return {StatusCode::out_of_memory, std::move(m)}; }
  static Status aborted(std::string m) { return {StatusCode::aborted, std::move(m)}; }
  static Status corrupt_data(std::string m) { return {StatusCode::corrupt_data, std::move(m)}; }
  static Status internal(std::string m) { return {StatusCode::internal, std::move(m)}; }

  bool is_ok() const { return rep_ == nullptr; }
  StatusCode code() const { return rep_ ? rep_->code : StatusCode::ok; }
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : std::string_view(); }
  /// "ok", or "<code>: <message>".
  std::string to_string() const;

 private:
  struct Rep {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const Rep> rep_;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
