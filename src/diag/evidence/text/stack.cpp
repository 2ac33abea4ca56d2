// SPDX-License-Identifier: Apache-2.0
// Stacks of threads: py-spy dump, faulthandler, gdb and pstack, cuda-gdb, /proc/PID/stack.
#include <string>
#include <utility>

#include "diag/evidence/text/readers.hpp"
#include "diag/evidence/text/scan.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr std::size_t kFrameMax = 300;

/// "--local_rank=3", "--rank 3", "(rank 0)", "RANK=3" in a command line.
int rank_of_command(std::string_view text) {
  for (const std::string_view key :
       {"(rank ", "--rank=", "--rank ", " RANK=", "--node_rank_global=", "global_rank="}) {
    if (const int rank = small_number(number_after(text, key)); rank != kUnknown) return rank;
  }
  return kUnknown;
}

class StackReader final : public LineReader {
 public:
  bool read(const Line& line, Facts& facts) override {
    const std::string_view text = trimmed(line.text);
    if (text.empty()) return false;
    return read_process(text, facts) || read_thread(text, facts) || (is_open_ && read_frame(text)) ||
           read_kernel_frame(text, facts) || read_bare_frame(text, facts) || leave(facts);
  }

  void end(Facts& facts) override { close(facts); }

 private:
  bool leave(Facts& facts) {
    close(facts);
    return false;
  }

  void close(Facts& facts) {
    if (!is_open_) return;
    is_open_ = false;
    if (!stack_.frames.empty()) facts.add(std::move(stack_));
    stack_ = {};
  }

  void open(std::string_view format, Facts& facts) {
    close(facts);
    is_open_ = true;
    stack_ = {};
    // The prefix of the line that begins the stack, and the heading over it, are about the same process.
    stack_.who = facts.completed(process_);
    stack_.source = facts.source();
    facts.format(format);
  }

  /// "Process 42: python train.py", "Process 7000", "Attaching to process 42".
  bool read_process(std::string_view text, Facts& facts) {
    std::string_view rest = text;
    if (rest.starts_with("Python v") && contains(rest, "(")) return is_pyspy_;
    if (!rest.starts_with("Process ") && !rest.starts_with("Attaching to process ")) return false;
    rest.remove_prefix(rest.find("rocess ") + 7);
    const auto pid = take_number(rest);
    if (!pid || *pid < 0 || !(rest.empty() || rest.front() == ':' || rest.front() == ',')) return false;
    close(facts);
    is_pyspy_ = true;
    process_ = {};
    process_.pid = *pid;
    process_.rank = rank_of_command(rest);
    facts.format("pyspy");
    return true;
  }

  bool read_thread(std::string_view text, Facts& facts) {
    const bool is_current = text.starts_with("Current thread ");
    if (!text.starts_with("Thread ") && !is_current) return false;
    if (contains(text, "most recent call first")) {
      open("faulthandler", facts);
      std::string_view rest = text;
      take_word(rest);
      if (is_current) take_word(rest);
      stack_.thread = is_current ? "current" : std::string(take_word(rest).substr(0, 80));
      return true;
    }
    std::string_view rest = text.substr(7);
    const std::string_view number = take_word(rest);
    if (number.empty() || (!is_digit(number.front()))) return false;
    const bool is_idle = take(rest, "(idle");
    const bool is_active = !is_idle && take(rest, "(active");
    if (is_idle || is_active) {
      open("pyspy", facts);
      stack_.is_idle = is_idle;
      const auto name = after(rest, "\"");
      stack_.thread =
          name ? name->substr(0, std::min<std::size_t>(name->find('"'), 80)) : number.substr(0, 80);
      return true;
    }
    if (!contains(text, "LWP") && !contains(text, "Thread 0x")) return false;
    open("gdb", facts);
    const auto name = after(rest, "\"");
    stack_.thread = name ? name->substr(0, std::min<std::size_t>(name->find('"'), 80))
                         : concat("thread ", number.substr(0, 20));
    return true;
  }

