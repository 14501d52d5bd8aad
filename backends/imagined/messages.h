// Messages between the ranks of a communicator of NCCL that run at the same time (exchange.h):
// small pieces of what they gather, exchange, reduce, send and broadcast, if the content is known.
// Everything else is what it would be if all ranks held the same.
//
// A communicator's ranks call the same functions in the same order, as NCCL requires. Not
// thread-safe for one communicator; waits as Exchange::take() does.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark::imagined {

struct Communicator {
    int ranks = 1;
    int rank = 0;
    bool collective = false, paired = false;  // has been used that way
    std::string id;                           // the same in all its ranks; "" = it is not known
    std::vector<int> members;                 // ranks of the job; -1 = not known yet
    // How many were numbered, by what they are and whether they are received.
    std::map<std::pair<std::string, bool>, int> messages;
};

// Makes the communicator known to its other ranks. `unique_id`: the same in all of them; all zeros
// if they don't run.
void join(Communicator& one, std::string_view unique_id);

// What the other ranks have at `from` of them comes to its piece of `to`; `size` is of a piece.
void gather(Communicator& one, const void* from, void* to, std::size_t size);

// Piece r of rank q's `from` comes to piece q of rank r's `to`.
void exchange_all(Communicator& one, const void* from, void* to, std::size_t size);

void broadcast(Communicator& one, const void* from, void* to, std::size_t size, int root);

// Combines numbers on which ranks agree, such as the greatest length of a batch; not gradients.
// `type` and `how` are NCCL's ncclDataType_t and ncclRedOp_t.
void reduce_all(Communicator& one, void* to, std::size_t size, int type, int how);

void send(Communicator& one, const void* from, std::size_t size, int to);

// Within a group, the message comes when the group ends, because its sends come first.
void receive(Communicator& one, void* to, std::size_t size, int from);

void begin_group();
void end_group();

}  // namespace tidemark::imagined
