#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/cli/json_text.hpp"
#include "app/cli/quantities.hpp"
#include "app/commands/commands.hpp"
#include "core/device.hpp"
#include "core/instruction_sets.hpp"
#include "core/parallel.hpp"
#include "core/processor.hpp"
#include "core/text_streams.hpp"
#include "core/usable_kernels.hpp"

namespace smallbatch {

namespace {

using Json = nlohmann::ordered_json;

/// Returns "580.95.05", or nothing without a driver.
std::string nvidia_driver() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

}  // namespace

std::string devices(const DevicesOptions& options) {
  const Processor cpu = processor();
  const unsigned threads = thread_count(options.threads);
  const auto usable = usable_instruction_sets();
  const std::string_view used = usable[chosen_instruction_set(options.instruction_set, usable)];
  const std::string driver = nvidia_driver();
  const DeviceList gpus = cuda_devices();

  TextWriter text;
  Json sets = Json::array(), devices = Json::array();
  text << "cpu: " << (cpu.model.empty() ? "unknown processor" : cpu.model);
  if (cpu.cores > 0) text << ", " << cpu.cores << (cpu.cores == 1 ? " core" : " cores");
  text << ", " << threads << " of " << cpu.threads << " threads used\n  instruction sets:";
  for (const std::string_view set : usable) {
    text << " " << set << (set == used ? " (used)" : "");
    sets.push_back(set);
  }
  text << "\n";
  for (const DeviceInfo& gpu : gpus.devices) {
    const std::string capability =
        std::to_string(gpu.compute_capability_major) + "." + std::to_string(gpu.compute_capability_minor);
    text << "cuda:" << gpu.index << ": " << gpu.name << ", " << bytes_text(static_cast<double>(gpu.memory_bytes))
         << ", " << gpu.multiprocessors << " multiprocessors, compute capability " << capability << "\n";
    devices.push_back({{"device", "cuda:" + std::to_string(gpu.index)},
                       {"name", gpu.name},
                       {"memory_bytes", gpu.memory_bytes},
                       {"multiprocessors", gpu.multiprocessors},
                       {"compute_capability", capability}});
  }
  Json json{{"command", "devices"},
            {"cpu",
             {{"model", cpu.model},
              {"cores", cpu.cores},
              {"hardware_threads", cpu.threads},
              {"threads", threads},
              {"instruction_sets", sets},
              {"instruction_set", used}}},
            {"gpus", devices},
            {"cuda", nullptr},
            {"why_no_gpu", nullptr}};
  if (gpus.devices.empty()) {
    text << "no GPU: " << gpus.why_none << "\n";
    json["why_no_gpu"] = gpus.why_none;
  } else {
    const DeviceInfo& first = gpus.devices.front();
    text << "CUDA runtime " << first.runtime_version << "; the driver" << (driver.empty() ? "" : " " + driver)
         << " supports " << first.driver_version << "\n";
    json["cuda"] = {
        {"runtime", first.runtime_version}, {"supported_by_driver", first.driver_version}, {"driver", driver}};
  }
  return options.json ? json_text(json) : text.str();
}

}  // namespace smallbatch
