// Operations may belong to any communicator.

#include "model/ranks/waiting.h"

#include <algorithm>

#include "model/base/log.h"
#include "model/memory/world.h"
#include "model/ranks/communicator.h"
#include "model/ranks/polling.h"

namespace simgpu {

bool are_done(const Operations& operations) {
    if (operations.empty()) {
        return true;
    }
    Communicator::finish_what_can_be();
    return std::all_of(operations.begin(), operations.end(), [](const auto& operation) {
        return operation->is_done;
    });
}

void wait_for(const Operations& operations) {
    if (operations.empty()) {
        return;
    }
    log_message(2, "wait for %zu collectives", operations.size());
    if (poll([&] { return are_done(operations); },
             [&] { return !Communicator::is_anybody_gone(operations); })) {
        return;
    }
    const auto lock = World::instance().lock();
    Communicator::give_up_on(operations);
}

}  // namespace simgpu
