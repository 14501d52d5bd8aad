// What a policy's decisions depend on, as text: for keys under which results are kept.
#pragma once

#include <string>

#include "core/allocator/spec.h"
#include "core/base/result.h"

namespace tidemark {

// The policy's text (PolicySpec::text()), followed by a hash of what is in each file that its
// options name. Errors: a file that cannot be read. O(bytes of these files).
Result<std::string> policy_identity(const PolicySpec& spec);

}  // namespace tidemark
