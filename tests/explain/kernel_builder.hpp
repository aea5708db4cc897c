// Builds the facts of an imaginary kernel, line by line, for tests of rules and reports.
#pragma once

#include "observe/explain/explain.hpp"

namespace warploom::observe::explain {

class KernelBuilder {
 public:
  KernelBuilder() {
    facts_.name = "_Z6kernelPf";
    facts_.demangled = "kernel(float*)";
    facts_.registers_estimate = 16;
    launch_.grid = {1024, 1, 1};
    launch_.block = {256, 1, 1};
    launch_.seconds = 0.001;
    counts_.warp_instructions = 1000000;
    counts_.thread_instructions = 32000000;
  }

  KernelBuilder& block(std::uint32_t x, std::uint32_t y = 1) {
    launch_.block = {x, y, 1};
    return *this;
  }
  KernelBuilder& grid(std::uint32_t x) {
    launch_.grid = {x, 1, 1};
    return *this;
  }
  KernelBuilder& registers(std::uint32_t count) {
    facts_.registers_estimate = count;
    return *this;
  }
  KernelBuilder& shared(std::uint32_t bytes) {
    facts_.static_shared_bytes = bytes;
    return *this;
  }
  KernelBuilder& lanes(double average) {
    counts_.thread_instructions = static_cast<std::uint64_t>(average * 1e6);
    return *this;
  }
  // `per_request` and `ideal` are sectors, or wavefronts in shared memory.
  KernelBuilder& access(std::uint32_t line, isa::Space space, AccessKind kind, double per_request, double ideal,
                        std::uint64_t requests = 100000, std::uint32_t bytes = 4) {
    Site site = place(line, Site::Kind::access);
    site.space = space;
    site.access = kind;
    site.bytes = bytes;
    facts_.sites.push_back(site);
    AccessCounts& c = counts_.access.back();
    c.requests = requests;
    c.active_lanes = 32 * requests;
    const auto total = static_cast<std::uint64_t>(per_request * static_cast<double>(requests));
    const auto best = static_cast<std::uint64_t>(ideal * static_cast<double>(requests));
    (space == isa::Space::shared ? c.wavefronts : c.sectors) = total;
    (space == isa::Space::shared ? c.ideal_wavefronts : c.ideal_sectors) = best;
    return *this;
  }
  KernelBuilder& branch(std::uint32_t line, std::uint64_t executed, std::uint64_t divergent) {
    facts_.sites.push_back(place(line, Site::Kind::branch));
    counts_.branch.back() = {executed, divergent, 32 * executed};
    return *this;
  }
  KernelBuilder& local_bytes(std::uint32_t bytes) {
    facts_.local_bytes = bytes;
    return *this;
  }

  KernelBuilder& doubles(std::uint32_t line, std::uint32_t count, std::optional<double> literal, bool widens = true) {
    facts_.instructions = 100;
    facts_.widens_floats = widens;
    facts_.double_arithmetic.push_back({{"kernel.cu", line, 1}, count, literal});
    return *this;
  }

  void run(Explain& explain) const { explain.launch_done(facts_, launch_, counts_); }
  [[nodiscard]] KernelData analyse(const char* gpu = "h200") const {
    Explain explain(*isa::find_profile(gpu));
    run(explain);
    return explain.analyse().at(0);
  }

 private:
  Site place(std::uint32_t line, Site::Kind kind) {
    Site site;
    site.kind = kind;
    site.id = static_cast<std::uint32_t>(facts_.sites.size());
    site.source = {"kernel.cu", line, 1};
    counts_.access.emplace_back();
    counts_.branch.emplace_back();
    return site;
  }

  KernelFacts facts_;
  LaunchFacts launch_;
  LaunchCounts counts_;
};

}  // namespace warploom::observe::explain
