// SPDX-License-Identifier: Apache-2.0
// Words that the reader of own records leaves for the rules.
#pragma once

#include <string_view>

namespace ringcomm::inline v0::diag {

/// EventFact::detail of a rank that gave its ring rotation up before the last step.
inline constexpr std::string_view kLeftRotation{"left its rotation"};
/// EventFact::detail where EventFact::peer destroyed its communicator while this rank waited for it.
inline constexpr std::string_view kLeftGroup{"peer left the group"};
/// EventFact::detail where EventFact::peer ended without a word.
inline constexpr std::string_view kPeerDied{"peer died"};
/// EventFact::detail where EventFact::peer freed or wrote memory that this rank was about to read.
inline constexpr std::string_view kTookBack{"peer took its memory back"};
/// End of GroupFact::unique_id of the sends and receives of a channel, whose messages are numbered per pair.
inline constexpr std::string_view kPairsSuffix{"-pairs"};

}  // namespace ringcomm::inline v0::diag
