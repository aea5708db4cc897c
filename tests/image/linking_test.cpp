// Loading of fatbins and programs, and linking of modules that refer to each other, down to what the kernels compute.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <warploom/warploom.hpp>

#include "writer.hpp"

namespace warploom::test {
namespace {

const std::string kHeader = ".version 8.0\n.target sm_80\n.address_size 64\n";

// Calls `twice` and reads `shared_value`, which other modules define; its own `hidden` and `step` stay its own.
const std::string kMain = kHeader + R"(
.file 1 "main.cu"
.extern .func (.param .b32 r) twice(.param .b32 x);
.extern .global .align 4 .u32 shared_value;
.extern .const .align 4 .b8 table[16];
.global .align 4 .u32 hidden = 100;
.func (.param .b32 r) step(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [x];
	add.u32 %r2, %r1, 1;
	st.param.b32 [r], %r2;
	ret;
}
.visible .entry combine(.param .u64 out)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<12>;
	.loc 1 7 1
	ld.param.u64 %rd1, [out];
	{
		.param .b32 a;
		.param .b32 b;
		st.param.b32 [a], 20;
		call.uni (b), step, (a);
		ld.param.b32 %r1, [b];
	}
	{
		.param .b32 a;
		.param .b32 b;
		st.param.b32 [a], %r1;
		call.uni (b), twice, (a);
		ld.param.b32 %r2, [b];
	}
	ld.global.u32 %r3, [shared_value];
	ld.global.u32 %r4, [hidden];
	ld.const.u32 %r5, [table+8];
	st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};
	ret;
}
)";

const std::string kLibrary = kHeader + R"(
.file 1 "library.cu"
.visible .global .align 4 .u32 shared_value = 5;
.visible .const .align 4 .b8 table[16] = {1,0,0,0, 2,0,0,0, 3,0,0,0, 4,0,0,0};
.global .align 4 .u32 hidden = 2;
.global .align 8 .u64 where_hidden = hidden;
.func (.param .b32 r) step(.param .b32 x)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<2>;
	ld.param.u32 %r1, [x];
	ld.global.u64 %rd1, [where_hidden];
	ld.global.u32 %r2, [%rd1];
	mul.lo.u32 %r3, %r1, %r2;
	st.param.b32 [r], %r3;
	ret;
}
.visible .func (.param .b32 r) twice(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [x];
	{
		.param .b32 a;
		.param .b32 b;
		st.param.b32 [a], %r1;
		call.uni (b), step, (a);
		ld.param.b32 %r2, [b];
	}
	st.param.b32 [r], %r2;
	ret;
}
)";

const std::vector<std::uint32_t> kCombined = {42, 5, 100, 3};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class Link : public testing::Test {
 protected:
  Device device = Device::open("cpu", {.threads = 1});

  std::vector<std::uint32_t> run(const Module& module, const char* kernel = "combine") {
    DeviceArray<std::uint32_t> out(device, 4);
    module.kernel(kernel).launch({1, 1}, out);
    return out.to_vector();
  }

  // The error of linking these texts, named a.ptx, b.ptx and so on.
  std::string failure(const std::vector<std::string>& texts, int id) {
    Linker linker(device);
    char name[] = "a.ptx";
    for (const std::string& text : texts) {
      linker.add_ptx(kHeader + text, name);
      ++name[0];
    }
    try {
      (void)linker.load();
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), id) << error.what();
      EXPECT_FALSE(error.remedy().empty());
      return error.what();
    }
    ADD_FAILURE() << "it links";
    return "";
  }
};

testing::AssertionResult holds(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << part << "\" in:\n" << text;
}

TEST_F(Link, DeclarationsMeetDefinitionsAndInternalNamesStayApart) {
  for (const bool library_first : {false, true}) {
    Linker linker(device);
    if (library_first) linker.add_ptx(kLibrary, "library.ptx");
    linker.add_ptx(kMain, "main.ptx");
    if (!library_first) linker.add_ptx(kLibrary, "library.ptx");
    const Module module = linker.load();
    EXPECT_EQ(run(module), kCombined);
    EXPECT_EQ(module.global<std::uint32_t>("shared_value").get(), 5u);
    // The same as text.
    const std::string text = linker.ptx();
    EXPECT_EQ(run(device.load_ptx(text)), kCombined) << text;
  }
}

