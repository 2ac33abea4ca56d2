// SPDX-License-Identifier: Apache-2.0
// What UCX alone can do: two processes exchange a block by ucp_tag_send and ucp_tag_recv and read it once,
// sampled as ringcomm-perf --serve takes them. UCX_TLS and UCX_NET_DEVICES choose what it goes over.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../read_all.hpp"
#include "../sample_request.hpp"
#include "answer.hpp"
#include "bind.hpp"

namespace ringcomm::perf::peers {
namespace {

constexpr int kCannot = 5;

/// What both processes see: where they are, and what rank 1 measured.
struct Shared {
  std::atomic<std::uint64_t> arrived[2] = {};
  std::atomic<bool> has_failed{false};
  std::atomic<double> us{0};
  std::atomic<std::int64_t> wrong{0};
  std::atomic<std::size_t> address_bytes[2] = {};
  std::array<std::byte, 4096> address[2] = {};
};

class Rank {
 public:
  Rank(int rank, Shared& shared) : rank_(rank), shared_(shared) {
    bind_rank(rank);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    require(ucp_init(&params, nullptr, &context_), "ucp_init");
    ucp_worker_params_t single{};
    require(ucp_worker_create(context_, &single, &worker_), "ucp_worker_create");
    connect();
  }
  ~Rank() {
    ucp_request_param_t param{};
    wait(ucp_ep_close_nbx(endpoint_, &param));
    meet();  // the other side closes too
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// Untimed: allocates for this size, rounded as ringcomm-perf rounds.
  void prepare(std::size_t bytes) {
    words_ = bytes / 64 * 8;
    sent_ = std::make_unique<std::uint64_t[]>(words_);
    received_ = std::make_unique<std::uint64_t[]>(words_);
  }
  std::size_t bytes() const { return words_ * sizeof(std::uint64_t); }

  /// Microseconds of this rank for one exchange and the first read, from a point where both have written.
  double sample() {
    ++round_;
    for (std::size_t i = 0; i < words_; ++i) sent_[i] = word(rank_, i);
    meet();
    const auto begun = std::chrono::steady_clock::now();
    ucp_request_param_t param{};
    const ucs_status_ptr_t receive =
        ucp_tag_recv_nbx(worker_, received_.get(), bytes(), round_, ~std::uint64_t{0}, &param);
    const ucs_status_ptr_t send = ucp_tag_send_nbx(endpoint_, sent_.get(), bytes(), round_, &param);
    wait(receive);
    wait(send);
    sink_ = sink_ + read_all(reinterpret_cast<const std::byte*>(received_.get()), bytes());
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
  }
  std::int64_t count_wrong() const {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < words_; ++i) wrong += received_[i] != word(1 - rank_, i) ? 1 : 0;
    return wrong;
  }
  /// Both ranks are here.
  void meet() {
    const std::uint64_t turn = ++shared_.arrived[rank_];
    while (shared_.arrived[1 - rank_].load() < turn) progress();
  }

 private:
  /// UCX's errors end both processes: there is nothing to measure then.
  void require(ucs_status_t status, const char* what) {
    if (status == UCS_OK) return;
    std::fprintf(stderr, "ringcomm-raw-ucx: %s: %s\n", what, ucs_status_string(status));
    shared_.has_failed = true;
    std::_Exit(kCannot);
  }
  void progress() {
    if (worker_ != nullptr) ucp_worker_progress(worker_);
    if (shared_.has_failed) std::_Exit(kCannot);
  }
  void connect() {
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    require(ucp_worker_get_address(worker_, &address, &bytes), "ucp_worker_get_address");
    if (bytes > shared_.address[rank_].size()) require(UCS_ERR_BUFFER_TOO_SMALL, "address");
    std::memcpy(shared_.address[rank_].data(), address, bytes);
    shared_.address_bytes[rank_] = bytes;
    ucp_worker_release_address(worker_, address);
    meet();
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(shared_.address[1 - rank_].data());
    require(ucp_ep_create(worker_, &params, &endpoint_), "ucp_ep_create");
  }
  void wait(ucs_status_ptr_t request) {
    if (UCS_PTR_IS_ERR(request)) require(UCS_PTR_STATUS(request), "transfer");
    if (request == nullptr) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) progress();
    require(ucp_request_check_status(request), "transfer");
    ucp_request_free(request);
  }
  std::uint64_t word(int owner, std::size_t index) const {
    return (static_cast<std::uint64_t>(owner) << 56) ^ (round_ << 40) ^ (index * 0x9e3779b97f4a7c15U >> 24);
  }

  int rank_;
  Shared& shared_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::size_t words_ = 0;
  std::unique_ptr<std::uint64_t[]> sent_, received_;
  std::uint64_t round_ = 0;
  volatile std::uint64_t sink_ = 0;
};

/// One of the two processes: requests come from `input`; rank 0 passes them on to `other` and answers.
void serve(int rank, Shared& shared, std::FILE* input, std::FILE* other) {
  Rank self(rank, shared);
  std::size_t prepared = 0;
  for (;;) {
    const SampleRequest request = read_request(input);
    if (other != nullptr) {
      std::fprintf(other, "go %lld %d\n", static_cast<long long>(request.bytes), request.iterations);
      std::fflush(other);
    }
    if (request.iterations <= 0) return;
    if (static_cast<std::size_t>(request.bytes) != prepared)
      self.prepare(static_cast<std::size_t>(request.bytes));
    prepared = static_cast<std::size_t>(request.bytes);
    std::vector<double> us;
    for (int i = -1; i < request.iterations; ++i) {  // one to warm up
      const double mine = self.sample();
      if (rank == 1) shared.us = mine;
      self.meet();
      if (i >= 0) us.push_back(std::max(mine, shared.us.load()));
    }
    const std::int64_t wrong = self.count_wrong();
    if (rank == 1) shared.wrong = wrong;
    self.meet();
    if (rank != 0) continue;
    print_answer(stats_of(us), wrong + shared.wrong.load(), self.bytes(), "ucp_tag_send",
                 std::string("UCX ") + ucp_get_version_string());
  }
}

int run() {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2] = {};
  if (memory == MAP_FAILED || pipe(ends) != 0) return kCannot;
  Shared& shared = *new (memory) Shared;
  const pid_t child = fork();
  if (child < 0) return kCannot;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[1]);
    serve(1, shared, fdopen(ends[0], "r"), nullptr);
    std::_Exit(0);
  }
  close(ends[0]);
  serve(0, shared, stdin, fdopen(ends[1], "w"));
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace ringcomm::perf::peers

int main() { return ringcomm::perf::peers::run(); }
