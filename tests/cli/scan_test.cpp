// The command `warploom scan` on files of every form: text, JSON, exit status.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "shell.hpp"
#include "writer.hpp"

namespace warploom::test {
namespace {

// Scans contents that stand in a file of their own.
Outcome scan(const std::string& contents, const std::string& options = "") {
  const auto file = std::filesystem::temp_directory_path() / ("warploom-scan-" + std::to_string(getpid()));
  std::ofstream(file, std::ios::binary) << contents;
  Outcome outcome = shell(std::string(WARPLOOM_CLI) + " scan " + options + " " + file.string());
  std::filesystem::remove(file);
  return outcome;
}

testing::AssertionResult holds(const Outcome& outcome, const std::string& text) {
  if (outcome.text.find(text) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << text << "\" in:\n" << outcome.text;
}

std::string body(const std::string& statements) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"/src/kernels.cu\"\n.visible .entry "
         "_Z5scalePfi(.param .u64 a)\n{\n" +
         statements + "\tret;\n}\n";
}

FatbinEntry machine_code(const std::vector<std::string>& kernels, std::uint32_t arch) {
  FatbinEntry entry;
  entry.kind = 2;
  entry.arch = arch;
  entry.contents = cubin(kernels, arch);
  return entry;
}

FatbinEntry ptx(const std::string& text, Packing packing = Packing::zstd, std::uint32_t arch = 80) {
  FatbinEntry entry;
  entry.arch = arch;
  entry.contents = text;
  entry.packing = packing;
  return entry;
}

TEST(Scan, AProgramWhoseKernelsRun) {
  const std::string code =
      fatbin({machine_code({"first"}, 80), ptx(small_ptx("first"))}) + fatbin({ptx(small_ptx("second"), Packing::lz4)});
  const Outcome outcome = scan(elf({{".nv_fatbin", code}}));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_TRUE(holds(outcome, "program with 2 units of device code, 2 kernels"));
  EXPECT_TRUE(holds(outcome, "machine code for sm_80, PTX 8.0 for sm_80 (zstd) <- taken"));
  EXPECT_TRUE(holds(outcome, "runs      first  (3 instructions)"));
  EXPECT_TRUE(holds(outcome, "2 of 2 kernels will run"));
  EXPECT_EQ(scan(elf({{".nv_fatbin", code}}), "--brief").text.find("runs "), std::string::npos);
}

TEST(Scan, WhatIsNotSupportedIsCountedWithItsFirstLine) {
  // Multicast objects span several GPUs.
  const std::string text = body(
      "\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<3>;\n\t.loc 1 12 3\n"
      "\tmultimem.red.relaxed.sys.global.add.u32 [%rd1], %r1;\n"
      "\tmultimem.red.relaxed.sys.global.add.u32 [%rd1], %r2;\n");
  const Outcome outcome = scan(text);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(holds(outcome, "refused   scale(float*, int)"));
  EXPECT_TRUE(holds(outcome, "2 x multimem.red.relaxed.sys.global.add.u32: "));
  EXPECT_TRUE(holds(outcome, "first in line 10 (kernels.cu:12)"));
  EXPECT_TRUE(holds(outcome, "2 places in 1 kernel"));
  EXPECT_TRUE(holds(outcome, "0 of 1 kernel will run"));
}

TEST(Scan, EveryMistakeOfABodyIsReported) {
  const std::string text = body(
      "\t.reg .b32 %r<3>;\n"
      "\tadd.s32 %r1, %r2, %r7;\n"
      "\taddd.s32 %r1, %r2, %r1;\n"
      "\t{ .reg .f32 %f1; mul.s32 %r1, %r2, %r1; }\n"
      "\tbra nowhere;\n");
  const Outcome outcome = scan(text);
  EXPECT_EQ(outcome.code, 1);
  for (const char* part :
       {"register '%r7' is not declared; line 8", "declared are %r0 to %r2", "unknown instruction 'addd.s32'; line 9",
        "did you mean 'add.s32'?", "mul.s32", "line 10", "label 'nowhere' is not defined; line 11"})
    EXPECT_TRUE(holds(outcome, part));
}

TEST(Scan, MachineCodeWithoutPtxIsNamed) {
  const Outcome none = scan(fatbin({machine_code({"_Z5scalePfi"}, 80)}));
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(holds(none, "refused   scale(float*, int)"));
  EXPECT_TRUE(holds(none, "machine code of a GPU only, no PTX"));
  EXPECT_TRUE(holds(none, "-gencode arch=compute_80,code=compute_80"));
  const Outcome newer = scan(fatbin({machine_code({"k"}, 120), ptx(small_ptx("k", "sm_120"), Packing::raw, 120)}));
  EXPECT_EQ(newer.code, 1);
  EXPECT_TRUE(holds(newer, "there is no PTX for sm_90"));
}

TEST(Scan, LtoIrAloneIsNamed) {
  FatbinEntry lto;
  lto.kind = 8;
  lto.contents = "scrambled";
  const Outcome outcome = scan(elf({{"__nv_relfatbin", fatbin({lto})}}, {1, 62, 0, 0}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(holds(outcome, "there is LTO-IR only"));
  EXPECT_TRUE(holds(outcome, "LTO-IR for sm_80"));
}

TEST(Scan, FunctionsThatAreCalledCount) {
  const std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".func helper() { .reg .b32 %r<2>; unheard.of %r1; ret; }\n"
      ".visible .entry k() { call.uni helper, (); ret; }\n"
      ".visible .entry clean() { ret; }\n"
      ".visible .entry lost() { call.uni elsewhere, (); ret; }\n"
      ".extern .func elsewhere();\n";
  const Outcome outcome = scan(text);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(holds(outcome, "unknown instruction 'unheard.of'; line 4"));
  EXPECT_TRUE(holds(outcome, "runs      clean"));
  EXPECT_TRUE(holds(outcome, "refused   lost"));
}

TEST(Scan, PtxOfALaterVersionSaysWhatStillWorks) {
  const Outcome outcome = scan(
      ".version 9.9\n.target sm_140\n.address_size 64\n.warpspeed 9;\n"
      ".visible .entry known() { ret; }\n"
      ".visible .entry unknown() { .reg .b32 %r1; hyperadd.s32 %r1, %r1, %r1; ret; }\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(holds(outcome, "the text is PTX 9.9"));
  EXPECT_TRUE(holds(outcome, "1 of 2 kernels use nothing that is not known; .warpspeed of line 4 is left out"));
  EXPECT_TRUE(holds(outcome, "runs      known"));
  EXPECT_TRUE(holds(outcome, "unknown instruction 'hyperadd.s32'; line 6"));
}

TEST(Scan, Json) {
  const Outcome outcome = scan(fatbin({machine_code({"k"}, 80), ptx(small_ptx("k"))}), "--json --gpu a100");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const auto report = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(report["schema"], "warploom-scan-1");
  EXPECT_EQ(report["format"], "fatbin");
  EXPECT_EQ(report["device"], "a100");
  EXPECT_EQ(report["runs"], true);
  ASSERT_EQ(report["units"].size(), 1u);
  const auto& codes = report["units"][0]["codes"];
  ASSERT_EQ(codes.size(), 2u);
  EXPECT_EQ(codes[0]["kind"], "machine code");
  EXPECT_EQ(codes[0]["chosen"], false);
  EXPECT_EQ(codes[1]["compression"], "zstd");
  EXPECT_EQ(codes[1]["chosen"], true);
  ASSERT_EQ(report["kernels"].size(), 1u);
  EXPECT_EQ(report["kernels"][0]["name"], "k");
  EXPECT_EQ(report["kernels"][0]["instructions"], 3);
  EXPECT_TRUE(report["kernels"][0]["refusals"].empty());
}

TEST(Scan, FilesThatCannotBeRead) {
  EXPECT_EQ(shell(std::string(WARPLOOM_CLI) + " scan").code, 2);
  const Outcome missing = shell(std::string(WARPLOOM_CLI) + " scan /no/such/file");
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(holds(missing, "cannot read \"/no/such/file\""));
  const Outcome text = scan("int main() {}");
  EXPECT_EQ(text.code, 2);
  EXPECT_TRUE(holds(text, "this is no PTX text, fatbin"));
  const std::string whole = fatbin({ptx(small_ptx("k"))});
  const Outcome cut = scan(whole.substr(0, whole.size() - 8));
  EXPECT_EQ(cut.code, 2);
  EXPECT_TRUE(holds(cut, "cut short or damaged"));
  const Outcome nothing = scan(elf({{".text", "x"}}));
  EXPECT_EQ(nothing.code, 3);
  EXPECT_TRUE(holds(nothing, "no kernels"));
  const Outcome broken = scan(fatbin({ptx(".version 8.0\n.target sm_80\n.entri k() { ret; }\n")}));
  EXPECT_EQ(broken.code, 1);
  EXPECT_TRUE(holds(broken, "unknown directive '.entri'"));
}

}  // namespace
}  // namespace warploom::test
