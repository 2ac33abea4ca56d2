// SPDX-License-Identifier: Apache-2.0
#include "transport/plugin.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/try.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/plugin_abi.hpp"

namespace ringcomm::inline v0::transport {
namespace {

/// Sets what the user did not set, and takes it away again: the process's children inherit nothing of it.
class LoadEnvironment {
 public:
  explicit LoadEnvironment(std::span<const LoadVariable> variables) {
    for (const LoadVariable& variable : variables) {
      if (std::getenv(variable.name) != nullptr) continue;
      ::setenv(variable.name, variable.value, 0);
      set_.push_back(variable.name);
    }
  }
  ~LoadEnvironment() {
    for (const char* const name : set_) ::unsetenv(name);
  }
  LoadEnvironment(const LoadEnvironment&) = delete;
  LoadEnvironment& operator=(const LoadEnvironment&) = delete;

 private:
  std::vector<const char*> set_;
};

/// The folder of the library (or, linked statically, of the program) that this code is in; "" when unknown.
std::string own_folder() {
  Dl_info info{};
  const auto here = reinterpret_cast<const void*>(&own_folder);
  if (::dladdr(here, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string_view file = info.dli_fname;
  const std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(file.substr(0, slash + 1));
}

struct Opened {
  void* handle = nullptr;
  std::string why_not;
};

Opened open_library(const std::string& file) {
  // A file that is there and cannot be loaded explains more than the search that follows.
  const std::string beside = own_folder() + file;
  const bool is_beside = beside != file && ::access(beside.c_str(), F_OK) == 0;
  Opened opened{.handle = ::dlopen((is_beside ? beside : file).c_str(), RTLD_NOW | RTLD_LOCAL),
                .why_not = {}};
  if (opened.handle == nullptr) {
    const char* const why = ::dlerror();
    opened.why_not = why == nullptr ? "no reason given" : why;
  }
  return opened;
}

std::string version_text(int abi) { return concat(abi / 10'000, ".", abi / 100 % 100, ".", abi % 100); }

Result<MessagePortFactory> open_plugin(const Plugin& plugin) {
  const std::string file = plugin_file(plugin.name);
  const LoadEnvironment environment(plugin.variables);
  const Opened library = open_library(file);
  if (library.handle == nullptr) {
    return Status::not_available(concat(
        plugin.name, " needs ", file, ", which cannot be loaded: ", library.why_not, " (build ringcomm with ",
        plugin.option, "=ON; on Debian: apt-get install ", plugin.package, ")"));
  }
  const auto* const abi =
      static_cast<const int*>(::dlsym(library.handle, concat("ringcomm_", plugin.name, "_abi").c_str()));
  const auto make = reinterpret_cast<MessagePort* (*)()>(
      ::dlsym(library.handle, concat("ringcomm_", plugin.name, "_port_v0").c_str()));
  const std::string version = abi == nullptr ? "unknown" : version_text(*abi);
  if (abi == nullptr || *abi != kPluginAbi) {
    return Status::not_available(concat(file, " is of ringcomm ", version, ", this library is ",
                                        version_text(kPluginAbi), " (both must come from one build)"));
  }
  if (make == nullptr)
    return Status::not_available(concat(file, " lacks ringcomm_", plugin.name, "_port_v0"));
  log(LogLevel::info, concat("loaded ", file));
  return MessagePortFactory([make] { return std::unique_ptr<MessagePort>(make()); });
}

/// The message transport, made when the plug-in is first needed.
class PluginTransport final : public Transport {
 public:
  PluginTransport(const Plugin& plugin, PluginUse use) : plugin_(plugin), use_(use) {}

  std::string_view name() const override { return plugin_.name; }
  Capabilities capabilities() const override {
    Capabilities expected;
    expected.two_sided = true;
    return inner_ ? inner_->capabilities() : expected;
  }
  Status can_serve(const Bootstrap& bootstrap) const override {
    if (use_ == PluginUse::between_hosts && bootstrap.kind() != GroupKind::network) {
      return Status::not_available(
          concat("the ranks share a host; name ", plugin_.name, " in RINGCOMM_TRANSPORTS to force it"));
    }
    RINGCOMM_TRY(load());
    return inner_->can_serve(bootstrap);
  }
  Status connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) override {
    RINGCOMM_TRY(load());
    return inner_->connect(bootstrap, options, deadline);
  }
  Result<std::unique_ptr<TransportChannel>> open_channel(const ChannelKey& key, Deadline deadline) override {
    RINGCOMM_TRY(load());
    return inner_->open_channel(key, deadline);
  }
  Status register_segment(std::shared_ptr<Segment> segment) override {
    RINGCOMM_TRY(load());
    return inner_->register_segment(std::move(segment));
  }
  void deregister_segment(const Segment* segment) override {
    if (inner_) inner_->deregister_segment(segment);
  }
  std::string_view path_name(int peer) const override { return inner_ ? inner_->path_name(peer) : name(); }
  void abort(Status reason) override {
    if (inner_) inner_->abort(std::move(reason));
  }
  Status health() const override { return inner_ ? inner_->health() : Status(); }
  TransportCounters counters() const override { return inner_ ? inner_->counters() : TransportCounters{}; }

 private:
  Status load() const {
    if (inner_) return {};
    RINGCOMM_TRY_ASSIGN(auto make_port, load_plugin(plugin_));
    inner_ = message_transport(std::move(make_port))();
    return {};
  }
  Plugin plugin_;
  PluginUse use_;
  mutable std::unique_ptr<Transport> inner_;
};

}  // namespace

std::string plugin_file(std::string_view name) {
  return concat("libringcomm_", name, ".so.", RINGCOMM_VERSION_MAJOR);
}

Result<MessagePortFactory> load_plugin(const Plugin& plugin) {
  static std::mutex mutex;
  static std::map<std::string, MessagePortFactory, std::less<>> loaded;
  const std::lock_guard lock(mutex);
  const auto known = loaded.find(plugin.name);
  if (known != loaded.end()) return known->second;
  RINGCOMM_TRY_ASSIGN(auto make, open_plugin(plugin));
  loaded.emplace(plugin.name, make);
  return make;
}

std::unique_ptr<Transport> make_plugin_transport(const Plugin& plugin, PluginUse use) {
  return std::make_unique<PluginTransport>(plugin, use);
}

}  // namespace ringcomm::inline v0::transport
