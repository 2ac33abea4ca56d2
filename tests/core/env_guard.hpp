// SPDX-License-Identifier: Apache-2.0
// Sets or removes an environment variable for one test and puts back what was there.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace ringcomm::test {

class EnvGuard {
 public:
  EnvGuard(std::string name, std::optional<std::string> value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    put(value);
  }
  ~EnvGuard() { put(old_); }
  EnvGuard(const EnvGuard&) = delete;
  EnvGuard& operator=(const EnvGuard&) = delete;

 private:
  void put(const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }
  std::string name_;
  std::optional<std::string> old_;
};

}  // namespace ringcomm::test