TEST_F(Link, CompiledSources) {
  const CompileOptions options{.arguments = {"-fgpu-rdc"}};
  const std::string main = compile_to_ptx(R"(
      extern __device__ unsigned total;
      __device__ unsigned weigh(unsigned x);
      static __device__ __noinline__ unsigned local(unsigned x) { return x + 1; }
      __global__ void kernel(unsigned* out) { out[threadIdx.x] = weigh(local(threadIdx.x)); atomicAdd(&total, 1u); }
  )",
                                          options, "main.cu");
  const std::string library = compile_to_ptx(R"(
      __device__ unsigned total = 1000;
      static __device__ __noinline__ unsigned local(unsigned x) { return x * 10; }
      __device__ __noinline__ unsigned weigh(unsigned x) { return local(x) + 7; }
  )",
                                             options, "library.cu");
  // [link]
  Linker linker(device);
  const Module module = linker.add_ptx(main, "main.ptx").add_ptx(library, "library.ptx").load();
  // [/link]
  DeviceArray<std::uint32_t> out(device, 4);
  module.kernel("kernel").launch({1, 4}, out);
  EXPECT_EQ(out.to_vector(), (std::vector<std::uint32_t>{17, 27, 37, 47}));
  EXPECT_EQ(module.global<std::uint32_t>("total").get(), 1004u);
}

TEST_F(Link, OfWeakAndCommonDefinitionsOneStands) {
  const std::string weak = ".weak .global .align 4 .u32 value = 1;\n.common .global .align 4 .b8 buffer[8];\n";
  const std::string strong = ".visible .global .align 4 .u32 value = 2;\n.common .global .align 4 .b8 buffer[64];\n";
  const std::string kernel = ".visible .entry k() { ret; }\n.extern .global .align 4 .u32 value;\n";
  for (const auto& texts : {std::vector{kernel, weak, strong}, {strong, weak, kernel}, {weak, kernel, strong}}) {
    Linker linker(device);
    for (const std::string& text : texts) linker.add_ptx(kHeader + text);
    const Module module = linker.load();
    EXPECT_EQ(module.global<std::uint32_t>("value").get(), 2u);
    EXPECT_EQ(module.global<std::uint8_t>("buffer").size(), 64u);
  }
  Linker twice(device);
  const Module module = twice.add_ptx(kHeader + weak).add_ptx(kHeader + weak).load();
  EXPECT_EQ(module.global<std::uint32_t>("value").get(), 1u);
}

TEST_F(Link, WeakFunctionsOfTemplatesExistOnce) {
  const auto unit = [](const char* kernel, int value) {
    return kHeader + ".weak .func (.param .b32 r) f() { st.param.b32 [r], " + std::to_string(value) +
           "; ret; }\n.visible .entry " + kernel +
           "(.param .u64 out) { .reg .b64 %rd1; .reg .b32 %r1; ld.param.u64 %rd1, [out];\n"
           "{ .param .b32 b; call.uni (b), f, (); ld.param.b32 %r1, [b]; }\n"
           "st.global.u32 [%rd1], %r1; ret; }\n";
  };
  Linker linker(device);
  const Module module = linker.add_ptx(unit("one", 11)).add_ptx(unit("two", 11)).load();
  EXPECT_EQ(run(module, "one")[0], 11u);
  EXPECT_EQ(run(module, "two")[0], 11u);
}

TEST_F(Link, AnAliasStandsForItsFunction) {
  const std::string text = kHeader + R"(
.visible .func (.param .b32 r) real(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [x];
	add.u32 %r2, %r1, 2;
	st.param.b32 [r], %r2;
	ret;
}
.visible .func (.param .b32 r) other(.param .b32 x);
.alias other, real;
)";
  const std::string kernel = kHeader + R"(
