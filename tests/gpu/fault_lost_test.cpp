// The device is lost while policies are at work: a kernel writes where nothing is, or the context
// is reset under them. Whatever asks the device from then on is told so in clear words; nothing
// hangs, nothing crashes, and the program ends as it wants to.
#include <array>
#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <fmt/format.h>

#include "tests/gpu/fault_child.h"
#include "tests/gpu/fault_run.h"

namespace tidemark::faults {
namespace {

using cuda::CUresult;

// Writes one word to the address that it is given.
constexpr const char* kWriteKernel = R"ptx(
.version 6.0
.target sm_50
.address_size 64

.visible .entry tidemark_test_write(
    .param .u64 address_parameter,
    .param .u32 value_parameter
)
{
    .reg .b32 %value;
    .reg .b64 %address;

    ld.param.u64 %address, [address_parameter];
    ld.param.u32 %value, [value_parameter];
    cvta.to.global.u64 %address, %address;
    st.global.u32 [%address], %value;
    ret;
}
)ptx";

// Launches the kernel on an address that is reserved and not mapped.
void launch_fault(const CudaDevice& device) {
    const CudaDriver& driver = device.driver();
    REQUIRE(driver.cuCtxSetCurrent(device.native_context()) == CUresult::success);
    cuda::CUmodule module = nullptr;
    cuda::CUfunction function = nullptr;
    cuda::CUdeviceptr address = 0;
    REQUIRE(driver.cuModuleLoadData(&module, kWriteKernel) == CUresult::success);
    REQUIRE(driver.cuModuleGetFunction(&function, module, "tidemark_test_write") ==
            CUresult::success);
    REQUIRE(driver.cuMemAddressReserve(&address, 2_MiB, 0, 0, 0) == CUresult::success);
    std::uint32_t value = 1;
    std::array<void*, 2> parameters{&address, &value};
    REQUIRE(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters.data(),
                                  nullptr) == CUresult::success);
    CHECK(driver.cuCtxSynchronize() == CUresult::illegal_address);
    CHECK(driver.cuMemAddressFree(address, 2_MiB) == CUresult::success);
}

