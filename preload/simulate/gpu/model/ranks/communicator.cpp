// Posts this rank's contributions, and delivers those of all ranks once they are complete.

#include "model/ranks/communicator.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "model/base/log.h"
#include "model/memory/world.h"
#include "model/ranks/polling.h"
#include "model/ranks/waiting.h"
#include "model/streams/stream.h"
#include "model/values/contents.h"

namespace simgpu {
namespace {

// Guarded by the world's lock.
std::unordered_set<Communicator*>& communicators() {
    static auto* const all = new std::unordered_set<Communicator*>;
    return *all;
}

uintptr_t to_address(const void* pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Meeting> meeting, int rank_count)
    : meeting_(std::move(meeting)),
      sent_counts_(static_cast<size_t>(rank_count)),
      received_counts_(static_cast<size_t>(rank_count)) {
    const auto lock = World::instance().lock();
    communicators().insert(this);
}

Communicator::~Communicator() {
    const auto lock = World::instance().lock();
    finish_ready();
    if (meeting_ != nullptr) {
        meeting_->leave();
    }
    for (const auto& operation : unfinished_) {
        operation->is_done = true;
    }
    communicators().erase(this);
}

bool Communicator::is_alone() const {
    const auto lock = World::instance().lock();
    return meeting_ != nullptr && meeting_->is_alone();
}

template <typename Condition>
bool Communicator::wait_until(Condition condition) {
    if (meeting_ == nullptr) {
        return false;
    }
    const bool is_met = poll(
        [&] {
            finish_what_can_be();
            return meeting_ == nullptr || condition();
        },
        [&] { return meeting_ == nullptr || !meeting_->is_anybody_gone(); });
    if (!is_met) {
        const auto lock = World::instance().lock();
        give_up();
    }
    return meeting_ != nullptr;
}

void Communicator::give_up() {
    if (meeting_ == nullptr) {
        return;
    }
    log_message(1, "a rank is gone: collectives of this communicator deliver zeros from now on");
    meeting_->leave();
    meeting_ = nullptr;
    for (const auto& operation : unfinished_) {
        operation->is_done = true;
    }
    unfinished_.clear();
}

bool Communicator::wait_for_all_to_join() {
    return wait_until([this] { return meeting_->have_all_joined(); });
}

void Communicator::finish_what_can_be() {
    for (Communicator* const communicator : communicators()) {
        communicator->finish_ready();
    }
}

bool Communicator::waits_for_one_of(const Operations& operations) const {
    return std::any_of(operations.begin(), operations.end(), [this](const auto& operation) {
        return std::find(unfinished_.begin(), unfinished_.end(), operation) != unfinished_.end();
    });
}

bool Communicator::is_anybody_gone(const Operations& operations) {
    return std::any_of(communicators().begin(), communicators().end(), [&](const auto* all) {
        return all->meeting_ != nullptr && all->waits_for_one_of(operations) &&
               all->meeting_->is_anybody_gone();
    });
}

void Communicator::give_up_on(const Operations& operations) {
    for (Communicator* const communicator : communicators()) {
        if (communicator->waits_for_one_of(operations)) {
            communicator->give_up();
        }
    }
}

bool Communicator::is_ready(const Operation& operation) const {
    return operation.is_receive ? meeting_->has_arrived(operation.sender_rank, operation.number)
                                : meeting_->have_all_posted(operation.number);
}

void Communicator::finish_ready() {
    if (meeting_ == nullptr) {
        return;
    }
    // Collectives become ready in the order they were started; so do messages of one sender.
    for (auto next = unfinished_.begin(); next != unfinished_.end();) {
        if (is_ready(**next)) {
            finish(next->get());
            next = unfinished_.erase(next);
        } else {
            ++next;
        }
    }
}

void Communicator::finish(Operation* operation) {
    for (const Delivery& delivery : operation->deliveries) {
        deliver(delivery, *operation);
    }
    if (operation->is_receive) {
        meeting_->note_received(operation->sender_rank, operation->number);
    } else {
        meeting_->note_read(operation->number);
    }
    operation->deliveries.clear();
    operation->is_done = true;
}

void Communicator::deliver(const Delivery& delivery, const Operation& operation) {
    std::vector<unsigned char>& bytes = delivery.content->bytes;
    if (operation.reduction.kind == SIMGPU_REDUCE_NONE) {
        const Slot& slot =
            operation.is_receive
                ? meeting_->mail_slot(operation.sender_rank, meeting_->rank(), operation.number)
                : meeting_->posted_slot(delivery.source_rank, operation.number);
        if (slot.is_known != 0) {
            const unsigned char* const start = slot.bytes + delivery.offset_bytes;
            bytes.assign(start, start + delivery.bytes);
        }
        return;
    }
    std::vector<const unsigned char*> contributions;
    for (int rank = 0; rank < meeting_->rank_count(); ++rank) {
        const Slot& slot = meeting_->posted_slot(rank, operation.number);
        if (slot.is_known == 0) {
            return;
        }
        contributions.push_back(slot.bytes + delivery.offset_bytes);
    }
    bytes.resize(delivery.bytes);
    if (!reduce(operation.reduction, contributions, delivery.bytes, bytes.data())) {
        bytes.clear();
    }
}

void Communicator::put(Slot* slot, uintptr_t from, size_t bytes) const {
    slot->is_known = bytes <= kMaxKnownBytes && bytes > 0 &&
                     Contents::instance().collect(from, bytes, slot->bytes);
}

void Communicator::begin(std::shared_ptr<Operation> operation, Stream* stream) {
    unfinished_.push_back(operation);
    if (stream != nullptr) {
        std::erase_if(stream->unfinished, [](const auto& held) { return held->is_done; });
        stream->unfinished.push_back(std::move(operation));
    }
    finish_ready();
}

// Waits for pending deliveries into memory that is sent. This rank has started them, so they finish
// once the others have started theirs.
static void wait_for_contents(const void* from, size_t bytes) {
    Operations operations;
    {
        const auto lock = World::instance().lock();
        operations = Contents::instance().operations_into(to_address(from), bytes);
    }
    wait_for(operations);
}

void Communicator::start(const peakline_sim_collective& collective, Stream* stream) {
    wait_for_contents(collective.from, collective.contributed_bytes);
    wait_until([this] { return meeting_->has_room_to_post(collective_count_); });
    const auto lock = World::instance().lock();
    auto operation = std::make_shared<Operation>();
    operation->number = collective_count_++;
    operation->reduction = {collective.reduction, collective.element};
    log_message(2,
                "collective %zu: %zu bytes from %p",
                static_cast<size_t>(operation->number),
                collective.contributed_bytes,
                collective.from);
    if (meeting_ != nullptr) {
        put(&meeting_->own_slot(operation->number),
            to_address(collective.from),
            collective.contributed_bytes);
        meeting_->post(operation->number);
    }
    for (int index = 0; index < collective.output_count; ++index) {
        const peakline_sim_output& output = collective.outputs[index];
        Contents::instance().forget(to_address(output.to), output.bytes);
        if (meeting_ == nullptr || output.offset_bytes + output.bytes > kMaxKnownBytes) {
            continue;
        }
        auto content = std::make_shared<Content>();
        content->operation = operation;
        operation->deliveries.push_back(
            {content, output.source_rank, output.offset_bytes, output.bytes});
        Contents::instance().promise(to_address(output.to), output.bytes, std::move(content));
    }
    if (meeting_ != nullptr) {
        begin(std::move(operation), stream);
    }
}

void Communicator::send(int to_rank, const void* from, size_t bytes) {
    wait_for_contents(from, bytes);
    uint64_t& sent_count = sent_counts_[static_cast<size_t>(to_rank)];
    wait_until([&] { return meeting_->has_room_to_send(to_rank, sent_count); });
    const auto lock = World::instance().lock();
    if (meeting_ != nullptr) {
        put(&meeting_->mail_slot(meeting_->rank(), to_rank, sent_count), to_address(from), bytes);
        meeting_->send(to_rank, sent_count++);
    }
}

void Communicator::receive(int from_rank, void* to, size_t bytes, Stream* stream) {
    const auto lock = World::instance().lock();
    Contents::instance().forget(to_address(to), bytes);
    if (meeting_ == nullptr) {
        return;
    }
    auto operation = std::make_shared<Operation>();
    operation->number = received_counts_[static_cast<size_t>(from_rank)]++;
    operation->is_receive = true;
    operation->sender_rank = from_rank;
    if (bytes <= kMaxKnownBytes) {
        auto content = std::make_shared<Content>();
        content->operation = operation;
        operation->deliveries.push_back({content, from_rank, 0, bytes});
        Contents::instance().promise(to_address(to), bytes, std::move(content));
    }
    begin(std::move(operation), stream);
}

bool Communicator::gather_on_host(const void* from, size_t bytes, void* to) {
    uint64_t number = 0;
    auto operation = std::make_shared<Operation>();
    {
        const auto lock = World::instance().lock();
        if (meeting_ == nullptr || !meeting_->has_room_to_post(collective_count_)) {
            return false;
        }
        number = operation->number = collective_count_++;
        Slot& slot = meeting_->own_slot(number);
        std::memcpy(slot.bytes, from, bytes);
        slot.is_known = 1;
        meeting_->post(number);
        for (int rank = 0; rank < meeting_->rank_count(); ++rank) {
            operation->deliveries.push_back({std::make_shared<Content>(), rank, 0, bytes});
        }
        unfinished_.push_back(operation);
    }
    const std::vector<Delivery> deliveries = operation->deliveries;
    wait_for({operation});
    const auto lock = World::instance().lock();
    for (const Delivery& delivery : deliveries) {
        if (delivery.content->bytes.size() != bytes) {
            return false;
        }
        const size_t offset = static_cast<size_t>(delivery.source_rank) * bytes;
        std::memcpy(static_cast<char*>(to) + offset, delivery.content->bytes.data(), bytes);
    }
    return true;
}

}  // namespace simgpu