.extern .func (.param .b32 r) other(.param .b32 x);
.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd1;
	.reg .b32 %r1;
	ld.param.u64 %rd1, [out];
	{
		.param .b32 a;
		.param .b32 b;
		st.param.b32 [a], 40;
		call.uni (b), other, (a);
		ld.param.b32 %r1, [b];
	}
	st.global.u32 [%rd1], %r1;
	ret;
}
)";
  Linker linker(device);
  linker.add_ptx(kernel).add_ptx(text);
  EXPECT_EQ(run(linker.load(), "k")[0], 42u);
  EXPECT_EQ(run(device.load_ptx(linker.ptx()), "k")[0], 42u);
}

TEST_F(Link, FunctionsOfTheDeviceNeedNoDefinition) {
  Linker linker(device);
  linker.add_ptx(kHeader +
                 ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n"
                 ".visible .entry k() { ret; }\n");
  linker.add_ptx(kHeader +
                 ".extern .shared .align 16 .b8 dynamic[];\n.extern .func (.param .b32 r) vprintf(.param "
                 ".b64 f, .param .b64 v);\n");
  EXPECT_EQ(linker.load().kernel_names(), std::vector<std::string>{"k"});
}

TEST_F(Link, TwoDefinitionsAreAnError) {
  const std::string text =
      failure({".visible .global .align 4 .u32 value;\n", "\n\n.visible .global .align 4 .u32 value;\n"},
              error_id::duplicate_symbol);
  EXPECT_TRUE(holds(text, "'value' is defined twice, here and in a.ptx:4"));
  EXPECT_TRUE(holds(text, "b.ptx:6"));
  EXPECT_TRUE(
      holds(failure({".visible .func f() { ret; }\n", ".visible .func f() { ret; }\n"}, error_id::duplicate_symbol),
            "'f' is defined twice"));
  EXPECT_TRUE(holds(failure({".entry k() { ret; }\n", ".visible .entry k() { ret; }\n"}, error_id::duplicate_symbol),
                    "'k' is defined twice"));
}

TEST_F(Link, WhatNothingDefinesIsAnError) {
  const std::string text =
      failure({".entry k() { ret; }\n", ".extern .func lost(.param .b32 x);\n"}, error_id::unresolved_symbol);
  EXPECT_TRUE(holds(text, "function 'lost' is declared, and no module defines it"));
  EXPECT_TRUE(holds(text, "b.ptx:4"));
  EXPECT_TRUE(
      holds(failure({".extern .global .align 4 .u32 gone;\n"}, error_id::unresolved_symbol), "variable 'gone'"));
}

TEST_F(Link, DeclarationsThatDifferAreAnError) {
  const auto mismatch = [&](const std::string& a, const std::string& b) {
    return failure({a, b}, error_id::symbol_mismatch);
  };
  EXPECT_TRUE(
      holds(mismatch(".extern .global .align 4 .u32 x;\n", ".visible .const .align 4 .u32 x;\n"), "state space"));
  EXPECT_TRUE(holds(mismatch(".extern .global .align 4 .b8 x[8];\n", ".visible .global .align 4 .b8 x[4];\n"),
                    "has 4 bytes here and 8 in a.ptx:4"));
  EXPECT_TRUE(holds(mismatch(".extern .global .align 4 .u32 x;\n", ".visible .func x() { ret; }\n"),
                    "is a function here and a variable in"));
  EXPECT_TRUE(holds(mismatch(".extern .func f(.param .b32 a);\n", ".visible .func f(.param .b64 a) { ret; }\n"),
                    "has other parameters"));
  EXPECT_TRUE(holds(mismatch(".extern .func f(.param .b32 a);\n", ".visible .entry f(.param .b32 a) { ret; }\n"),
                    "is a kernel here"));
}

TEST_F(Link, MessagesNameTheTextAndItsLine) {
  Linker linker(device);
  linker.add_ptx(kMain, "main.ptx");
  linker.add_ptx(kLibrary + ".visible .entry broken()\n{\n\tfrobnicate.u32 1;\n\tret;\n}\n", "library.ptx");
  const Module module = linker.load();
  EXPECT_EQ(run(module), kCombined);
  try {
    module.kernel("broken").launch({1, 1});
    FAIL() << "it runs";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::ptx_unknown_instruction);
    const auto line = 3 + std::count(kLibrary.begin(), kLibrary.end(), '\n');
    EXPECT_TRUE(holds(error.what(), "library.ptx:" + std::to_string(line) + ":2"));
    EXPECT_TRUE(holds(error.what(), "kernel 'broken'"));
  }
}

