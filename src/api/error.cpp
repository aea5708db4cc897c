// Error, and the check that the public ids are those of the table.
#include "warploom/error.hpp"

#include "api/state.hpp"
#include "base/diag_of.hpp"

namespace warploom {

#define WL_ERROR(number, name, cuda_code, title) \
  static_assert(error_id::name == (number), "error_id in error.hpp differs from errors.def");
#include "base/errors.def"
#undef WL_ERROR

namespace {

// For errors whose place says it all.
const char* usual_remedy(ErrorId id) {
  switch (id) {
    case ErrorId::ptx_syntax:
    case ErrorId::ptx_invalid:
    case ErrorId::ptx_undefined_name: return "correct the PTX at the place shown; `warploom isa` lists what is known";
    case ErrorId::ptx_unknown_instruction: return "check the spelling; `warploom isa` lists the instructions";
    case ErrorId::compile_error: return "correct the source at the place shown";
    default: return "";
  }
}

}  // namespace

Error detail::ErrorAccess::make(Diag diag) {
  if (diag.remedy.empty()) diag.remedy = usual_remedy(diag.id);
  auto data = std::make_shared<ErrorData>();
  data->text = diag.to_string();
  data->diag = std::move(diag);
  return Error(std::move(data));
}

Error::Error(std::shared_ptr<const detail::ErrorData> data) : std::runtime_error(data->text), data_(std::move(data)) {}
Error::Error(const Error&) noexcept = default;
Error& Error::operator=(const Error&) noexcept = default;
Error::~Error() = default;

int Error::id() const noexcept { return static_cast<int>(data_->diag.id); }
std::string_view Error::name() const noexcept { return error_info(data_->diag.id).name; }
int Error::cuda_code() const noexcept { return data_->diag.cuda_code(); }
const std::string& Error::message() const noexcept { return data_->diag.what; }
const std::string& Error::where() const noexcept { return data_->diag.where; }
const std::string& Error::remedy() const noexcept { return data_->diag.remedy; }
const std::string& Error::excerpt() const noexcept { return data_->diag.excerpt; }
const std::string& Error::file() const noexcept { return data_->diag.loc.file; }
std::uint32_t Error::line() const noexcept { return data_->diag.loc.line; }
std::uint32_t Error::column() const noexcept { return data_->diag.loc.column; }

namespace api {

void fail(Diag diag) { throw detail::ErrorAccess::make(std::move(diag)); }

void fail(ErrorId id, std::string what, std::string remedy, std::string where) {
  fail(diag_of(id, std::move(what), std::move(remedy), std::move(where)));
}

void fail_moved_from(const char* what) {
  fail(ErrorId::invalid_handle, std::string(what) + " was moved from", "use the object it was moved to");
}

void fail_before_reset(const char* what) {
  fail(ErrorId::invalid_handle, std::string(what) + " was made before Device::reset()",
       "make it again: a reset ends everything made on the device");
}

}  // namespace api
}  // namespace warploom