// Destroys the primary context, as another library in the process might.
void reset_context(const CudaDevice& device) {
    void* const library = dlopen(device.driver().library().c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    using Reset = CUresult (*)(cuda::CUdevice);
    const auto reset = reinterpret_cast<Reset>(dlsym(library, "cuDevicePrimaryCtxReset_v2"));
    REQUIRE(reset != nullptr);
    REQUIRE(reset(device.ordinal()) == CUresult::success);
}

bool kernel_is_to_fault() {
    const char* const how = std::getenv("TIDEMARK_TEST_FAULT");
    return how != nullptr && std::string(how) == "kernel";
}

// What a policy says when it must ask the lost device.
std::string answer_of(FaultRun& run) {
    if (run.allocate(3_GiB / 2))
        return "granted";
    return fmt::format("{}, {}", to_text(run.refusal().cause), to_text(run.refusal().status));
}

// A policy with live blocks on two streams, a cached block and one that waits.
void prepare(FaultRun& run) {
    for (const Bytes size : {4_KiB, 3_MiB, 40_MiB, 5_MiB}) {
        REQUIRE(run.allocate(size));
        REQUIRE(run.allocate(size, StreamId{1}));
    }
    run.give_back(3);
    run.give_back(0);
    run.stop_checking_content();
}

std::string explained(const CudaDevice& device, const DeviceResult<void>& result) {
    if (result)
        return "fine";
    return fmt::format("{}: {}", to_text(result.error().status),
                       device.explain(result.error()).what);
}

using namespace std::chrono_literals;

// What the fake driver still holds for this process; the real one is asked by the parent.
std::string left_behind() {
    if (std::getenv("TIDEMARK_CUDA_DRIVER") == nullptr)
        return "";
    const fake::Control control(TIDEMARK_FAKE_CUDA);
    return control.leaks_text();
}

// What the parent sees of a child that lost its device. `device` is the parent's own on the same
// GPU; null: they share none.
void check_child(const std::string& how, Child::Variables variables, CudaDevice* device) {
    variables.emplace_back("TIDEMARK_TEST_FAULT", how);
    Child child("fault child: lose the device", variables);
    REQUIRE(child.wait_for("ready\n", 60s));
    const Bytes before = device == nullptr ? 0 : device->memory().free;
    child.go_on();
    CHECK(child.wait_for("the device is gone\n", 60s));
    const Bytes after = device == nullptr ? 0 : device->memory().free;
    CHECK(before <= after + kTolerance);  // while the process lives on
    const std::optional<int> code = child.finish(60s);
    const std::string& output = child.output();
    INFO(output);
    CHECK(code == 0);  // nothing: it hung; over 128: it crashed
    CHECK(output.find("device: device lost: ") != std::string::npos);
    if (how == "kernel")
        CHECK(output.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
    for (const std::string& policy : all_policies_to_break()) {
        INFO(policy);
        CHECK(output.find(policy + " answers: device error, device lost\n") != std::string::npos);
        CHECK(output.find(policy + " holds: well\n") != std::string::npos);
        CHECK(output.find(policy + " is gone\n") != std::string::npos);
    }
    CHECK(output.find("left behind: \n") != std::string::npos);
    CHECK(output.find("the device is gone\n") != std::string::npos);
    if (how == "reset")
        CHECK(output.find("a new device: fine\n") != std::string::npos);
}

}  // namespace

// The process whose device is lost.
TEST_CASE("fault child: lose the device", "[.child]") {
    Machine machine = open_machine();
    REQUIRE(machine.device);
    CudaDevice& device = *machine.device;
    settle(device);
    emit("ready");
    wait_for_parent();
    std::vector<std::unique_ptr<FaultRun>> runs;
    const std::vector<std::string> policies = all_policies_to_break();
    for (const std::string& policy : policies) {
        runs.push_back(std::make_unique<FaultRun>(device, policy));
        REQUIRE(runs.back()->why() == "");
        prepare(*runs.back());
        REQUIRE(runs.back()->complaint() == "");
    }
    if (kernel_is_to_fault())
        launch_fault(device);
    else
        reset_context(device);
    emit("device: " + explained(device, device.synchronize_device()));
    for (std::size_t i = 0; i < runs.size(); ++i) {
        FaultRun& run = *runs[i];
        emit(policies[i] + " answers: " + answer_of(run));
        run.finish();
        const std::string complaint = run.complaint();
        emit(policies[i] + " holds: " + (complaint.empty() ? "well" : complaint));
        runs[i].reset();
        emit(policies[i] + " is gone");
    }
    machine.device.reset();
    emit("left behind: " + left_behind());
    emit("the device is gone");
    wait_for_parent();
    if (!kernel_is_to_fault()) {
        const Machine again = open_machine();
        REQUIRE(again.device);
        emit("a new device: " + explained(*again.device, again.device->synchronize_device()));
    }
}

TEST_CASE("a kernel's fault on a GPU is told in clear words, and nothing hangs or crashes",
          "[gpu]") {
    const Machine machine = open_machine();
    if (!machine.device) {
        WARN("skipped: " << machine.why);
        return;
    }
    const Bytes before = settle(*machine.device);
    const std::string how = GENERATE("kernel", "reset");
    INFO(how);
    check_child(how, {}, machine.device.get());
    const Bytes after = settle(*machine.device);
    CHECK(before <= after + kTolerance);
    CHECK(after <= before + kTolerance);
}

TEST_CASE("a kernel's fault on a fake GPU is told in clear words, and nothing hangs or crashes",
          "[fault]") {
    const std::string how = GENERATE("kernel", "reset");
    INFO(how);
    check_child(how,
                {{"TIDEMARK_CUDA_DRIVER", TIDEMARK_FAKE_CUDA},
                 {"TIDEMARK_FAKE_CUDA_CONFIG", "memory=17179869184"}},
                nullptr);
}

}  // namespace tidemark::faults
