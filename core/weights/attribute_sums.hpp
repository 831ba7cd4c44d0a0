// The other direction: what each attribute gets from the sites it stands at, block of examples by block of examples.
//
//   gradient[k] += sum over sites s of attribute a in the block of value · residual[s, label of k]
//
// A block has few enough sites for their residuals to stay in a cache while its attributes pick from them.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "weights/layout.hpp"

namespace trellis {

template <class Real>
class AttributeSums {
 public:
  AttributeSums(const Layout& layout, const Sites& at, const std::int64_t* starts, std::size_t n_examples,
                std::size_t block_sites)
      : layout_(layout), stride_(padded(layout.n_labels)), examples_(1, 0) {
    for (std::size_t s = 0; s < n_examples; ++s)
      if (s + 1 == n_examples || static_cast<std::size_t>(starts[s + 1] - starts[examples_.back()]) >= block_sites)
        examples_.push_back(s + 1);
    index(at, starts, n_examples ? starts[n_examples] : 0);
  }

  std::size_t n_blocks() const { return examples_.size() - 1; }
  std::size_t first_example(std::size_t block) const { return examples_[block]; }
  // Pieces of a block that may be summed at the same time.
  std::size_t n_pieces(std::size_t block) const { return blocks_[block].cuts.size() - 1; }

  // `residual` [sites of the block, stride]; `light` is a row of light weights: each of its labels is summed alone.
  template <class Light>
  TRELLIS_INLINE void sum(std::size_t block, std::size_t piece, const Real* residual, Light light, double* sums,
                          double* gradient) const {
    const Block& b = blocks_[block];
    for (std::uint32_t e = b.cuts[piece]; e < b.cuts[piece + 1]; ++e) {
      const std::uint32_t a = b.entries[e].attribute, first = b.entries[e].first, last = b.entries[e + 1].first;
      const std::uint32_t begin = layout_.row_starts[a], end = layout_.row_starts[a + 1];
      if (light(a)) {
        for (std::uint32_t s = begin; s < end; ++s) {
          const Real* column = residual + layout_.row_labels[s];
          double sum = 0;
          for (std::uint32_t i = first; i < last; ++i) {
            const double r = column[b.sites[i] * stride_];
            sum += b.values.empty() ? r : r * b.values[i];
          }
          gradient[s] += sum;
        }
      } else {
        sum_rows(b, first, last, residual, sums);
        for (std::uint32_t s = begin; s < end; ++s) gradient[s] += sums[layout_.row_labels[s]];
      }
    }
  }

 private:
  struct Entry {
    std::uint32_t attribute, first;  // its sites are [first, that of the next entry)
  };
  struct Block {
    std::vector<Entry> entries;         // ascending; the last only ends the one before it
    std::vector<std::uint32_t> sites;   // counted from the first of the block
    std::vector<float> values;          // as long, or empty where all are one
    std::vector<std::uint32_t> cuts;    // entries at which pieces begin, and the end
    std::uint32_t first_site = 0, cut = 0;

    void add(std::uint32_t attribute, std::uint32_t site, const float* value) {
      constexpr std::uint32_t kPiece = 4096;  // items
      const auto n = static_cast<std::uint32_t>(sites.size());
      if (entries.empty() || entries.back().attribute != attribute) {
        if (cuts.empty() || n - cut >= kPiece) cuts.push_back(static_cast<std::uint32_t>(entries.size())), cut = n;
        entries.push_back({attribute, n});
      }
      sites.push_back(site - first_site);
      if (value) values.push_back(*value);
    }
    void end() {
      cuts.push_back(static_cast<std::uint32_t>(entries.size()));
      entries.push_back({0, static_cast<std::uint32_t>(sites.size())});
      entries.shrink_to_fit();
    }
  };

  // sums[z] = sum_i value_i · residual[site_i, z]; some sites at a time in Real, those sums in double
  TRELLIS_INLINE void sum_rows(const Block& b, std::uint32_t first, std::uint32_t last, const Real* residual,
                               double* sums) const {
    constexpr std::uint32_t kSome = 32;
    std::fill_n(sums, stride_, 0.0);
    for (std::uint32_t i = first; i < last; i += kSome)
      each_block<Real>(stride_, [&](auto chunks, std::size_t z) TRELLIS_INLINE_LAMBDA {
        Vector<Real> some[chunks] = {};
        for (std::uint32_t j = i; j < std::min(last, i + kSome); ++j) {
          const Real* row = residual + b.sites[j] * stride_ + z;
          for (std::size_t c = 0; c < chunks; ++c) {
            const Vector<Real>& part = lanes(row + c * kLanes<Real>);
            some[c] += b.values.empty() ? part : static_cast<Real>(b.values[j]) * part;
          }
        }
        for (std::size_t c = 0; c < chunks; ++c) add_lanes(some[c], sums + z + c * kLanes<Real>);
      });
  }

  // All items by attribute and then by site, by counting; then each goes to the block of its site.
  void index(const Sites& at, const std::int64_t* starts, std::size_t n_sites) {
    const std::int64_t n_items = n_sites ? at.starts[n_sites] : 0;
    std::vector<std::int64_t> next(layout_.n_attributes + 1, 0);
    for (std::int64_t i = 0; i < n_items; ++i) ++next[at.ids[i] + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::uint32_t> sites(n_items);
    std::vector<float> values(at.values ? n_items : 0);
    for (std::size_t s = 0; s < n_sites; ++s)
      for (std::int64_t i = at.starts[s]; i < at.starts[s + 1]; ++i) {
        const std::int64_t place = next[at.ids[i]]++;  // so that next[a] ends where the items of a end
        sites[place] = static_cast<std::uint32_t>(s);
        if (at.values) values[place] = at.values[i];
      }
    blocks_.resize(n_blocks());
    std::vector<std::uint32_t> block_of(n_sites);
    for (std::size_t b = 0; b < n_blocks(); ++b) {
      const std::int64_t begin = starts[examples_[b]], end = starts[examples_[b + 1]];
      std::fill(block_of.begin() + begin, block_of.begin() + end, static_cast<std::uint32_t>(b));
      blocks_[b].first_site = static_cast<std::uint32_t>(begin);
      blocks_[b].sites.reserve(at.starts[end] - at.starts[begin]);
    }
    std::int64_t i = 0;
    for (std::size_t a = 0; a < layout_.n_attributes; ++a)
      for (; i < next[a]; ++i) blocks_[block_of[sites[i]]].add(static_cast<std::uint32_t>(a), sites[i], at.values ? &values[i] : nullptr);
    for (Block& b : blocks_) b.end();
  }

  const Layout layout_;
  const std::size_t stride_;
  std::vector<std::size_t> examples_;  // [n_blocks + 1] where blocks begin
  std::vector<Block> blocks_;
};

}  // namespace trellis
