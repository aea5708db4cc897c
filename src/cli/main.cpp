// The `warploom` command: parses arguments and hands over to a command.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "cli/commands.hpp"
#include "warploom/about.hpp"
#include "warploom/device.hpp"

namespace {

using namespace warploom;  // NOLINT: this file only glues the API to the parser

// Says in the usage line of a command that starts a program where the program goes.
class Formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    const std::string options = "[OPTIONS]";
    const auto place = usage.find(options);
    if (app->get_prefix_command() && place != std::string::npos)
      usage.insert(place + options.size(), " PROGRAM [ARGUMENTS...]");
    return usage;
  }
};

// Options that every command which starts a program shares.
void add_run_options(CLI::App& command, cli::RunOptions& options) {
  // Everything from the program's name on belongs to the program.
  command.prefix_command();
  command
      .add_option("--gpu", options.gpu, "modelled GPU: its limits are enforced, its sizes are reported (default h200)")
      ->type_name("NAME")
      ->check(CLI::IsMember(Device::profiles()));
  command.add_option("--threads", options.threads, "CPU threads that run blocks (default: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(1u, 4096u));
  command.add_flag("--deterministic", options.deterministic, "run blocks in order on one thread");
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Warploom runs and explains CUDA kernels on any machine, with no GPU.", "warploom");
  app.set_version_flag("--version", "warploom " + version());
  app.formatter(std::make_shared<Formatter>());
  app.require_subcommand(1);
  app.footer("warploom COMMAND --help describes a command.");

  cli::ExplainOptions explain;
  CLI::App* explain_command =
      app.add_subcommand("explain", "run a program, then print what each kernel did to memory and what to change");
  add_run_options(*explain_command, explain);
  explain_command->add_option("--json", explain.json_file, "also write the report as JSON to this file")
      ->type_name("FILE");
  explain_command->add_flag("--no-gpu", explain.no_gpu,
                            "do not run the program on a GPU as well, where its kernels would be timed");
  explain_command->add_flag("--no-counters", explain.no_counters, "do not read the GPU's hardware counters");
  explain_command->footer(
      "Counts are exact: global requests and sectors equal a GPU's counters. ~ marks modelled figures, ?\n"
      "estimated ones. docs/guide/explain.md says how to read a report.");

  cli::RunOptions run;
  CLI::App* run_command = app.add_subcommand("run", "run a program on a GPU, or on the CPU device");
  add_run_options(*run_command, run);
  run_command
      ->add_option("--device", run.device,
                   "where programs run that name no device: cpu, cuda:0 ... (default: a GPU when there is one and no "
                   "other option needs the CPU device)")
      ->type_name("NAME");
  run_command->add_flag("--time", run.time,
                        "when the program ends, print what its launches and kernels took, and its wall time");
  run_command->add_option("--time-json", run.time_json_file, "the same, and write the times as JSON to this file")
      ->type_name("FILE");

  CLI::Option* dump =
      run_command
          ->add_option("--dump", run.dump_folder,
                       "write PTX, IR after each pass, LLVM IR and assembly of each kernel launched to this folder")
          ->type_name("DIR");
  run_command->add_option("--kernel", run.dump_kernel, "dump only this one, by its C++ or PTX name")
      ->type_name("NAME")
      ->needs(dump);

  cli::ScanOptions scan;
  CLI::App* scan_command = app.add_subcommand(
      "scan",
      "say which kernels a program, library, object, fatbin, cubin or PTX file holds, and whether they will run");
  scan_command->add_option("FILE", scan.file, "what to read; nothing in it is executed")->required();
  scan_command->add_option("--gpu", scan.gpu, "modelled GPU that PTX is chosen for (default h200)")
      ->type_name("NAME")
      ->check(CLI::IsMember(Device::profiles()));
  scan_command->add_flag("--json", scan.json, "print the report as JSON");
  scan_command->add_flag("--brief", scan.brief, "list only kernels that will not run");
  scan_command->footer(
      "Exit status: 0 when every kernel will run, 1 when one will not, 2 when the file cannot be read,\n"
      "3 when it holds no kernel.");

  std::string instruction;
  bool json = false;
  CLI::App* isa_command = app.add_subcommand("isa", "list PTX instructions, or the forms of one");
  isa_command->add_option("INSTRUCTION", instruction, "name without modifiers, for instance add");
  isa_command->add_flag("--json", json, "the whole table as JSON");

  CLI::App* devices_command = app.add_subcommand("devices", "list devices and the GPUs that they can model");

  cli::CacheOptions cache;
  CLI::App* cache_command = app.add_subcommand("cache", "the disk cache of compiled kernels");
  cache_command->require_subcommand(1);
  cache_command->add_subcommand("list", "its files, the latest used first");
  cache_command->add_subcommand("size", "how much it takes");
  cache_command->add_subcommand("path", "its folder");
  cache_command->add_subcommand("clear", "remove all files");
  cache_command->add_subcommand("limit", "show or set how much it may take")
      ->add_option("MEGABYTES", cache.megabytes, "the new limit; what was not used for longest goes")
      ->check(CLI::Range(0u, 1u << 30));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : cli::kUsageError;
  }
  if (explain_command->parsed()) {
    explain.command = explain_command->remaining();
    return cli::explain(explain);
  }
  if (run_command->parsed()) {
    run.command = run_command->remaining();
    return cli::run(run);
  }
  if (isa_command->parsed()) return cli::isa(instruction, json);
  if (scan_command->parsed()) return cli::scan(scan);
  if (devices_command->parsed()) return cli::devices();
  if (cache_command->parsed()) {
    cache.action = cache_command->get_subcommands().front()->get_name();
    return cli::cache(cache);
  }
  return cli::kUsageError;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "warploom: %s\n", exception.what());
    return 1;
  }
}
