// The table of hardware counters.
#include "observe/gpu_counters.hpp"

namespace warploom::observe {

const std::vector<GpuCounterRow>& gpu_counter_rows() {
  static const std::vector<GpuCounterRow> rows = {
      {"warp_instructions", "warp instructions", {"smsp__inst_executed.sum"}},
      {"thread_instructions", "thread instructions", {"smsp__thread_inst_executed.sum"}},
      {"global_load_requests", "global load requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"}},
      {"global_load_sectors", "global load sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}},
      {"global_load_sectors_in_l1",
       "  of these found in L1",
       {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"}},
      {"global_store_requests", "global store requests", {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"}},
      {"global_store_sectors", "global store sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}},
      {"global_atomic_requests",
       "global atomic requests",
       {"l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"}},
      {"global_atomic_sectors",
       "global atomic sectors",
       {"l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"}},
      {"local_load_sectors", "local load sectors", {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"}},
      {"local_store_sectors", "local store sectors", {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"}},
      {"shared_load_wavefronts", "shared load wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}},
      {"shared_load_conflicts",
       "  of these bank conflicts",
       {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"}},
      {"shared_store_wavefronts", "shared store wavefronts", {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}},
      {"shared_store_conflicts",
       "  of these bank conflicts",
       {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"}},
      {"shared_atomic_wavefronts",
       "shared atomic wavefronts",
       {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"}},
      {"l2_read_sectors", "L2 read sectors", {"lts__t_sectors_op_read.sum"}},
      {"l2_read_sectors_in_l2", "  of these found in L2", {"lts__t_sectors_op_read_lookup_hit.sum"}},
      {"l2_write_sectors", "L2 write sectors", {"lts__t_sectors_op_write.sum"}},
      {"memory_read_bytes", "bytes read from memory", {"dram__bytes_read.sum"}},
      {"memory_written_bytes", "bytes written to memory", {"dram__bytes_write.sum"}},
      {"active_warps_percent", "active warps, %", {"sm__warps_active.avg.pct_of_peak_sustained_active"}},
  };
  return rows;
}

std::vector<std::string> gpu_counter_metrics() {
  std::vector<std::string> out;
  for (const GpuCounterRow& row : gpu_counter_rows()) out.insert(out.end(), row.metrics.begin(), row.metrics.end());
  return out;
}

std::optional<double> value_of(const GpuCounterRow& row, const GpuCounters& counters) {
  double sum = 0;
  for (const char* metric : row.metrics) {
    const auto found = counters.find(metric);
    if (found == counters.end()) return std::nullopt;
    sum += found->second;
  }
  return sum;
}

}  // namespace warploom::observe
