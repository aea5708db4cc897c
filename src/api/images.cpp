// Loading of fatbins and programs, and the linker.
#include "api/images.hpp"

#include <fmt/format.h>

#include <set>

#include "api/state.hpp"
#include "base/demangle.hpp"
#include "ir/flatten.hpp"
#include "ptx/link.hpp"
#include "ptx/module.hpp"

namespace warploom {
namespace api {
namespace {

// A kernel of the unit's machine code; empty when it has none.
std::string some_kernel(const image::Unit& unit) {
  for (const image::Code& code : unit.fatbin.codes) {
    if (code.kind != image::Kind::cubin) continue;
    if (const auto kernels = image::cubin_kernels(code, unit.name); kernels && !kernels->empty())
      return kernels->front();
  }
  return {};
}

Diag no_ptx(const image::Unit& unit, const std::string& kernel, std::uint32_t sm) {
  std::string there;
  for (const image::Code& code : unit.fatbin.codes)
    there += fmt::format("{}{} for {}", there.empty() ? "" : ", ", image::name(code.kind), code.target());
  Diag d;
  d.id = ErrorId::no_ptx;
  d.what = fmt::format("there is no PTX for sm_{}{} in this image, only {}", sm,
                       kernel.empty() ? "" : " with kernel " + demangle(kernel), there);
  d.where = unit.name;
  d.remedy = fmt::format("compile with -gencode arch=compute_{0},code=compute_{0}, or lower", sm);
  return d;
}

}  // namespace

Result<std::vector<ModuleTexts>> modules_of(const image::Image& image, std::uint32_t sm) {
  std::vector<ModuleTexts> out;
  ModuleTexts linked;
  const bool relocatable =
      std::any_of(image.units.begin(), image.units.end(), [](const image::Unit& unit) { return unit.relocatable; });
  for (const image::Unit& unit : image.units) {
    // A PTX file's text says itself what it is for.
    const bool is_text = unit.fatbin.codes.size() == 1 && unit.fatbin.codes.front().arch == 0 &&
                         unit.fatbin.codes.front().kind == image::Kind::ptx;
    const image::Code* code = is_text ? &unit.fatbin.codes.front() : image::choose_ptx(unit.fatbin, sm);
    if (code == nullptr) {
      // The machine code of linked units stands beside them.
      if (relocatable && !unit.relocatable) continue;
      const std::string kernel = some_kernel(unit);
      if (kernel.empty() && image.units.size() > 1) continue;
      return no_ptx(unit, kernel, sm);
    }
    auto text = image::contents(*code, unit.name);
    if (!text) return std::move(text.error());
    if (unit.relocatable)
      linked.push_back({std::move(*text), unit.name});
    else
      out.push_back({{std::move(*text), unit.name}});
  }
  if (!linked.empty()) out.push_back(std::move(linked));
  return out;
}

namespace {

std::shared_ptr<device::Module> load(runtime::Context& context, ModuleTexts texts, const std::string& name) {
  if (texts.size() == 1) return checked(context.device().load(std::move(texts[0].text), std::move(texts[0].name)));
  return checked(context.device().load_linked(std::move(texts), name));
}

std::vector<ModuleTexts> read_modules(std::span<const std::byte> bytes, const std::string& name, std::uint32_t sm) {
  const image::Image image = checked(image::read_image(bytes, name));
  auto modules = checked(modules_of(image, sm));
  if (modules.empty())
    fail(ErrorId::no_ptx, fmt::format("this {} holds no device code", image::name(image.format)),
         "give a file that was compiled with device code in it", name);
  return modules;
}

}  // namespace
}  // namespace api

namespace detail {

struct LinkerState {
  explicit LinkerState(std::shared_ptr<DeviceState> owner) : device(std::move(owner)) {}
  std::shared_ptr<DeviceState> device;
  api::ModuleTexts texts;
};

}  // namespace detail

Module Device::load_image(std::span<const std::byte> bytes, std::string_view name) const {
  runtime::Context& context = api::use(state_);
  const std::string named(name);
  auto modules = api::read_modules(bytes, named, context.device().profile().sm);
  if (modules.size() != 1)
    api::fail(ErrorId::invalid_value, fmt::format("the image holds {} modules, and one is wanted", modules.size()),
              "load_images_file() loads all modules of a file", named);
  auto module = api::load(context, std::move(modules[0]), named);
  return detail::Access::make(std::make_shared<detail::ModuleState>(state_, std::move(module), named));
}

std::vector<Module> Device::load_images_file(const std::string& path) const {
  runtime::Context& context = api::use(state_);
  const std::string bytes = api::read_file(path);
  std::vector<Module> out;
  for (api::ModuleTexts& texts :
       api::read_modules(std::as_bytes(std::span(bytes)), path, context.device().profile().sm)) {
    auto module = api::load(context, std::move(texts), path);
    out.push_back(detail::Access::make(std::make_shared<detail::ModuleState>(state_, std::move(module), path)));
  }
  return out;
}

Linker::Linker(const Device& device) {
  api::use(detail::Access::state(device));
  state_ = std::make_unique<detail::LinkerState>(detail::Access::state(device));
}
Linker::~Linker() = default;
Linker::Linker(Linker&&) noexcept = default;
Linker& Linker::operator=(Linker&&) noexcept = default;

Linker& Linker::add_ptx(std::string_view text, std::string_view name) {
  if (!state_) api::fail_moved_from("the linker");
  state_->texts.push_back({std::string(text), std::string(name)});
  return *this;
}

Linker& Linker::add_image(std::span<const std::byte> bytes, std::string_view name) {
  if (!state_) api::fail_moved_from("the linker");
  const std::uint32_t sm = api::use(state_->device).device().profile().sm;
  for (api::ModuleTexts& texts : api::read_modules(bytes, std::string(name), sm))
    for (device::PtxText& text : texts) state_->texts.push_back(std::move(text));
  return *this;
}

Linker& Linker::add_file(const std::string& path) {
  if (!state_) api::fail_moved_from("the linker");
  const std::string bytes = api::read_file(path);
  return add_image(std::as_bytes(std::span(bytes)), path);
}

Module Linker::load(std::string_view name) const {
  if (!state_) api::fail_moved_from("the linker");
  runtime::Context& context = api::use(state_->device);
  auto module = api::checked(context.device().load_linked(state_->texts, std::string(name)));
  return detail::Access::make(
      std::make_shared<detail::ModuleState>(state_->device, std::move(module), std::string(name)));
}

std::string Linker::ptx(std::string_view name) const {
  if (!state_) api::fail_moved_from("the linker");
  std::vector<std::shared_ptr<const ptx::Module>> modules;
  for (const device::PtxText& text : state_->texts) modules.push_back(api::checked(ptx::parse(text.text, text.name)));
  const auto linked = api::checked(ptx::link(modules, std::string(name), ir::is_provided));
  return api::checked(ptx::print(*linked));
}

}  // namespace warploom