  void add_frame(std::string frame) {
    if (stack_.frames.size() < kFramesMax) stack_.frames.push_back(std::move(frame));
  }

  bool read_frame(std::string_view text) {
    if (text.starts_with("File \"")) return read_python_frame(text);
    if (text.starts_with('#')) return read_native_frame(text);
    if (text == "<no Python frame>" || text.starts_with("Arguments:") || text.starts_with("Locals:"))
      return true;
    // py-spy: "name (file:line)", "name (lib.so)".
    if (!text.ends_with(')') || text.starts_with('(')) {
      // "key: value" lines of --locals are indented under their frame.
      return is_pyspy_ && contains(text, ": ") && !stack_.frames.empty() && text.size() < 200 &&
             !is_letter_message(text);
    }
    const std::size_t open = text.rfind(" (");
    if (open == std::string_view::npos || open == 0) return false;
    const std::string_view inside = text.substr(open + 2, text.size() - open - 3);
    if (!contains(inside, ".") && !contains(inside, ":") && !contains(inside, "<")) return false;
    add_frame(std::string(text.substr(0, kFrameMax)));
    return true;
  }

  static bool is_letter_message(std::string_view text) {
    return contains(text, "[") || contains(text, "Error");
  }

  /// `File "x.py", line 12 in f`.
  bool read_python_frame(std::string_view text) {
    const auto file = after(text, "File \"");
    const std::size_t end = file ? file->find('"') : std::string_view::npos;
    const auto line = number_after(text, "\", line ");
    if (end == std::string_view::npos || !line) return false;
    const std::string_view function = trimmed(after(text, " in ").value_or("?"));
    add_frame(concat(function.substr(0, 120), " (", file->substr(0, std::min<std::size_t>(end, 200)), ':',
                     *line, ')'));
    return true;
  }

  /// "#0  0x00007f31 in poll () from /lib/libc.so.6", "#1  f (x=1) at a.c:12".
  bool read_native_frame(std::string_view text) {
    std::string_view rest = text.substr(1);
    if (!take_number(rest)) return false;
    if (const auto in = after(rest, " in "); in && trimmed(rest).starts_with("0x")) rest = *in;
    rest = trimmed(rest);
    std::size_t end = rest.find(" (");
    if (end == std::string_view::npos) end = rest.find('(');
    const std::string_view function = trimmed(rest.substr(0, end));
    if (function.empty()) return false;
    std::string_view place;
    for (const std::string_view key : {" from ", " at "}) {
      const std::size_t at = rest.rfind(key);
      if (place.empty() && at != std::string_view::npos) place = trimmed(rest.substr(at + key.size()));
    }
    add_frame(concat(function.substr(0, 200), " (", place.substr(0, 200), ')'));
    return true;
  }

  /// "[<0>] futex_wait_queue+0x60/0x90" of /proc/PID/stack.
  bool read_kernel_frame(std::string_view text, Facts& facts) {
    if (!text.starts_with("[<")) return false;
    const std::size_t end = text.find(">]");
    if (end == std::string_view::npos) return false;
    if (!is_open_) {
      open("kernel_stack", facts);
      stack_.thread = "kernel";
    }
    std::string_view function = trimmed(text.substr(end + 2));
    function = function.substr(0, function.find('+'));
    if (!function.empty()) add_frame(concat(function.substr(0, 200), " (kernel)"));
    return true;
  }

  /// A gdb frame without a thread's heading: pstack of a process with one thread.
  bool read_bare_frame(std::string_view text, Facts& facts) {
    if (!text.starts_with("#0 ") || is_open_) return false;
    if (!contains(text, " in ") && !contains(text, "(")) return false;
    open("gdb", facts);
    return read_native_frame(text);
  }

  Who process_{};
  StackFact stack_{};
  bool is_open_ = false;
  bool is_pyspy_ = false;
};

}  // namespace

std::unique_ptr<LineReader> make_stack_reader() { return std::make_unique<StackReader>(); }

}  // namespace ringcomm::inline v0::diag::text
