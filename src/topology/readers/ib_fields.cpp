// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/ib_fields.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/parse.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// "5: LinkUp" and "LINK_UP (5)" -> "linkup".
std::string state_word(std::string_view text) {
  text = trimmed(text);
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos)
    text.remove_prefix(colon + 1);
  text = text.substr(0, text.find('('));
  std::string word;
  for (const char c : trimmed(text)) {
    if (c != '_' && c != ' ') word += lower(c);
  }
  return word.starts_with("port") && !word.starts_with("portconfiguration") ? word.substr(4) : word;
}

template <class T, std::size_t n>
std::optional<T> find_word(const std::array<std::pair<std::string_view, T>, n>& words,
                           std::string_view word) {
  const auto found = std::ranges::find(words, word, &std::pair<std::string_view, T>::first);
  return found == words.end() ? std::nullopt : std::optional(found->second);
}

/// "4096 (5)", "868", "0xffff": the first word.
std::optional<int> parse_number(std::string_view text, long long value_max) {
  const auto words = words_of(text);
  const auto value = words.empty() ? std::nullopt : parse_base0(words[0]);
  if (!value || *value < 0 || *value > value_max) return std::nullopt;
  return static_cast<int>(*value);
}

template <class T>
void set(T& target, std::optional<T> value, const IbField& field, const Where& where,
         std::vector<Skipped>& skipped) {
  if (value) {
    target = *value;
  } else {
    add_skipped(skipped, where, field.value, "no value of '" + field.key + "' that is known");
  }
}

template <class T>
void set(std::optional<T>& target, std::optional<T> value, const IbField& field, const Where& where,
         std::vector<Skipped>& skipped) {
  target = value;
  if (!value) add_skipped(skipped, where, field.value, "no value of '" + field.key + "' that is known");
}

}  // namespace

std::optional<PortState> parse_port_state(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, PortState>, 5> kWords{
      {{"down", PortState::down},
       {"init", PortState::initializing},
       {"initializing", PortState::initializing},
       {"armed", PortState::armed},
       {"active", PortState::active}}};
  return find_word(kWords, state_word(text));
}

std::optional<PhysState> parse_phys_state(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, PhysState>, 8> kWords{
      {{"sleep", PhysState::sleep},
       {"polling", PhysState::polling},
       {"disabled", PhysState::disabled},
       {"portconfigurationtraining", PhysState::training},
       {"training", PhysState::training},
       {"linkup", PhysState::link_up},
       {"linkerrorrecovery", PhysState::error_recovery},
       {"linkerrorrecover", PhysState::error_recovery}}};
  return find_word(kWords, state_word(text));
}

std::optional<LinkLayer> parse_link_layer(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, LinkLayer>, 4> kWords{
      {{"infiniband", LinkLayer::infiniband},
       {"ib", LinkLayer::infiniband},
       {"ethernet", LinkLayer::ethernet},
       {"unspecified", LinkLayer::unknown}}};
  return find_word(kWords, state_word(text));
}

std::optional<double> parse_port_rate(std::string_view text) {
  const auto words = words_of(text);
  if (words.empty() || (words.size() > 1 && words[1] != "Gb/sec")) return std::nullopt;
  const auto rate = parse_decimal<double>(words[0]);
  if (!rate || !(*rate > 0) || *rate > 100000) return std::nullopt;
  return rate;
}

std::optional<Gid> parse_gid(std::string_view address, std::string_view type) {
  const std::string text(trimmed(address));
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> canonical{};
  if (text.size() >= canonical.size() || inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1 ||
      inet_ntop(AF_INET6, bytes.data(), canonical.data(), canonical.size()) == nullptr)
    return std::nullopt;
  Gid gid;
  gid.address = canonical.data();
  type = trimmed(type);
  // The kernel calls it "IB/RoCE v1", ibv_devinfo "RoCE v1", show_gids "v1".
  if (type == "RoCE v1" || type == "v1" || type == "IB/RoCE v1") {
    gid.type = "IB/RoCE v1";
  } else if (type == "v2") {
    gid.type = "RoCE v2";
  } else {
    gid.type = std::string(type.substr(0, 40));
  }
  return gid;
}

bool is_empty_gid(const Gid& gid) { return gid.address == "::"; }

std::optional<IbField> split_ib_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  IbField field{.key = {}, .value = trimmed(line.substr(colon + 1))};
  for (const char c : trimmed(line.substr(0, colon)).substr(0, 64)) field.key += c == '_' ? ' ' : lower(c);
  return field;
}

bool set_port_field(const IbField& field, const Where& where, Port& port, std::vector<Skipped>& skipped) {
  const std::string& key = field.key;
  if (key == "state") {
    set(port.state, parse_port_state(field.value), field, where, skipped);
  } else if (key == "phys state" || key == "physical state") {
    set(port.phys_state, parse_phys_state(field.value), field, where, skipped);
  } else if (key == "link layer") {
    set(port.link_layer, parse_link_layer(field.value), field, where, skipped);
  } else if (key == "rate") {
    port.rate_text = std::string(field.value.substr(0, 80));
    set(port.gbit_per_s, parse_port_rate(field.value), field, where, skipped);
  } else if (key == "base lid" || key == "port lid" || key == "lid") {
    set(port.lid, parse_number(field.value, 0xffff), field, where, skipped);
  } else if (key == "active mtu" || key == "max mtu") {
    const auto bytes = parse_number(field.value, 65536);
    set(key == "max mtu" ? port.max_mtu_bytes : port.active_mtu_bytes,
        bytes && *bytes > 0 ? bytes : std::optional<int>(), field, where, skipped);
  } else {
    return false;
  }
  return true;
}

bool set_nic_field(const IbField& field, Nic& nic) {
  // "..." is what people leave of what they do not want to show.
  const std::string value(field.value.find("...") == std::string_view::npos ? field.value.substr(0, 80)
                                                                            : std::string_view());
  if (field.key == "fw ver" || field.key == "firmware version") {
    nic.firmware = value;
  } else if (field.key == "ca type" || field.key == "hca type") {
    nic.model = value;
  } else if (field.key == "node guid") {
    nic.guid = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace ringcomm::inline v0::topology
