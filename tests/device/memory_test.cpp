// Shared, local, constant, global and generic memory, and what happens outside of them.
#include "device_test.hpp"

#include <cstring>

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Memory, "memory.cu");

std::vector<int> reversed_in_blocks(const std::vector<int>& in, int block) {
  return expected<int>(static_cast<int>(in.size()),
                       [&](int i) { return in[static_cast<std::size_t>(i / block * block + block - 1 - i % block)]; });
}

TEST_P(Memory, StaticShared) {
  const std::vector<int> in = counting(96 * 5);
  const auto device_in = array(in);
  DeviceArray<int> out(device, in.size());
  kernel("reverse_static").launch({5, 96}, device_in, out);
  EXPECT_EQ(out.to_vector(), reversed_in_blocks(in, 96));
}

TEST_P(Memory, DynamicShared) {
  const std::vector<int> in = counting(1000 * 2, -7);
  const auto device_in = array(in);
  DeviceArray<int> out(device, in.size());
  kernel("reverse_dynamic").launch({2, 1000, 4000}, device_in, out);
  EXPECT_EQ(out.to_vector(), reversed_in_blocks(in, 1000));
}

TEST_P(Memory, DynamicSharedArraysAlias) {
  DeviceArray<int> out(device, 32);
  kernel("dynamic_arrays_alias").launch({1, 32, 64}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(32, [](int i) { return (i & 1) ? 0x3ff00000 : 0; }));
}

TEST_P(Memory, StaticAndDynamicSharedAreApart) {
  DeviceArray<int> out(device, 64);
  kernel("static_and_dynamic").launch({1, 64, 256}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(64, [](int i) { return (63 - i) * 10000 + 1063 - i; }));
}

TEST_P(Memory, ConstantsCanBeSet) {
  const auto table = module.global<int>("constant_table");
  ASSERT_EQ(table.size(), 64u);
  table.copy_from(counting(64, 500));
  DeviceArray<int> out(device, 128);
  kernel("constants").launch({2, 64}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(128, [](int i) { return 500 + i % 64 + 505; }));
}

