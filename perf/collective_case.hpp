// SPDX-License-Identifier: Apache-2.0
// The loop that the plain collectives share: barriers as -z says, -m calls, wall or CPU time.
#pragma once

#include "buffer.hpp"
#include "case.hpp"

namespace ringcomm::perf {

class CollectiveCase : public Case {
 public:
  CollectiveCase(Communicator& comm, const Options& options) : comm_(comm), options_(options) {}
  Result<double> run(Buffers buffers) final;

 protected:
  /// The operation once.
  virtual Status call(Buffers buffers) = 0;
  /// Makes the inputs ready where a call destroys them; untimed. True: the peers must wait for it.
  virtual bool refresh(Buffers /*buffers*/) { return false; }
  /// To the next copy of every buffer (--cold).
  virtual void advance() = 0;

  std::size_t element_bytes() const { return bytes_of(spec_.dtype); }
  std::size_t unaligned_bytes() const { return static_cast<std::size_t>(options_.unalign) * element_bytes(); }
  std::size_t ranks() const { return static_cast<std::size_t>(comm_.size()); }
  std::size_t rank() const { return static_cast<std::size_t>(comm_.rank()); }

  Communicator& comm_;
  const Options& options_;
  RowSpec spec_;
};

}  // namespace ringcomm::perf