TEST_F(Link, VariablesOfBodiesStayApart) {
  // Internal functions of the same name, each with a variable of the same name whose address it initialises another
  // with.
  const auto unit = [](const std::string& visible, const std::string& start) {
    return kHeader + ".global .u32 step$count = 1;\n.func (.reg .u32 r) step()\n{\n.global .u32 count = " + start +
           ";\n.const .u64 where = count;\n.reg .u64 p;\nld.const.u64 p, [where];\n"
           "atom.global.add.u32 r, [p], 1;\nld.global.u32 r, [count];\nret;\n}\n.visible .func (.reg .u32 r) " +
           visible + "()\n{\ncall (r), step, ();\nret;\n}\n";
  };
  Linker linker(device);
  linker.add_ptx(unit("first", "10"), "a.ptx");
  linker.add_ptx(unit("second", "20"), "b.ptx");
  linker.add_ptx(kHeader +
                     ".extern .func (.reg .u32 r) first();\n.extern .func (.reg .u32 r) second();\n"
                     ".visible .entry combine(.param .u64 out)\n{\n.reg .u64 p;\n.reg .u32 a, b, c, d;\n"
                     "ld.param.u64 p, [out];\ncall (a), first, ();\ncall (b), second, ();\ncall (c), first, ();\n"
                     "call (d), second, ();\nst.global.v4.u32 [p], {a, b, c, d};\nret;\n}\n",
                 "c.ptx");
  EXPECT_EQ(run(linker.load()), (std::vector<std::uint32_t>{11, 21, 12, 22}));
}

TEST_F(Link, NamesOfAnotherModuleNeedADeclaration) {
  Linker linker(device);
  linker.add_ptx(kHeader + ".visible .entry k() { .reg .b32 %r1; ld.global.u32 %r1, [shared_value]; ret; }\n", "a.ptx");
  linker.add_ptx(kLibrary, "b.ptx");
  const Module module = linker.load();
  EXPECT_THROW(module.kernel("k").launch({1, 1}), Error);
}

TEST_F(Link, TheLinkerSaysWhenThereIsNothing) {
  Linker linker(device);
  EXPECT_THROW((void)linker.load(), Error);
  Linker moved = std::move(linker);
  EXPECT_THROW((void)linker.load(), Error);  // NOLINT: what a moved-from handle does is part of the interface
  EXPECT_THROW(moved.add_file("/no/such/file"), Error);
  EXPECT_THROW(moved.add_image(bytes_of("int main() {}")), Error);
}

TEST_F(Link, PtxOfALaterVersionRunsAsFarAsItIsKnown) {
  const Module module = device.load_ptx(
      ".version 9.9\n.target sm_140\n.address_size 64\n.warpspeed 9;\n"
      ".visible .entry known(.param .u64 out) { .reg .b64 %rd1; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], 5; "
      "ret; }\n"
      ".visible .entry unknown() { .reg .b32 %r1; hyperadd.s32 %r1, %r1, %r1; ret; }\n",
      "later.ptx");
  EXPECT_EQ(run(module, "known")[0], 5u);
  try {
    module.kernel("unknown").launch({1, 1});
    FAIL() << "it runs";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::ptx_unknown_instruction);
    EXPECT_TRUE(holds(error.what(), "later.ptx:6:44"));
    EXPECT_TRUE(holds(error.what(), "the text is PTX 9.9"));
  }
}

// ---- images ----

FatbinEntry ptx_entry(const std::string& text, Packing packing = Packing::zstd, std::uint32_t arch = 80) {
  FatbinEntry entry;
  entry.arch = arch;
  entry.contents = text;
  entry.packing = packing;
  return entry;
}

int image_failure(const Device& device, const std::string& bytes, std::string* text = nullptr) {
  try {
    (void)device.load_image(bytes_of(bytes), "image");
  } catch (const Error& error) {
    if (text != nullptr) *text = error.what();
    return error.id();
  }
  return 0;
}

