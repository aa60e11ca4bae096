// A program without torch and Python: the runtime is linked into it, as nvcc does by default.

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

__global__ void fill(char* bytes, size_t count) {
    const size_t at = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
    if (at < count) bytes[at] = 1;
}

constexpr size_t kBlock = 100 << 20;

char* hold(size_t count) {
    char* bytes = nullptr;
    if (cudaMalloc(&bytes, count) != cudaSuccess) return nullptr;
    fill<<<(count + 255) / 256, 256>>>(bytes, count);
    return bytes;
}

long long now_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

int main() {
    std::vector<char*> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(hold(kBlock));
    cudaFree(blocks.back());
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    const auto pause = std::chrono::milliseconds(5);
    std::this_thread::sleep_for(pause);
    size_t free = 0;
    size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 1;
    const long long moment_ns = now_ns();
    std::this_thread::sleep_for(pause);
    printf("{\"monotonic_ns\": %lld, \"used_bytes\": %zu, \"held_bytes\": %zu, \"library\": \"\"}\n",
           moment_ns, total - free, 4 * kBlock);
    return 0;
}
