// SPDX-License-Identifier: Apache-2.0
// No system call in steady state: two ranks with a CPU each rotate a block while a seccomp filter traps every
// system call of their threads, whose handler counts it and makes it after all. Forks, so it starts no
// thread.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/core/limits.hpp"

extern "C" {
/// A system call that the filter lets through: by the address behind its instruction.
long ringcomm_test_allowed_call(long number, long a, long b, long c, long d, long e, long f);
extern const char ringcomm_test_allowed_address;  // NOLINT: code, not data
}
asm(R"(
  .pushsection .text
  .globl ringcomm_test_allowed_call
  .type ringcomm_test_allowed_call, @function
ringcomm_test_allowed_call:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  .globl ringcomm_test_allowed_address
ringcomm_test_allowed_address:
  ret
  .size ringcomm_test_allowed_call, . - ringcomm_test_allowed_call
  .popsection
)");

namespace ringcomm {
namespace {

using namespace test;

constexpr int kSteps = 2000;
/// A CPU that is taken away for a while makes the peer wait, and long waits sleep.
constexpr int kCallsMost = kSteps / 20;

volatile sig_atomic_t calls = 0;

/// Reading the clock is no system call where the kernel maps its clock; elsewhere it may be one, and is not
/// what is tested.
void on_trapped_call(int /*signal*/, siginfo_t* info, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (info->si_syscall != SYS_clock_gettime) calls = calls + 1;
  registers[REG_RAX] =
      ringcomm_test_allowed_call(info->si_syscall, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                                 registers[REG_R10], registers[REG_R8], registers[REG_R9]);
}

/// For this thread, until it ends. False where the system refuses filters.
bool trap_system_calls() {
  struct sigaction action {};
  action.sa_sigaction = on_trapped_call;
  action.sa_flags = SA_SIGINFO;
  const auto allowed = reinterpret_cast<std::uintptr_t>(&ringcomm_test_allowed_address);
  constexpr std::uint32_t kAddress = offsetof(seccomp_data, instruction_pointer);
  const std::array<sock_filter, 11> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 8),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 5, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kAddress),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(allowed), 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kAddress + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(allowed >> 32), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = filter.size(), .filter = const_cast<sock_filter*>(filter.data())};
  return sigaction(SIGSYS, &action, nullptr) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

Status rotate(RingRotation& rotation, int times) {
  for (int i = 0; i < times; ++i) RINGCOMM_TRY(rotation.run([](const RotationStep&) {}));
  return {};
}

/// run_processes() has bound each rank to a CPU of its own.
Status count_calls(Communicator& comm, RotationChoice mode) {
  RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(1 << 16));
  const TensorView k = TensorView::contiguous(window.data(), DType::uint8, {1 << 10, 1, 32});
  const TensorView v = TensorView::contiguous(window.data() + (1 << 15), DType::uint8, {1 << 10, 1, 32});
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), k, v,
                                                          {.mode = mode, .overlap = plan::Overlap::off}));
  RINGCOMM_TRY(rotate(rotation, 200));
  if (!trap_system_calls()) return Status::not_available("the system refuses seccomp filters");
  RINGCOMM_TRY(rotate(rotation, 10));
  calls = 0;
  RINGCOMM_TRY(rotate(rotation, kSteps));
  const int counted = calls;
  if (ringcomm_test_allowed_call(SYS_getppid, 0, 0, 0, 0, 0, 0) != getppid() || calls != counted + 1)
    return Status::internal("the filter does not count");
  if (counted <= kCallsMost) return {};
  return Status::internal(
      concat("rank ", comm.rank(), " made ", counted, " system calls in ", kSteps, " steps"));
}

class SystemCallsTest : public testing::TestWithParam<RotationChoice> {};

TEST_P(SystemCallsTest, ARotationMakesNoneInSteadyState) {
  if (read_limits().usable_cpus() < 2) GTEST_SKIP() << "two ranks need a CPU each";
  CommunicatorOptions options = with_deadline(std::chrono::seconds(30));
  options.wait_style = WaitStyle::own_core;
  const Status status = run_processes(
      2, [](Communicator& comm) { return count_calls(comm, GetParam()); }, options);
  if (status.code() == StatusCode::not_available) GTEST_SKIP() << status.to_string();
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Modes, SystemCallsTest,
                         testing::Values(RotationChoice::direct, RotationChoice::relay));

}  // namespace
}  // namespace ringcomm

#endif
