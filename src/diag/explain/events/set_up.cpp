// SPDX-License-Identifier: Apache-2.0
// Start-up over the network: interfaces, routes, firewalls, and network devices that differ between ranks.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::string_view kInit = "ncclCommInitRank";

/// "192.168.1" of "192.168.1.8": what is most often one segment.
std::string_view segment_of(std::string_view address) {
  const std::size_t dot = address.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : address.substr(0, dot);
}

enum class AddressClass : std::uint8_t { other, loopback, container, link_local };
AddressClass class_of(std::string_view address) {
  if (address.rfind("127.", 0) == 0 || address == "::1") return AddressClass::loopback;
  if (address.rfind("172.17.", 0) == 0 || address.rfind("172.18.", 0) == 0) return AddressClass::container;
  if (address.rfind("169.254.", 0) == 0 || has_text(address, "fe80:")) return AddressClass::link_local;
  return AddressClass::other;
}

std::string_view name_of_class(AddressClass address) {
  constexpr std::array<std::string_view, 4> kNames{"", "the loopback interface", "a container bridge",
                                                   "a link-local address"};
  return kNames[static_cast<std::size_t>(address)];
}

/// An address of the reporting host, from any line of it.
std::string own_address(const SideEvidence& side, const Who& who) {
  if (!who.address.empty()) return who.address;
  for (const RankPicture& rank : side.picture().ranks) {
    if (!who.host.empty() && rank.who.host == who.host && !rank.who.address.empty()) return rank.who.address;
  }
  for (const Who& identity : side.evidence().identities) {
    if (!who.host.empty() && identity.host == who.host && !identity.address.empty()) return identity.address;
  }
  return {};
}

std::string other_end(const EventFact& event) {
  return !event.peer.address.empty() ? event.peer.address : event.peer.host;
}

void explain_no_interface(const SideEvidence& side, std::vector<Candidate>& out) {
  const auto& events = side.of(EventKind::no_interface);
  if (events.empty()) return;
  Candidate candidate = candidate_of(side, FaultKind::net_config, Grade::certain, Weight::root,
                                     "no_interface", events.front(), "no interface to talk over");
  Verdict& verdict = candidate.verdict;
  for (const EventFact* event : events) {
    verdict.suspects.push_back(event->who.host.empty() ? side.label_of(event->who) : event->who.host);
  }
  verdict.suspects = sorted_labels(std::move(verdict.suspects));
  verdict.title = "No usable network interface at start";
  verdict.why = {"The library found no interface that fits; nothing else was tried."};
  verdict.fix =
      "Name an interface that exists on each host: NCCL_SOCKET_IFNAME=eth0 (ip -br address lists them), or "
      "unset "
      "it; in a container use --network=host.";
  verdict.op = kInit;
  out.push_back(std::move(candidate));
}

void explain_no_connection(const SideEvidence& side, std::vector<Candidate>& out) {
  const bool is_route = side.has(EventKind::no_route);
  const auto& events = side.of(is_route ? EventKind::no_route : EventKind::connect_failed);
  if (events.empty()) return;
  const EventFact& first = *events.front();
  const std::string here = own_address(side, first.who);
  const std::string there = other_end(first);
  const bool is_one_segment =
      !here.empty() && !segment_of(here).empty() && segment_of(here) == segment_of(there);
  const AddressClass address = class_of(there);
  // A refused connection may be a peer that ended, or one that has not started: weaker than no route.
  const Grade grade = is_route || address != AddressClass::other ? Grade::likely : Grade::possible;
  Candidate candidate = candidate_of(side, FaultKind::net_config, grade,
                                     is_route ? Weight::strong : Weight::ordinary, "no_connection", &first);
  Verdict& verdict = candidate.verdict;
  for (std::size_t i = 1; i < events.size(); ++i) {
    add_quote(side, verdict, events[i]->source, events[i]->text);
  }
  const std::string from = here.empty() ? first.who.host : here;
  const bool is_firewall = is_route && is_one_segment;
  if (!from.empty() && !there.empty()) {
    verdict.suspects = {concat("path ", from, " -> ", there, is_firewall ? " (firewall)" : "")};
  }
  verdict.title = concat("No connection", from.empty() ? "" : " from ", from, there.empty() ? "" : " to ",
                         there, " at start");
  if (is_firewall) {
    verdict.why = {
        "Both addresses are of one segment: no route there is nearly always a firewall that rejects, "
        "or a host that is down."};
    verdict.fix =
        concat("Open all TCP ports between ", from, " and ", there,
               " (iptables, firewalld, security group), and see that the other host is up; the interface "
               "is the right one.");
  } else if (address != AddressClass::other) {
    verdict.why = {
        concat("The address tried is of ", name_of_class(address), ", which other hosts cannot reach.")};
    verdict.fix =
        concat("Keep ", name_of_class(address),
               " out: NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME set to the interface between the hosts.");
  } else {
    verdict.why = {
        "The other end does not take the connection: its process ended or has not started, a firewall, "
        "or a wrong address."};
  }
  verdict.counter_check = "The other host's log would show whether its process was there.";
  verdict.op = kInit;
  out.push_back(std::move(candidate));
}

