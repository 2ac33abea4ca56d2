// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/pickle/pickle.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "core/try.hpp"
#include "diag/evidence/pickle/opcodes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::pickle {
namespace {

constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMarksMax = 256;
constexpr std::size_t kUsesPerNode = 4;
constexpr std::size_t kToldPerByte = 16;

Status corrupt(const std::string& what) { return Status(StatusCode::corrupt_data, what); }

/// Runs the opcodes. Values live on a stack of nodes; `marks_` holds where MARK stood.
class Machine {
 public:
  Machine(std::string_view file, const Limits& limits) : file_(file), limits_(limits) {}

  Tree run() {
    while (tree_.end.is_ok() && !tree_.has_root) tree_.end = step();
    if (!tree_.has_root) close_open_containers();
    tree_.bytes = file_.size();
    return std::move(tree_);
  }

 private:
  Status step() {
    op_at_ = at_;
    std::string_view code;
    RINGCOMM_TRY(take(1, code));
    const auto op = static_cast<unsigned char>(code[0]);
    switch (static_cast<Op>(op)) {
      case Op::mark:
        if (marks_.size() >= kMarksMax)
          return corrupt(concat("values in values, more than ", kMarksMax, " deep"));
        marks_.push_back(stack_.size());
        return {};
      case Op::stop:
        if (stack_.empty() || !marks_.empty()) return corrupt(concat("no whole value at STOP", here()));
        tree_.root = stack_.back();
        tree_.has_root = true;
        return {};
      case Op::proto:
        return take(1, code);
      case Op::frame:
        return take(8, code);
      case Op::none:
      case Op::new_true:
      case Op::new_false:
        return constant(static_cast<Op>(op));
      case Op::int_line:
      case Op::long_line:
      case Op::float_line:
      case Op::bin_float:
      case Op::bin_int:
      case Op::bin_int1:
      case Op::bin_int2:
      case Op::long1:
      case Op::long4:
        return number(static_cast<Op>(op));
      case Op::unicode_line:
      case Op::bin_unicode:
      case Op::short_bin_unicode:
      case Op::bin_unicode8:
      case Op::bin_bytes:
      case Op::short_bin_bytes:
      case Op::bin_bytes8:
        return text(static_cast<Op>(op));
      case Op::get_line:
      case Op::bin_get:
      case Op::long_bin_get:
        return get(static_cast<Op>(op));
      case Op::put_line:
      case Op::bin_put:
      case Op::long_bin_put:
      case Op::memoize:
        return put(static_cast<Op>(op));
      default:
        return container(op);
    }
  }

  Status container(unsigned char op) {
    switch (static_cast<Op>(op)) {
      case Op::empty_dict:
        return push_container(NodeKind::dict, stack_.size());
      case Op::empty_list:
      case Op::empty_tuple:
        return push_container(NodeKind::list, stack_.size());
      case Op::dict:
      case Op::list:
      case Op::tuple: {
        RINGCOMM_TRY_ASSIGN(const std::size_t first, pop_mark());
        const bool is_dict = static_cast<Op>(op) == Op::dict;
        if (is_dict && (stack_.size() - first) % 2 != 0)
          return corrupt(concat("a key without a value", here()));
        return push_container(is_dict ? NodeKind::dict : NodeKind::list, first);
      }
      case Op::tuple1:
      case Op::tuple2:
      case Op::tuple3: {
        const std::size_t count = op - static_cast<unsigned char>(Op::tuple1) + 1;
        if (values() < count) return corrupt(concat("a tuple of values that are not there", here()));
        return push_container(NodeKind::list, stack_.size() - count);
      }
      case Op::append:
        return values() < 1 ? corrupt(concat("APPEND of nothing", here()))
                            : add_items(stack_.size() - 1, NodeKind::list);
      case Op::set_item:
        return values() < 2 ? corrupt(concat("SETITEM of nothing", here()))
                            : add_items(stack_.size() - 2, NodeKind::dict);
      case Op::appends:
      case Op::set_items: {
        RINGCOMM_TRY_ASSIGN(const std::size_t first, pop_mark());
        return add_items(first, static_cast<Op>(op) == Op::appends ? NodeKind::list : NodeKind::dict);
      }
      default:
        return refuse(op);
    }
  }

