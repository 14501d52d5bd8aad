// Bytes that are freed on request.
#include "core/tiers/engine/free_requests.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace tidemark {

RequestId FreeRequests::free_bytes(SpaceId id, Bytes size) {
    FreeRequest request;
    request.request = state_.next_request();
    request.space = state_.position(id);
    request.report.space = id;
    request.report.requested = size;
    if (request.space == kNoSpace)
        return refuse(request, Error{ErrorCode::unsupported, "no such space", to_text(id), ""});
    if (state_.closing)
        return refuse(request);
    state_.retry_failed();
    state_.agenda.post(Happening::changed);
    leaving_.requests().push_back(request);
    return request.request;
}

RequestId FreeRequests::free_buffer(BufferRef ref, SpaceId id) {
    FreeRequest request;
    request.request = state_.next_request();
    request.space = state_.position(id);
    request.any = false;
    request.report.space = id;
    state_.retry_failed();
    const std::uint32_t buffer = to_integer(ref.id);
    if (!state_.find(ref) || request.space == kNoSpace || state_.closing ||
        !copies_.may_leave(request.space, buffer))
        return refuse(request);
    request.report.requested = copies_.credit(*state_.buffers[buffer].copy_in(request.space));
    state_.agenda.post(Happening::changed);
    leaving_.requests().push_back(request);
    room_.leave(buffer, request.space, {.request = request.request});
    return request.request;
}

void FreeRequests::serve(std::size_t space) {
    std::vector<FreeRequest>& requests = leaving_.requests();
    for (std::size_t i = 0; i < requests.size();) {
        if (requests[i].space == space && serve_one(requests[i]))
            requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
    }
}

void FreeRequests::refuse_all() {
    for (FreeRequest& request : leaving_.requests())
        answer(request, FreeEnd::shut_down);
    leaving_.requests().clear();
}

bool FreeRequests::withdraw(RequestId id) {
    FreeRequest* request = leaving_.find(id);
    if (!request)
        return false;
    answer(*request, FreeEnd::withdrawn);
    std::erase_if(leaving_.requests(), [&](const FreeRequest& one) { return one.request == id; });
    return true;
}

RequestId FreeRequests::refuse(FreeRequest& request, std::optional<Error> why) {
    answer(request, state_.closing ? FreeEnd::shut_down : FreeEnd::nothing_left, std::move(why));
    return request.request;
}

void FreeRequests::answer(FreeRequest& request, FreeEnd end, std::optional<Error> refusal) {
    request.report.end = end;
    state_.work.answers.push_back({.request = request.request,
                                   .refusal = std::move(refusal),
                                   .freed = std::move(request.report)});
}

// Whether it has been answered.
bool FreeRequests::serve_one(FreeRequest& request) {
    FreeReport& report = request.report;
    const auto lacks = [&] { return report.freed + request.leaving < report.requested; };
    if (request.any && lacks())
        claim_unclaimed(request, report.requested - report.freed - request.leaving);
    while (request.any && lacks()) {
        const std::optional<std::uint32_t> victim = copies_.any_victim(request.space);
        if (!victim)
            break;
        room_.leave(*victim, request.space, {.request = request.request});
    }
    const bool enough = report.freed >= report.requested;
    if (!enough && request.leaving > 0)
        return false;
    if (request.any && !enough)
        room_.explain(report, request.space);
    answer(request, enough ? FreeEnd::enough : FreeEnd::nothing_left);
    state_.agenda.post(Happening::changed);
    return true;
}

// What is leaving for nobody in particular now leaves for this request.
void FreeRequests::claim_unclaimed(FreeRequest& request, Bytes need) {
    Bytes claimed = 0;
    const auto claim = [&](RequestId& claimed_by, Bytes credit) {
        if (claimed >= need || claimed_by != RequestId::none)
            return;
        leaving_.claim(request, claimed_by, credit);
        claimed += credit;
    };
    for (DeferredFree& deferred : leaving_.deferred())
        if (deferred.living && deferred.space == request.space)
            claim(deferred.claim, deferred.credit);
    for (const std::uint32_t id : moves_.moving()) {
        SpillBuffer& buffer = state_.buffers[id];
        if (buffer.move->evicts_from(request.space) && buffer.state != BufferState::abandoned &&
            buffer.state != BufferState::ending)
            claim(buffer.move->request, buffer.move->credit);
    }
}

std::string FreeReport::text() const {
    std::string text =
        to_text(space) + ": freed " + format_bytes(freed) + " of " + format_bytes(requested);
    const std::pair<Bytes, const char*> reasons[] = {{in_use, "in use"},
                                                     {kept, "not to be spilled"},
                                                     {reserved, "of reservations"},
                                                     {no_room, "without room below"}};
    const char* separator = ": ";
    for (const auto& [bytes, reason] : reasons) {
        if (bytes == 0)
            continue;
        text += separator + format_bytes(bytes) + " " + reason;
        separator = ", ";
    }
    if (failed_copies != 0)
        text += separator + format_count(failed_copies) + " copies failed";
    return text;
}

}  // namespace tidemark
