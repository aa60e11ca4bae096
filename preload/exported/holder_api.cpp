// The functions of peakline_api.h for the search of holders of blocks. They connect the extension
// module, the part compiled against torch, and the recorder.
#include <cstring>
#include <vector>

#include "allocator/record/recorder.h"
#include "preload/hooks/torch_hooks.h"
#include "preload/peakline_api.h"

#define PEAKLINE_EXPORT __attribute__((visibility("default")))

using peakline::format::HolderKind;
using peakline::preload::torch_part_slot;
using peakline::record::LiveBlock;
using peakline::record::Recorder;

extern "C" {

PEAKLINE_EXPORT size_t peakline_live_blocks(PeaklineLiveBlock* out, size_t room) {
    std::vector<LiveBlock> blocks(room);
    const size_t count = Recorder::instance().copy_live_blocks(blocks.data(), room);
    for (size_t i = 0; i < room && i < count; ++i) {
        const LiveBlock& block = blocks[i];
        out[i] = {block.address,
                  block.ordinal,
                  block.requested_bytes,
                  block.block_bytes,
                  block.context,
                  block.device,
                  static_cast<uint16_t>((block.flags & peakline::record::kTensorKind) >>
                                        peakline::record::kTensorKindShift)};
    }
    return count;
}

PEAKLINE_EXPORT uint64_t peakline_tensor_of_object(uint64_t object) {
    return torch_part_slot().impl_of_object == nullptr ? 0
                                                       : torch_part_slot().impl_of_object(object);
}

PEAKLINE_EXPORT int32_t peakline_tensor_facts(uint64_t tensor_impl, PeaklineTensorFacts* facts) {
    *facts = {};
    if (torch_part_slot().tensor_facts == nullptr) {
        return 0;
    }
    if (tensor_impl == 0) {
        return 1;
    }
    const auto known = torch_part_slot().tensor_facts(tensor_impl);
    *facts = {known.storage, known.gradient, known.node, known.is_on_device ? 1 : 0};
    return 1;
}

PEAKLINE_EXPORT void peakline_visit_next_nodes(uint64_t node,
                                               PeaklineVisitAddress visit,
                                               void* data) {
    torch_part_slot().visit_next(reinterpret_cast<const void*>(node), visit, data);
}

PEAKLINE_EXPORT void peakline_visit_saved(uint64_t memory,
                                          size_t bytes,
                                          PeaklineVisitSaved visit,
                                          void* data) {
    torch_part_slot().visit_saved(reinterpret_cast<const void*>(memory), bytes, visit, data);
}

PEAKLINE_EXPORT uint64_t peakline_python_object_of(uint64_t node) {
    return torch_part_slot().python_object_of(reinterpret_cast<const void*>(node));
}

PEAKLINE_EXPORT void peakline_node_name(uint64_t node, char* out, size_t room) {
    torch_part_slot().node_name(reinterpret_cast<const void*>(node), out, room);
}

PEAKLINE_EXPORT uint32_t peakline_record_holders(const PeaklineHolderSearch* search,
                                                 const PeaklineHolder* holders,
                                                 size_t count) {
    std::vector<Recorder::FoundHolder> found;
    found.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        found.push_back({holders[i].address,
                         holders[i].ordinal,
                         static_cast<HolderKind>(holders[i].kind),
                         holders[i].more_count,
                         holders[i].text,
                         strlen(holders[i].text)});
    }
    peakline::format::HolderSearch written{};
    written.reason = static_cast<peakline::format::HoldReason>(search->reason);
    written.step = search->step;
    written.block_count = search->block_count;
    written.object_count = search->object_count;
    written.duration_us = search->duration_us;
    written.flags = search->flags;
    written.known_object_count = search->known_object_count;
    return Recorder::instance().record_holders(written, found.data(), found.size());
}

}  // extern "C"