TEST_P(Memory, GlobalVariablesKeepTheirValues) {
  const int initial[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  DeviceArray<int> out(device, 64);
  kernel("globals").launch({1, 64}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(64, [&](int i) { return initial[i % 8] + 5; }));
  module.global<double>("global_double").set(10.0);
  kernel("globals").launch({1, 64}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(64, [&](int i) { return -(i % 8) + 20; }));
  EXPECT_EQ(module.global<unsigned>("counter").get(), 128u);
}

TEST_P(Memory, LocalArrayWithDynamicIndex) {
  const std::vector<std::uint32_t> words = random_words(64);
  const std::vector<int> index(words.begin(), words.end());
  const auto device_index = array(index);
  DeviceArray<int> out(device, 128);
  kernel("local_array").launch({2, 64}, device_index, out);
  EXPECT_EQ(out.to_vector(), expected<int>(128, [&](int i) {
              std::uint32_t a[32];
              for (int k = 0; k < 32; ++k) a[k] = static_cast<std::uint32_t>(i * 100 + k);
              for (int k = 0; k < 16; ++k) {
                const int at = index[static_cast<std::size_t>((i + k) & 63)] & 31;
                a[at] += a[(at + k) & 31];
              }
              std::uint32_t sum = 0;
              for (int k = 0; k < 32; ++k) sum = sum * 31 + a[k];
              return sum;
            }));
}

TEST_P(Memory, GenericPointersFindTheirSpace) {
  module.global<int>("constant_table").copy_from(counting(64, 9000));
  auto in = array(counting(32, 40));
  DeviceArray<int> out(device, 64);
  kernel("generic_pointers").launch({1, 32}, in, out);
  EXPECT_EQ(out.to_vector(), expected<int>(64, [](int i) {
              const int t = i % 32;
              if (i >= 32) return 100 + t + ((t & 1) ? 5 : 0);
              const int local[4] = {t, 7, 8, 9};
              switch (t & 3) {
                case 0: return 100 + 31 - t;
                case 1: return 40 + t;
                case 2: return local[(40 + t) & 3];
                default: return 9000 + t;
              }
            }));
  EXPECT_EQ(in.to_vector(), expected<int>(32, [](int i) { return 40 + i + ((i & 1) ? 0 : 5); }));
}

struct Mixed {
  char c;
  short s;
  int i;
  long long l;
  float f;
  double d;
  unsigned char bytes[5];
};

TEST_P(Memory, StructuresPassByValue) {
  const Mixed m = {5, -300, 1 << 20, -7, 3.5f, 0.25, {1, 2, 3, 4, 5}};
  DeviceArray<Mixed> out(device, 32);
  kernel("struct_by_value").launch({1, 32}, m, out);
  const std::vector<Mixed> got = out.to_vector();
  for (int i = 0; i < 32; ++i) {
    const Mixed& r = got[static_cast<std::size_t>(i)];
    EXPECT_EQ(r.c, 5 + i);
    EXPECT_EQ(r.s, -300 - i);
    EXPECT_EQ(r.i, 1 << 21);
    EXPECT_EQ(r.l, (1ll << 40) - 7);
    EXPECT_EQ(r.f, 1.75f);
    EXPECT_EQ(r.d, 3.75);
    for (int k = 0; k < 5; ++k) EXPECT_EQ(r.bytes[k], k == i % 5 ? 200 + i : k + 1);
  }
}

TEST_P(Memory, EveryWidth) {
  const int n = 64;
  std::vector<signed char> c;
  std::vector<unsigned short> s;
  std::vector<float> f2;
  std::vector<int> i4;
  std::vector<double> d2;
  for (int i = 0; i < n; ++i) {
    c.push_back(static_cast<signed char>(i * 3 - 128));
    s.push_back(static_cast<unsigned short>(65535 - i * 3));
    f2.insert(f2.end(), {i * 3.0f, i * 1.0f});
    i4.insert(i4.end(), {i, -i, i * i, 7});
    d2.insert(d2.end(), {i * 0.5, 4.0});
  }
  const auto dc = array(c);
  const auto ds = array(s);
  const auto df = array(f2);
  const auto di = array(i4);
  const auto dd = array(d2);
  DeviceArray<long long> out(device, n);
  kernel("widths").launch({1, n}, dc, ds, df, di, dd, out);
  EXPECT_EQ(out.to_vector(), expected<long long>(n, [](int i) {
              return (i * 3 - 128) * 3ll + 65535 - i * 3 + i * 2 + i - 2 * i + 3 * i * i + 28 + i * 2;
            }));
}

TEST_P(Memory, VectorsMoveWhole) {
  const int n = 128;
  const std::vector<std::uint32_t> words = random_words(n * 4);
  std::vector<float> a(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) a[i] = static_cast<float>(words[i]);
  const std::vector<std::uint32_t> narrow = random_words(n, 5);
  const auto da = array(a);
  const auto dc = array(narrow);
  DeviceArray<float> b(device, n * 4);
  DeviceArray<std::uint32_t> d(device, n), f(device, n);
  kernel("copy_vectors").launch({2, 64}, da, b, dc.data(), d, dc.data(), f);
  EXPECT_EQ(b.to_vector(), a);
  EXPECT_EQ(d.to_vector(), narrow);
  EXPECT_EQ(f.to_vector(), narrow);
}

TEST_P(Memory, OneOfManyStoresWins) {
  auto out = filled<int>(1, 0);
  kernel("same_address").launch({1, 64}, out);
  const int got = out.to_vector()[0];
  EXPECT_GE(got, 1000);
  EXPECT_LT(got, 1064);
}

TEST_P(Memory, WildAddressesAreErrors) {
  const auto fails = [&](const char* what, int id, int cuda_code, auto launch) {
    try {
      launch();
      device.synchronize();
      ADD_FAILURE() << what << ": no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), id) << what << ": " << error.what();
      EXPECT_EQ(error.cuda_code(), cuda_code) << what;
      EXPECT_NE(error.message().size() + error.where().size(), 0u);
    }
    device.reset();
    reload();
  };
  {
    auto p = filled<int>(4, 0);
    int* address = p.data();
    fails("a store far away", error_id::illegal_address, 700,
          [&] { kernel("write_at").launch({1, 1}, address, 1ll << 44); });
  }
  fails("a store through null", error_id::illegal_address, 700,
        [&] { kernel("write_at").launch({1, 1}, nullptr, 0ll); });
  {
    DeviceArray<int> out(device, 1);
    fails("a load through null", error_id::illegal_address, 700,
          [&] { kernel("read_at").launch({1, 1}, nullptr, 4ll, out.data()); });
  }
  auto p = filled<int>(4, 0);
  kernel("write_at").launch({1, 1}, p.data(), 2ll);
  EXPECT_EQ(p.to_vector(), (std::vector<int>{0, 0, 1, 0})) << "after a reset the device works again";
}

}  // namespace