TEST_F(Link, AFatbinIsLoaded) {
  for (const Packing packing : {Packing::raw, Packing::lz4, Packing::zstd}) {
    const std::string image = fatbin({ptx_entry(small_ptx("k", "sm_75", 75), packing, 75),
                                      ptx_entry(small_ptx("k", "sm_80", 80), packing, 80),
                                      ptx_entry(small_ptx("k", "sm_120", 120), packing, 120)});
    EXPECT_EQ(run(device.load_image(bytes_of(image)), "k")[0], 80u);
    const Device older = Device::open("cpu", {.threads = 1, .profile = "t4"});
    DeviceArray<std::uint32_t> out(older, 4);
    older.load_image(bytes_of(image)).kernel("k").launch({1, 1}, out);
    EXPECT_EQ(out.to_vector()[0], 75u);
  }
  EXPECT_EQ(run(device.load_image(bytes_of(small_ptx("k"))), "k")[0], 1u);
}

TEST_F(Link, ImagesThatCannotBeLoadedSayWhy) {
  FatbinEntry machine;
  machine.kind = 2;
  machine.contents = cubin({"_Z5scalePfi"}, 80);
  std::string text;
  EXPECT_EQ(image_failure(device, fatbin({machine}), &text), error_id::no_ptx);
  EXPECT_TRUE(holds(text, "there is no PTX for sm_90 with kernel scale(float*, int) in this image, only machine code"));
  EXPECT_TRUE(holds(text, "-gencode arch=compute_90,code=compute_90"));
  EXPECT_EQ(image_failure(device, fatbin({ptx_entry(small_ptx("k", "sm_120"), Packing::raw, 120)}), &text),
            error_id::no_ptx);
  EXPECT_EQ(image_failure(device, elf({})), error_id::no_ptx);
  const std::string good = fatbin({ptx_entry(small_ptx("k"))});
  EXPECT_EQ(image_failure(device, good.substr(0, good.size() - 1)), error_id::invalid_image);
  EXPECT_EQ(image_failure(device, good + good), error_id::invalid_value);
  EXPECT_EQ(image_failure(device, good), 0);
  FatbinEntry damaged = ptx_entry(small_ptx("k"), Packing::lz4);
  std::string bytes = fatbin({damaged});
  bytes[16 + 64] = '\xff';
  EXPECT_EQ(image_failure(device, bytes, &text), error_id::invalid_image);
}

TEST_F(Link, AProgramsModulesAreLoadedAndItsRelocatableUnitsLinked) {
  FatbinEntry linked_code;
  linked_code.kind = 2;
  linked_code.contents = cubin({"combine"}, 80);
  FatbinEntry empty = linked_code;
  empty.contents = cubin({}, 80);
  const std::string program = elf(
      {{".nv_fatbin", fatbin({empty}) + fatbin({ptx_entry(small_ptx("plain", "sm_80", 9))}) + fatbin({linked_code})},
       {"__nv_relfatbin", fatbin({ptx_entry(kMain)}) + fatbin({ptx_entry(kLibrary, Packing::lz4)})}});
  const auto path = std::filesystem::temp_directory_path() / ("warploom-program-" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary) << program;
  const std::vector<Module> modules = device.load_images_file(path.string());
  const ScanReport report = scan(path.string());
  Linker linker(device);
  const Module all = linker.add_file(path.string()).load();
  std::filesystem::remove(path);
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(run(modules[0], "plain")[0], 9u);
  EXPECT_EQ(run(modules[1]), kCombined);
  EXPECT_EQ(run(all), kCombined);
  EXPECT_EQ(run(all, "plain")[0], 9u);
  EXPECT_TRUE(report.runs());
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(report.kernels[1].name, "combine");
}

TEST_F(Link, AProgramThatLacksADefinitionIsScannedWithTheReason) {
  const std::string program = elf({{"__nv_relfatbin", fatbin({ptx_entry(kMain)})}});
  const auto path = std::filesystem::temp_directory_path() / ("warploom-lacking-" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary) << program;
  const ScanReport report = scan(path.string());
  std::filesystem::remove(path);
  EXPECT_FALSE(report.runs());
  ASSERT_EQ(report.units.size(), 1u);
  EXPECT_TRUE(holds(report.units[0].error, "no module defines it"));
}

}  // namespace
}  // namespace warploom::test
