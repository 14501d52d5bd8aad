// What the tests of faults on a GPU share: a device (the real one, or the fake driver's), a policy
// at work on it with content that proves who owns what, and a filler that takes memory away.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "core/allocator/allocator.h"
#include "tests/backends/cuda/fake/fake_control.h"
#include "tests/support/invariants.h"

namespace tidemark::faults {

// How far free memory may be from what it was: a handle's size, in which the driver takes memory.
constexpr Bytes kTolerance = 2_MiB;

// A device to break. `device` is null where there is no GPU, and `why` says so.
struct Machine {
    std::shared_ptr<const CudaDriver> driver;
    std::unique_ptr<CudaDevice> device;
    std::string why;
};

// The driver of this machine, or the one that TIDEMARK_CUDA_DRIVER names.
Machine open_machine();

// The fake one, configured again.
Machine open_fake(fake::Control& control, const fake::Config& config);

// Every policy of the catalogue, and the variants that take memory in another way.
std::vector<std::string> all_policies_to_break();

// What is free once the device has made all that it keeps for itself: its streams, its kernel.
Bytes settle(CudaDevice& device);

// Takes a device's memory so that about `leave` bytes stay free, until it goes.
class Filler {
  public:
    Filler(Device& device, Bytes leave);
    Filler(const Filler&) = delete;
    Filler& operator=(const Filler&) = delete;

    ~Filler() { give_back(); }

    void give_back();

  private:
    Device& device_;
    std::vector<Address> pieces_;
};

// A policy and what a program holds of it. Each allocation is filled with a word of its own.
class FaultRun {
  public:
    // `why()` says what went wrong if there is no policy.
    FaultRun(Device& device, std::string policy);

    const std::string& why() const { return why_; }

    Allocator& allocator() { return *allocator_; }

    // Asks; what is granted is written. Whether it was granted; a refusal is kept.
    bool allocate(Bytes size, StreamId stream = StreamId::default_stream);

    const OutOfMemory& refusal() const { return refusal_; }

    // Gives back the allocation of that index, its content checked before.
    void give_back(std::size_t index);

    // All of them, and then a trim of everything.
    void finish();

    std::size_t live() const { return live_.size(); }

    // Without asking the device: for one that is lost.
    void stop_checking_content() { content_ = false; }

    // What did not hold so far, the state of the policy now included; "" if all is well.
    std::string complaint();

  private:
    struct Word {
        std::uint32_t value = 0;
        Bytes size = 0;
    };

    void complain(std::string what);

    Device& device_;
    std::string name_;
    std::string why_;
    std::unique_ptr<Allocator> allocator_;
    std::vector<support::Live> live_;
    std::vector<Word> patterns_;
    std::uint32_t next_word_ = 0x5eed0001;
    bool content_ = true;
    OutOfMemory refusal_;
    std::string complaint_;
};

}  // namespace tidemark::faults