/// "docker0" of "interface docker0 172.17.0.2".
std::string_view interface_of(const EventFact& event) {
  constexpr std::string_view kWord = "interface ";
  std::string_view text = event.detail;
  if (!text.starts_with(kWord)) return {};
  text.remove_prefix(kWord.size());
  return text.substr(0, text.find(' '));
}

bool is_private_interface(std::string_view name) {
  constexpr std::array<std::string_view, 9> kPrivate{"lo",  "docker", "veth", "virbr",  "br-",
                                                     "cni", "tun",    "tap",  "flannel"};
  return std::any_of(kPrivate.begin(), kPrivate.end(),
                     [name](std::string_view word) { return name.starts_with(word); });
}

/// An interface that no other host reaches, chosen by ranks of several hosts or by one that gets no answer.
void explain_private_interface(const SideEvidence& side, std::vector<Candidate>& out) {
  std::set<std::string> hosts;
  const EventFact* first = nullptr;
  for (const EventFact* event : side.of(EventKind::other)) {
    const std::string_view name = interface_of(*event);
    if (name.empty()) continue;
    hosts.insert(event->who.host);
    if (first == nullptr && is_private_interface(name)) first = event;
  }
  const bool has_failed = side.has(EventKind::connect_failed) || side.has(EventKind::no_route);
  if (first == nullptr || (hosts.size() < 2 && !has_failed) || side.has(EventKind::init_complete)) return;
  const std::string name(interface_of(*first));
  Candidate candidate = candidate_of(side, FaultKind::net_config, Grade::likely, Weight::strong,
                                     "private_interface", first, "no other host reaches this interface");
  Verdict& verdict = candidate.verdict;
  verdict.suspects = {concat("interface ", name, first->who.host.empty() ? "" : " of ", first->who.host)};
  verdict.title = concat("Start-up goes over ", name, ", which other hosts cannot reach");
  verdict.why = {concat("The first interface was taken: ", first->text)};
  verdict.fix = concat("Keep ", name,
                       " out: NCCL_SOCKET_IFNAME=^lo,docker,virbr (and GLOO_SOCKET_IFNAME set to the "
                       "interface between the hosts).");
  verdict.op = kInit;
  out.push_back(std::move(candidate));
}

void explain_mixed_devices(const SideEvidence& side, std::vector<Candidate>& out) {
  const auto& events = side.of(EventKind::mixed_net_devices);
  if (events.empty()) return;
  Candidate candidate =
      candidate_of(side, FaultKind::topology_mismatch, Grade::certain, Weight::root, "mixed_net_devices",
                   events.front(), "ranks see different network devices");
  Verdict& verdict = candidate.verdict;
  for (const EventFact* event : events) {
    verdict.suspects.push_back(event->who.host.empty() ? side.label_of(event->who) : event->who.host);
  }
  verdict.suspects = sorted_labels(std::move(verdict.suspects));
  verdict.title = "Ranks see different numbers of network devices";
  verdict.why = {"The library compared the network devices of the ranks, and they differ."};
  out.push_back(std::move(candidate));
}

/// "3" of "NET/IB/3/GDRDMA".
std::string device_of_transport(std::string_view detail) {
  for (const std::string_view prefix : {std::string_view("NET/IB/"), std::string_view("NET/Socket/")}) {
    const std::size_t at = detail.find(prefix);
    if (at == std::string_view::npos) continue;
    std::string_view rest = detail.substr(at + prefix.size());
    return std::string(rest.substr(0, rest.find('/')));
  }
  return {};
}

/// The same local GPU leaves by one set of cards on one host and by another set on the next.
void explain_uneven_devices(const SideEvidence& side, std::vector<Candidate>& out) {
  if (!side.has(EventKind::timeout) && !side.has(EventKind::async_error)) return;
  std::map<int, std::map<std::string, std::set<std::string>>> devices;  // GPU, host
  for (const EventFact* event : side.of(EventKind::transport_used)) {
    const std::string device = device_of_transport(event->detail);
    if (device.empty() || event->who.gpu == kUnknown || event->who.host.empty()) continue;
    devices[event->who.gpu][event->who.host].insert(device);
  }
  for (const auto& device : devices) {
    const auto& by_host = device.second;  // not a structured binding: a lambda takes it
    if (by_host.size() < 2) continue;
    const auto odd = std::find_if(by_host.begin(), by_host.end(),
                                  [&](const auto& entry) { return entry.second != by_host.begin()->second; });
    if (odd == by_host.end()) continue;
    Candidate candidate = candidate_of(side, FaultKind::topology_mismatch, Grade::possible, Weight::ordinary,
                                       "uneven_devices", nullptr);
    candidate.verdict.suspects = sorted_labels({by_host.begin()->first, odd->first});
    candidate.verdict.title = concat("GPU ", device.first, " leaves by other network devices on ", odd->first,
                                     " than on ", by_host.begin()->first);
    candidate.verdict.why = {"Cards of different number may lie on rails that do not meet."};
    out.push_back(std::move(candidate));
    return;
  }
}

}  // namespace

void explain_set_up(const SideEvidence& side, std::vector<Candidate>& out) {
  explain_no_interface(side, out);
  explain_private_interface(side, out);
  explain_no_connection(side, out);
  explain_mixed_devices(side, out);
  explain_uneven_devices(side, out);
}

}  // namespace ringcomm::inline v0::diag
