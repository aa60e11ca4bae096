// --by library: the file of the library or program that allocated.
#include <string>
#include <utility>

#include "report/attribute/grouping.h"
#include "report/attribute/operators/library_search.h"

namespace peakline::report {

namespace {

// torch counts as one library, although it has several files.
bool is_torch(const std::string& library) {
    return library.rfind("libtorch", 0) == 0 || library.rfind("libc10", 0) == 0;
}

}  // namespace

BlockRow row_by_library(StackLookup& stacks, const BlockGroup& block) {
    if (is_untraced(stacks, block)) {
        return named_row(kUntracedName);
    }
    if (is_unrecorded(stacks, block)) {
        return named_row(kUnrecordedName);
    }
    std::string library = requesting_library(stacks, block.context);
    return named_row(is_torch(library) ? "torch" : std::move(library));
}

}  // namespace peakline::report
