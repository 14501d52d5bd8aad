// mmap, mbind, touch, and move_pages to see where the pages went.
#include "backends/numa/numa_host.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr int kPreferred = 1;            // MPOL_PREFERRED
constexpr unsigned kLargestNode = 1023;  // of any Linux kernel
constexpr unsigned kWordBits = sizeof(unsigned long) * CHAR_BIT;
constexpr std::size_t kPagesAtOnce = 1024;

Bytes page_size() {
    static const auto kSize = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
    return kSize;
}

tl::unexpected<Error> refused(std::string_view call, int code) {
    return fail(ErrorCode::driver, fmt::format("{}: {}", call, std::strerror(code)), "NUMA",
                code == EPERM ? "in a container, allow mbind and move_pages" : "");
}

}  // namespace

NumaPages::NumaPages(NumaPages&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), node_(other.node_) {}

NumaPages& NumaPages::operator=(NumaPages&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(node_, other.node_);
    return *this;
}

NumaPages::~NumaPages() {
    if (!bytes_.empty())
        munmap(bytes_.data(), bytes_.size());
}

NumaHost NumaHost::open() {
    return {"", load_numa()};
}

NumaHost::NumaHost(std::string root, Result<NumaCalls> calls)
    : root_(std::move(root)), nodes_(read_host_nodes(root_)), calls_(std::move(calls)) {}

std::optional<Error> NumaHost::obstacle() const {
    if (single() || calls_)
        return std::nullopt;
    return calls_.error();
}

Result<NumaPages> NumaHost::allocate(Bytes size, unsigned node) const {
    if (size == 0 || size >= kLargestRequest)
        return fail(ErrorCode::bad_option, fmt::format("{} bytes cannot be allocated", size));
    if (const auto why = obstacle())
        return tl::make_unexpected(*why);
    TM_TRY(check_room(size, node));
    void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED)
        return refused("mmap", errno);
    NumaPages pages({static_cast<std::byte*>(address), size}, node);
    if (!single())
        TM_TRY(bind_to(pages.bytes(), node));
    for (Bytes at = 0; at < size; at += page_size())
        pages.bytes()[at] = std::byte{0};
    if (!single())
        TM_TRY(check_node(pages.bytes(), node));
    return pages;
}

Result<unsigned> NumaHost::where_is(const void* address) const {
    if (const auto why = obstacle())
        return tl::make_unexpected(*why);
    if (!calls_)
        return nodes_.nodes.front().id;
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    void* page = reinterpret_cast<void*>(number - number % page_size());
    int status = -ENOENT;
    if (calls_->move_pages(0, 1, &page, nullptr, &status, 0) != 0)
        return refused("move_pages", errno);
    if (status == -ENOENT || status == -EFAULT)
        return fail(ErrorCode::not_found, "there is no page at that address", "NUMA",
                    "memory has no page before it is written");
    if (status < 0)
        return refused("move_pages", -status);
    return static_cast<unsigned>(status);
}

// If the pages don't exist, filling them would make the kernel kill the process: check first, with
// what is known now.
Result<void> NumaHost::check_room(Bytes size, unsigned node) const {
    const HostNodes now = read_host_nodes(root_);
    const NumaNode* found = now.find(node);
    if (found == nullptr || node > kLargestNode) {
        std::string known;
        for (const NumaNode& each : now.nodes)
            known += fmt::format("{}{}", known.empty() ? "" : ", ", each.id);
        return fail(ErrorCode::not_found, fmt::format("there is no node {}", node), "NUMA",
                    "there are " + known);
    }
    if (found->available < size)
        return fail(ErrorCode::driver,
                    fmt::format("node {} has {} available, {} were requested", node,
                                format_bytes(found->available), format_bytes(size)),
                    "NUMA");
    return {};
}

Result<void> NumaHost::bind_to(std::span<std::byte> bytes, unsigned node) const {
    std::array<unsigned long, (kLargestNode + 1) / kWordBits> mask{};
    mask[node / kWordBits] = 1UL << (node % kWordBits);
    if (calls_->mbind(bytes.data(), bytes.size(), kPreferred, mask.data(), kLargestNode + 1, 0) !=
        0)
        return refused("mbind", errno);
    return {};
}

Result<void> NumaHost::check_node(std::span<std::byte> bytes, unsigned node) const {
    std::vector<void*> pages;
    std::vector<int> status(kPagesAtOnce);
    for (Bytes at = 0; at < bytes.size();) {
        pages.clear();
        for (; at < bytes.size() && pages.size() < kPagesAtOnce; at += page_size())
            pages.push_back(bytes.data() + at);
        std::fill(status.begin(), status.end(), -ENOENT);
        if (calls_->move_pages(0, pages.size(), pages.data(), nullptr, status.data(), 0) != 0)
            return refused("move_pages", errno);
        const auto strays = std::count_if(
            status.begin(), status.begin() + static_cast<std::ptrdiff_t>(pages.size()),
            [node](int where) { return where != static_cast<int>(node); });
        if (strays != 0)
            return fail(ErrorCode::driver,
                        fmt::format("the kernel put pages of node {} elsewhere", node), "NUMA",
                        "the node is full");
    }
    return {};
}

}  // namespace tidemark
