// Views of any shape and strides: their arithmetic, copies between them, and views as arguments of kernels.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "warploom/warploom.hpp"

namespace warploom::test {
namespace {

template <class Statement>
int id_of(Statement statement) {
  try {
    statement();
    return 0;
  } catch (const Error& error) {
    return error.id();
  }
}

std::vector<int> counted(std::size_t n) {
  std::vector<int> out(n);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

template <unsigned Rank>
std::vector<int> listed(const ArrayView<const int, Rank>& view) {
  std::vector<int> out(static_cast<std::size_t>(view.size()));
  const Device device = Device::open();
  long long shape[Rank];
  for (unsigned i = 0; i < Rank; ++i) shape[i] = view.extent(i);
  copy(device, ArrayView<int, Rank>(out.data(), shape), view);
  return out;
}

using Ints = std::vector<int>;

TEST(Views, IndexByShapeAndStrides) {
  Ints data = counted(12);
  const ArrayView<int, 2> rows(data.data(), {3, 4});
  EXPECT_EQ(rows(1, 2), 6);
  EXPECT_EQ(rows.stride(0), 16);
  EXPECT_EQ(rows.size(), 12);
  EXPECT_TRUE(rows.is_contiguous());
  EXPECT_FALSE(rows.is_contiguous(Order::f));
  const ArrayView<int, 2> columns(data.data(), {3, 4}, Order::f);
  EXPECT_EQ(columns(1, 2), 7);
  EXPECT_TRUE(columns.is_contiguous(Order::f));
  rows(2, 3) = 40;
  EXPECT_EQ(data[11], 40);
  const ArrayView<const int, 2> reads = rows;
  EXPECT_EQ(reads(2, 3), 40);
}

TEST(Views, SliceTakeAndPermute) {
  Ints data = counted(24);
  const ArrayView<int, 3> cube(data.data(), {2, 3, 4});
  EXPECT_EQ(listed<3>(cube.slice(2, 1, 4, 2)), (Ints{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23}));
  EXPECT_EQ(listed<2>(cube.take(1, 2)), (Ints{8, 9, 10, 11, 20, 21, 22, 23}));
  EXPECT_EQ(listed<1>(cube.take(0, 1).take(0, 0).slice(0, 3, -1, -1)), (Ints{15, 14, 13, 12}));
  EXPECT_EQ(cube.transpose()(3, 1, 0), cube(0, 1, 3));
  EXPECT_EQ(cube.permute({1, 2, 0})(2, 3, 1), cube(1, 2, 3));
  EXPECT_EQ(cube.slice(0, 1, 1).size(), 0);
  EXPECT_TRUE(cube.slice(0, 1, 1).is_contiguous());
}

TEST(Views, ReshapeWithoutCopies) {
  Ints data = counted(24);
  const ArrayView<int, 2> rows(data.data(), {4, 6});
  EXPECT_EQ(reshape(rows, {2, 2, 2, 3})(1, 1, 0, 2), 20);
  EXPECT_EQ(ravel(rows)(23), 23);
  EXPECT_EQ(reshape(rows.slice(0, 0, 4, 2), {2, 2, 3})(1, 1, 1), 16);
  EXPECT_EQ(id_of([&] { (void)reshape(rows.slice(1, 0, 4), {16}); }), error_id::invalid_value);
  EXPECT_EQ(id_of([&] { (void)reshape(rows, {5, 5}); }), error_id::invalid_value);
  EXPECT_EQ(id_of([&] { (void)reshape(rows, {-4, -6}); }), error_id::invalid_value);
  EXPECT_EQ(id_of([&] { (void)ravel(rows.transpose()); }), error_id::invalid_value);
  EXPECT_EQ(ravel(rows.transpose(), Order::f)(1), 1);
  const std::vector<ArrayView<int, 1>> parts = split(ravel(rows), 10);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].extent(0), 4);
  EXPECT_EQ(parts[2](0), 20);
  EXPECT_EQ(id_of([&] { (void)split(ravel(rows), 0); }), error_id::invalid_value);
}

TEST(Views, ReachIntoRecords) {
  struct Particle {
    float x, y;
    double mass;
    char kind;
  };
  Particle particles[3] = {{1, 2, 3, 'a'}, {4, 5, 6, 'b'}, {7, 8, 9, 'c'}};
  const ArrayView<Particle, 1> all(particles, {3});
  const ArrayView<double, 1> mass = all.field(&Particle::mass);
  EXPECT_EQ(mass.stride(0), static_cast<long long>(sizeof(Particle)));
  EXPECT_EQ(mass(2), 9);
  const Device device = Device::open();
  NdArray<Particle, 1> there(device, all);
  const double heavy[] = {30, 60, 90};
  copy(device, there.view().field(&Particle::mass), ArrayView<const double, 1>(heavy, {3}));
  Particle back[3];
  there.copy_to(ArrayView<Particle, 1>(back, {3}));
  EXPECT_EQ(back[1].mass, 60);
  EXPECT_EQ(back[1].y, 5);
  EXPECT_EQ(back[2].kind, 'c');
  EXPECT_EQ(mass.as<std::int64_t>().extent(0), 3);
}

class NdArrays : public testing::Test {
 protected:
  Device device = Device::open();
  Stream stream{device};
};

TEST_F(NdArrays, CopyAnyStridesToAndFromTheDevice) {
  Ints data = counted(60), back(60, -1);
  const ArrayView<int, 3> host(data.data(), {3, 4, 5}), target(back.data(), {3, 4, 5});
  for (const bool queued : {false, true}) {
    std::fill(back.begin(), back.end(), -1);
    NdArray<int, 3> turned(device, {5, 3, 4}, Order::f);
    const ArrayView<const int, 3> source = host.permute({2, 0, 1});
    if (queued)
      turned.copy_from(source, stream);
    else
      turned.copy_from(source);
    const ArrayView<int, 3> mirrored = target.permute({2, 0, 1});
    if (queued)
      turned.copy_to(mirrored, stream);
    else
      turned.copy_to(mirrored);
    EXPECT_EQ(back, data);
  }
  NdArray<int, 2> part(device, host.take(0, 1).slice(1, 4, -1, -2));
  EXPECT_EQ(part.extent(1), 3);
  Ints small(12);
  part.copy_to(ArrayView<int, 2>(small.data(), {4, 3}));
  EXPECT_EQ(small, (Ints{24, 22, 20, 29, 27, 25, 34, 32, 30, 39, 37, 35}));
  // The order of the host's elements is kept.
  EXPECT_TRUE((NdArray<int, 2>(device, host.take(0, 0).transpose()).view().is_contiguous(Order::f)));
}

TEST_F(NdArrays, QueueLargeCopiesInOrder) {
  constexpr long long n = 300;
  Ints data = counted(n * n), back(n * n);
  NdArray<int, 2> array(device, {n, n});
  array.copy_from(ArrayView<const int, 2>(data.data(), {n, n}).transpose(), stream);
  std::fill(data.begin(), data.end(), 0);  // pageable memory has been left
  array.copy_to(ArrayView<int, 2>(back.data(), {n, n}).transpose(), stream);
  EXPECT_EQ(back, counted(n * n));
}

TEST_F(NdArrays, FillViews) {
  NdArray<int, 2> array(device, {4, 4});
  fill(device, array.view(), 1);
  fill(device, array.view().slice(0, 1, 4, 2).slice(1, 0, 2), 2);
  fill(device, stream, array.view().take(0, 0), 3);
  stream.synchronize();
  Ints back(16);
  array.copy_to(ArrayView<int, 2>(back.data(), {4, 4}));
  EXPECT_EQ(back, (Ints{3, 3, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1}));
}

TEST_F(NdArrays, RefuseWhatCannotBe) {
  NdArray<int, 2> array(device, {4, 4});
  Ints host(16);
  const ArrayView<int, 2> view(host.data(), {4, 4});
  const auto refused = [&](auto statement) { EXPECT_EQ(id_of(statement), error_id::invalid_value); };
  refused([&] { array.copy_from(view.slice(0, 0, 3)); });
  refused([&] { array.copy_to(ArrayView<int, 2>(host.data(), {4, 4}, {0, 4})); });
  refused([&] { array.copy_from(ArrayView<const int, 2>()); });
  refused([&] { copy(device, ArrayView<int, 2>(array.view().data() + 8, {4, 4}), view); });
  refused([&] {
    copy(device, ArrayView<int, 1>(array.view().data(), {2}, {1LL << 62}), ArrayView<int, 1>(host.data(), {2}));
  });
  refused([&] { copy(device, ArrayView<int, 1>(array.view().data(), {-1}), ArrayView<int, 1>(host.data(), {-1})); });
  refused([&] { NdArray<int, 2>(device, {-1, 4}); });
  EXPECT_EQ(id_of([&] { NdArray<int, 2>(device, {1LL << 62, 1LL << 62}); }), error_id::out_of_memory);
  NdArray<int, 2> none(device, {0, 1LL << 62});
  EXPECT_EQ(none.size(), 0u);
  none.copy_from(ArrayView<const int, 2>(nullptr, {0, 1LL << 62}));
}

TEST_F(NdArrays, AreArgumentsOfKernels) {
  CompileOptions options;
  options.include_dirs = {WARPLOOM_INCLUDE};
  options.arguments = {"-std=c++20"};
  // [kernel]
  const Module module = device.compile(R"(
#include "warploom/view.hpp"
using warploom::ArrayView;
extern "C" __global__ void turn(ArrayView<const int, 2> in, ArrayView<int, 2> out) {
  const int i = blockIdx.x, j = threadIdx.x;
  if (i < in.extent(0) && j < in.extent(1)) out.transpose()(i, j) = 10 * in(i, j);
}
)",
                                       options, "turn.cu");
  // [/kernel]
  const Kernel turn = module.kernel("turn");
  // [views]
  const Ints data = counted(6);
  const NdArray<int, 2> in(device, ArrayView<const int, 2>(data.data(), {2, 3})), out(device, {3, 2});
  turn.launch({2, 32}, in, out);
  Ints back(6);
  out.copy_to(ArrayView<int, 2>(back.data(), {3, 2}));
  // [/views]
  EXPECT_EQ(back, (Ints{0, 30, 10, 40, 20, 50}));
  const ArrayView<const int, 2> lower = in.view().slice(0, 1, 2);
  turn.launch({1, 32}, lower, out.view());
  out.copy_to(ArrayView<int, 2>(back.data(), {3, 2}));
  EXPECT_EQ(back[0], 30);
  const NdArray<int, 1> line(device, {3});
  EXPECT_EQ(id_of([&] { turn.launch({1, 32}, line, out); }), error_id::launch_arguments);
}

}  // namespace
}  // namespace warploom::test