  Status refuse(unsigned char op) const {
    const std::string_view name = name_of_refused(op);
    if (name.empty())
      return corrupt(concat("byte ", static_cast<int>(op), " is no opcode of a pickle", here()));
    return corrupt(
        concat("opcode ", name, here(), " is refused: plain values do not need it, and it can run code"));
  }

  Status constant(Op op) {
    Node node;
    if (op != Op::none) node.kind = NodeKind::boolean;
    node.integer = op == Op::new_true ? 1 : 0;
    return push(node);
  }

  Status number(Op op) {
    Node node;
    node.kind = NodeKind::integer;
    std::string_view bytes;
    switch (op) {
      case Op::bin_int1:
      case Op::bin_int2:
      case Op::bin_int: {
        const unsigned size = op == Op::bin_int1 ? 1 : op == Op::bin_int2 ? 2 : 4;
        RINGCOMM_TRY(take(size, bytes));
        node.integer = static_cast<std::int64_t>(little(bytes));
        if (op == Op::bin_int) node.integer = static_cast<std::int32_t>(node.integer);
        return push(node);
      }
      case Op::long1:
      case Op::long4: {
        std::uint64_t size = 0;
        RINGCOMM_TRY(take_size(op == Op::long1 ? 1 : 4, size));
        RINGCOMM_TRY(take(size, bytes));
        return push_long(bytes);
      }
      case Op::bin_float: {
        RINGCOMM_TRY(take(8, bytes));
        std::uint64_t bits = 0;
        for (const char c : bytes) bits = bits << 8 | static_cast<unsigned char>(c);
        return push_double(std::bit_cast<double>(bits));
      }
      default: {
        RINGCOMM_TRY(take_line(bytes));
        return push_printed(op, bytes);
      }
    }
  }

  /// "12", "12L", "01" (true in protocol 1), "1.5".
  Status push_printed(Op op, std::string_view line) {
    if (op == Op::long_line && line.ends_with('L')) line.remove_suffix(1);
    Node node;
    node.kind = NodeKind::integer;
    if (op == Op::int_line && (line == "00" || line == "01")) {
      node.kind = NodeKind::boolean;
      node.integer = line[1] - '0';
      return push(node);
    }
    double value = 0;
    if (const auto integer = integer_of(line); integer && op != Op::float_line) {
      node.integer = *integer;
      return push(node);
    }
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || end != line.data() + line.size())
      return corrupt(concat("a number that is none", here()));
    return push_double(value);
  }

  /// Two's complement, little-endian. More than 64 bits are no number that a dump holds.
  Status push_long(std::string_view bytes) {
    if (bytes.size() > 8) return push(Node());
    std::uint64_t value = little(bytes);
    if (!bytes.empty() && bytes.size() < 8 && (bytes.back() & 0x80) != 0)
      value |= ~std::uint64_t{0} << (8 * bytes.size());
    Node node;
    node.kind = NodeKind::integer;
    node.integer = static_cast<std::int64_t>(value);
    return push(node);
  }

  Status push_double(double value) {
    Node node;
    node.kind = NodeKind::number;
    node.number = value;
    return push(node);
  }

