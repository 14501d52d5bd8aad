// Memory that two processes use: this program starts itself again as the other one.
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/backends/cuda/machines.h"
#include "tests/support/device.h"

namespace tidemark {
namespace {

using namespace support;

constexpr std::uint32_t kFromParent = 0x70a7e001;
constexpr std::uint32_t kFromChild = 0xc41d0002;
constexpr const char* kHandle = "TIDEMARK_TEST_HANDLE";  // bytes, in letters a to p

std::string to_letters(const IpcHandle& handle) {
    std::string text;
    for (const std::byte byte : handle.bytes) {
        const auto value = std::to_integer<unsigned>(byte);
        text += static_cast<char>('a' + value / 16);
        text += static_cast<char>('a' + value % 16);
    }
    return text;
}

IpcHandle from_letters(const char* text) {
    IpcHandle handle;
    for (std::size_t i = 0; i < handle.bytes.size(); ++i)
        handle.bytes[i] = static_cast<std::byte>((text[2 * i] - 'a') * 16 + text[2 * i + 1] - 'a');
    return handle;
}

// Runs the hidden test below in another process; true if it passed.
bool child_passes() {
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test", "[child-process]", static_cast<char*>(nullptr));
        _exit(127);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("the other process of the tests below", "[.][child-process]") {
    const char* handle = std::getenv(kHandle);
    REQUIRE(handle != nullptr);
    const auto device = open_device(real_driver());
    const Bytes page = device->granularity();

    const Address opened = must(*device, device->ipc_open(from_letters(handle)));
    CHECK(must(*device, device->check_pattern(opened, kFromParent, page, kStream)) == 0);
    must(*device, device->write_pattern(opened, kFromChild, page, kStream));
    must(*device, device->synchronize(kStream));
    must(*device, device->ipc_close(opened));
}

TEST_CASE("two processes use one memory on the real driver", "[cuda][gpu]") {
    if (!real_driver())
        return;
    const auto device = open_device(real_driver());
    const Bytes page = device->granularity();
    const Address plain = must(*device, device->malloc(page));
    must(*device, device->write_pattern(plain, kFromParent, page, kStream));
    must(*device, device->synchronize(kStream));
    setenv(kHandle, to_letters(must(*device, device->ipc_export(plain))).c_str(), 1);

    CHECK(child_passes());

    CHECK(must(*device, device->check_pattern(plain, kFromChild, page, kStream)) == 0);
    must(*device, device->free(plain));
}

TEST_CASE("a process cannot open its own handle and is told so", "[cuda][gpu]") {
    if (!real_driver())
        return;
    const auto device = open_device(real_driver());
    const Address memory = must(*device, device->malloc(1_MiB));
    const auto opened = device->ipc_open(must(*device, device->ipc_export(memory)));
    if (opened)
        must(*device, device->ipc_close(*opened));
    else
        CHECK(opened.error().status != DeviceStatus::lost);
    must(*device, device->free(memory));  // the device lives on
}

}  // namespace
}  // namespace tidemark
