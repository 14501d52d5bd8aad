// OomPolicy: what happens when a request for memory finally fails (specs A1.6): `rethrow` returns
// the failure to the caller, `spill-and-retry` requests that bytes are freed and tries again, or a
// callback of the program decides.
//
// A policy is called without any lock of the tiers held, from the thread that allocates. A retry
// starts from the beginning, with a new charge for the size requested then: never with one computed
// before (upstream's retry does that).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/allocator/allocator.h"
#include "core/base/result.h"
#include "core/tiers/machine/machine.h"

namespace tidemark {

// Makes room in a space: the spill engine is one.
class Spiller {
  public:
    virtual ~Spiller() = default;

    // Frees at least `size` bytes if it can, and returns how many it freed: fewer, and even 0, is
    // an ordinary answer. Called without locks; may wait, and may call the space. Thread-safe.
    virtual Result<Bytes> free_bytes(Bytes size) = 0;
};

// A request that failed.
struct OomFacts {
    SpaceId space = {};
    Bytes requested = 0;
    Bytes missing = 0;  // the least that must be freed for it, as far as that is known
    StreamId stream = StreamId::default_stream;
    OutOfMemory refusal = {};   // limit: the space's counters refused; otherwise the memory itself
    std::uint32_t attempt = 0;  // 0 at the first refusal of a request
};

enum class OomAnswer : std::uint8_t { give_up, try_again };

class OomPolicy {
  public:
    OomPolicy() = default;
    OomPolicy(const OomPolicy&) = delete;
    OomPolicy& operator=(const OomPolicy&) = delete;
    virtual ~OomPolicy() = default;

    // Thread-safe. Must give up at some attempt.
    virtual OomAnswer refused(const OomFacts& facts) = 0;
};

// Null means "the default of the space".
using OomHandling = std::shared_ptr<OomPolicy>;

// The caller gets the failure: the default of a space.
OomHandling rethrow_oom();

constexpr std::uint32_t kDefaultSpillAttempts = 4;

// Has `spiller` free what is missing and retries, at most `attempts` times; gives up when nothing
// could be freed. `spiller` must outlive it.
OomHandling spill_and_retry(Spiller& spiller, std::uint32_t attempts = kDefaultSpillAttempts);

// The program's own function, with the same obligations as OomPolicy::refused.
OomHandling oom_callback(std::function<OomAnswer(const OomFacts&)> callback);

}  // namespace tidemark