  Status text(Op op) {
    std::string_view bytes;
    if (op == Op::unicode_line) {
      RINGCOMM_TRY(take_line(bytes));
    } else {
      const bool is_short = op == Op::short_bin_unicode || op == Op::short_bin_bytes;
      const bool is_long = op == Op::bin_unicode8 || op == Op::bin_bytes8;
      std::uint64_t size = 0;
      RINGCOMM_TRY(take_size(is_short ? 1 : is_long ? 8 : 4, size));
      RINGCOMM_TRY(take(size, bytes));
    }
    if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) return corrupt("a text of more than 4 GiB");
    Node node;
    node.kind = NodeKind::text;
    node.text = bytes.data();
    node.length = static_cast<std::uint32_t>(bytes.size());
    return push(node);
  }

  Status memo_index(Op op, std::uint64_t& index) {
    if (op == Op::memoize) {
      index = memo_used_;
      return {};
    }
    if (op == Op::bin_get || op == Op::bin_put) return take_size(1, index);
    if (op == Op::long_bin_get || op == Op::long_bin_put) return take_size(4, index);
    std::string_view line;
    RINGCOMM_TRY(take_line(line));
    const auto value = integer_of(line);
    if (!value || *value < 0) return corrupt(concat("a memo number that is none", here()));
    index = static_cast<std::uint64_t>(*value);
    return {};
  }

  Status get(Op op) {
    std::uint64_t index = 0;
    RINGCOMM_TRY(memo_index(op, index));
    if (index >= memo_.size() || memo_[index] == kNoNode)
      return corrupt(concat("memo ", index, " is used before it is set", here()));
    if (++uses_ > kUsesPerNode * limits_.nodes)
      return Status::not_available(concat("more than ", uses_, " uses of values: the rest was not read"));
    stack_.push_back(memo_[index]);
    return {};
  }

  Status put(Op op) {
    std::uint64_t index = 0;
    RINGCOMM_TRY(memo_index(op, index));
    if (values() < 1) return corrupt(concat("a memo of nothing", here()));
    // Real pickles number their memos one after the other: a far number would only ask for memory.
    if (index >= limits_.memo || index > 2 * memo_used_ + 1024)
      return corrupt(concat("memo ", index, " is out of order", here()));
    if (index >= memo_.size()) memo_.resize(index + 1, kNoNode);
    if (memo_[index] == kNoNode) ++memo_used_;
    memo_[index] = stack_.back();
    return {};
  }

  Status push(const Node& node) {
    if (tree_.nodes.size() >= limits_.nodes)
      return Status::not_available(concat("more than ", limits_.nodes, " values: the rest was not read"));
    stack_.push_back(static_cast<std::uint32_t>(tree_.nodes.size()));
    tree_.nodes.push_back(node);
    return {};
  }

  /// A container of the values from `first` on the stack, in their place.
  Status push_container(NodeKind kind, std::size_t first) {
    Node node;
    node.kind = kind;
    node.items = tree_.items.size();
    tree_.items.emplace_back(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
    stack_.resize(first);
    return push(node);
  }

  Status add_items(std::size_t first, NodeKind kind) {
    if (first == 0 || (!marks_.empty() && first - 1 < marks_.back()))
      return corrupt(concat("no container to add to", here()));
    const Node& into = tree_.nodes[stack_[first - 1]];
    if (into.kind != kind) return corrupt(concat("items added to another kind of value", here()));
    if (kind == NodeKind::dict && (stack_.size() - first) % 2 != 0)
      return corrupt(concat("a key without a value", here()));
    auto& items = tree_.items[into.items];
    items.insert(items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
    stack_.resize(first);
    return {};
  }

  /// Where the values after the last MARK begin; the mark is taken away.
  Result<std::size_t> pop_mark() {
    if (marks_.empty()) return corrupt(concat("no MARK", here()));
    const std::size_t first = marks_.back();
    marks_.pop_back();
    return first;
  }

  /// Values on the stack above the last MARK.
  std::size_t values() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  /// The reading ended early: what lies on the stack is put where it belongs, and each container that was not
  /// finished is marked.
  void close_open_containers() {
    if (!stack_.empty() && is_empty(stack_.back())) mark_cut(stack_.back());  // its items were to follow
    for (; !marks_.empty(); marks_.pop_back()) {
      const std::size_t first = std::min(marks_.back(), stack_.size());
      if (first > 0) {
        Node& into = tree_.nodes[stack_[first - 1]];
        mark_cut(stack_[first - 1]);
        if (into.kind == NodeKind::dict && (stack_.size() - first) % 2 != 0) stack_.pop_back();
        if (into.kind == NodeKind::dict || into.kind == NodeKind::list) {
          auto& items = tree_.items[into.items];
          items.insert(items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
        }
      }
      stack_.resize(first);
    }
    if (stack_.empty()) return;
    tree_.root = stack_.front();
    tree_.has_root = true;
  }

  bool is_empty(std::uint32_t index) const {
    const Node& node = tree_.nodes[index];
    return (node.kind == NodeKind::dict || node.kind == NodeKind::list) && tree_.items[node.items].empty();
  }

  void mark_cut(std::uint32_t node) {
    if (tree_.nodes[node].kind == NodeKind::dict || tree_.nodes[node].kind == NodeKind::list)
      tree_.nodes[node].is_cut = true;
  }

  Status take(std::uint64_t size, std::string_view& bytes) {
    if (size > file_.size() - at_) return corrupt(concat("cut after ", file_.size(), " bytes"));
    bytes = file_.substr(at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return {};
  }

  Status take_size(unsigned width, std::uint64_t& size) {
    std::string_view bytes;
    RINGCOMM_TRY(take(width, bytes));
    size = little(bytes);
    return {};
  }

  Status take_line(std::string_view& line) {
    const std::size_t end = file_.find('\n', at_);
    if (end == std::string_view::npos) return corrupt(concat("cut after ", file_.size(), " bytes"));
    line = file_.substr(at_, end - at_);
    at_ = end + 1;
    return {};
  }

  static std::uint64_t little(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }

  std::string here() const { return concat(" at byte ", op_at_); }

  std::string_view file_;
  const Limits& limits_;
  std::size_t at_ = 0;
  std::size_t op_at_ = 0;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::vector<std::uint32_t> memo_;
  std::uint64_t memo_used_ = 0;
  std::size_t uses_ = 0;
  Tree tree_;
};

/// Walks the tree in order; the depth is bounded, so a list that holds itself ends too.
class Teller {
 public:
  Teller(const Tree& tree, ValueSink& sink, Status& end, const Limits& limits)
      : tree_(tree),
        sink_(sink),
        end_(end),
        depth_max_(limits.depth),
        told_max_(std::min(limits.told, kToldPerByte * tree.bytes + 1024)) {}

  bool value(std::uint32_t index, int depth) {
    if (depth > depth_max_) return stop(concat(depth_max_, " deep"));
    if (++told_ > told_max_) return stop(concat(told_max_, " in all"));
    const Node& node = tree_.nodes[index];
    switch (node.kind) {
      case NodeKind::null:
        return sink_.scalar({});
      case NodeKind::boolean:
        return sink_.scalar(Scalar::of(node.integer != 0));
      case NodeKind::integer:
        return sink_.scalar(Scalar::of(node.integer));
      case NodeKind::number:
        return sink_.scalar(Scalar::of(node.number));
      case NodeKind::text:
        return sink_.scalar(Scalar::of(std::string_view(node.text, node.length)));
      case NodeKind::list:
        return sink_.begin(false) && list(tree_.items[node.items], depth) && sink_.end();
      case NodeKind::dict:
        return sink_.begin(true) && dict(tree_.items[node.items], depth) && sink_.end();
    }
    return false;
  }

 private:
  bool stop(const std::string& limit) {
    end_ = corrupt(concat("values in values, more than ", limit));
    return false;
  }

  bool list(const std::vector<std::uint32_t>& items, int depth) {
    for (const std::uint32_t item : items) {
      if (!tree_.nodes[item].is_cut && !value(item, depth + 1)) return false;
    }
    return true;
  }

  bool dict(const std::vector<std::uint32_t>& items, int depth) {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const Node& key = tree_.nodes[items[i]];
      if (key.kind == NodeKind::text) {
        if (!sink_.key({key.text, key.length})) return false;
      } else if (key.kind == NodeKind::integer) {
        if (!sink_.key(concat(key.integer))) return false;
      } else {
        continue;
      }
      if (!value(items[i + 1], depth + 1)) return false;
    }
    return true;
  }

  const Tree& tree_;
  ValueSink& sink_;
  Status& end_;
  int depth_max_;
  std::size_t told_max_;
  std::size_t told_ = 0;
};

}  // namespace

Tree read(std::string_view file, const Limits& limits) { return Machine(file, limits).run(); }

bool tell(const Tree& tree, ValueSink& sink, Status& end, const Limits& limits) {
  return tree.has_root && Teller(tree, sink, end, limits).value(tree.root, 0);
}

}  // namespace ringcomm::inline v0::diag::pickle
