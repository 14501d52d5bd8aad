// The opcodes of Python's pickle that snapshots need, however they were written, and those that
// never occur in one.
#pragma once

#include <string_view>

namespace tidemark {

constexpr unsigned kNewestProtocol = 5;

namespace opcode {

constexpr unsigned kMark = '(';
constexpr unsigned kStop = '.';
constexpr unsigned kPop = '0';
constexpr unsigned kPopMark = '1';
constexpr unsigned kDup = '2';
constexpr unsigned kFloat = 'F';
constexpr unsigned kInt = 'I';
constexpr unsigned kBinint = 'J';
constexpr unsigned kBinint1 = 'K';
constexpr unsigned kLong = 'L';
constexpr unsigned kBinint2 = 'M';
constexpr unsigned kNone = 'N';
constexpr unsigned kUnicode = 'V';
constexpr unsigned kBinunicode = 'X';
constexpr unsigned kAppend = 'a';
constexpr unsigned kDict = 'd';
constexpr unsigned kAppends = 'e';
constexpr unsigned kGet = 'g';
constexpr unsigned kBinget = 'h';
constexpr unsigned kLongBinget = 'j';
constexpr unsigned kList = 'l';
constexpr unsigned kPut = 'p';
constexpr unsigned kBinput = 'q';
constexpr unsigned kLongBinput = 'r';
constexpr unsigned kSetitem = 's';
constexpr unsigned kTuple = 't';
constexpr unsigned kSetitems = 'u';
constexpr unsigned kEmptyTuple = ')';
constexpr unsigned kEmptyList = ']';
constexpr unsigned kEmptyDict = '}';
constexpr unsigned kBinfloat = 'G';
constexpr unsigned kBinbytes = 'B';
constexpr unsigned kShortBinbytes = 'C';
constexpr unsigned kString = 'S';  // Python 2's, as the next two
constexpr unsigned kBinstring = 'T';
constexpr unsigned kShortBinstring = 'U';
constexpr unsigned kGlobal = 'c';
constexpr unsigned kReduce = 'R';
constexpr unsigned kBuild = 'b';
constexpr unsigned kPersistentId = 'P';
constexpr unsigned kBinaryPersistentId = 'Q';
constexpr unsigned kNewObject = 0x81;
constexpr unsigned kEmptySet = 0x8f;
constexpr unsigned kAddItems = 0x90;
constexpr unsigned kFrozenSet = 0x91;
constexpr unsigned kNewObjectEx = 0x92;
constexpr unsigned kStackGlobal = 0x93;
constexpr unsigned kProto = 0x80;
constexpr unsigned kTuple1 = 0x85;
constexpr unsigned kTuple2 = 0x86;
constexpr unsigned kTuple3 = 0x87;
constexpr unsigned kNewTrue = 0x88;
constexpr unsigned kNewFalse = 0x89;
constexpr unsigned kLong1 = 0x8a;
constexpr unsigned kLong4 = 0x8b;
constexpr unsigned kShortBinunicode = 0x8c;
constexpr unsigned kBinunicode8 = 0x8d;
constexpr unsigned kBinbytes8 = 0x8e;
constexpr unsigned kMemoize = 0x94;
constexpr unsigned kFrame = 0x95;

// The name of an opcode that builds objects, which none of our files has; "" for any other byte.
std::string_view forbidden_name(unsigned opcode);

}  // namespace opcode
}  // namespace tidemark
