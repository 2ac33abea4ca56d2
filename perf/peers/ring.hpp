// SPDX-License-Identifier: Apache-2.0
// One hop round the ring into a private block, then (without --no-read) the first read of it: both MPI forms
// share this.
#pragma once

#include <cstring>

#include "peer.hpp"

namespace ringcomm::perf::peers {

class Ring : public Peer {
 public:
  Ring(int argc, char** argv) : has_read_(!has_flag(argc, argv, "--no-read")) {}
  std::size_t prepare(std::size_t bytes) override {
    bytes_ = bytes / 64 * 64;
    sent_ = std::make_unique<std::byte[]>(bytes_);
    received_ = std::make_unique<std::byte[]>(bytes_);
    return bytes_;
  }
  void write() override {
    ++round_;
    for (std::size_t i = 0; i < bytes_ / sizeof(std::uint64_t); ++i) {
      const std::uint64_t value = word(rank(), i);
      std::memcpy(&sent_[i * sizeof(value)], &value, sizeof(value));
    }
  }
  void run() override {
    exchange();
    if (has_read_) sink_ = sink_ + read_all(received_.get(), bytes_);
  }
  std::int64_t count_wrong() override {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < bytes_ / sizeof(std::uint64_t); ++i) {
      std::uint64_t seen = 0;
      std::memcpy(&seen, &received_[i * sizeof(seen)], sizeof(seen));
      wrong += seen != word(previous(), i) ? 1 : 0;
    }
    return wrong;
  }

 protected:
  virtual void exchange() = 0;
  static int next() { return (rank() + 1) % size(); }
  static int previous() { return (rank() + size() - 1) % size(); }

  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte[]> sent_, received_;

 private:
  std::uint64_t word(int owner, std::size_t index) const {
    return (static_cast<std::uint64_t>(owner) << 56) ^ (round_ << 40) ^ (index * 0x9e3779b97f4a7c15U >> 24);
  }
  bool has_read_;
  std::uint64_t round_ = 0;
  volatile std::uint64_t sink_ = 0;
};

}  // namespace ringcomm::perf::peers
