// Gradients of attributes: each attribute sums the residuals of its sites, block of examples by block of examples.
//
//   gradient[k] += sum over sites s of attribute a in the block of value · residual[s, label of k]
//
// The residuals of a block fit into a cache while its attributes gather them. If sites have lists
// of labels, each slot has its own list: the residuals of its label where that is listed; all others are zero.
#pragma once
#include <algorithm>
#include <limits>

#include "engine/fixed_point.hpp"
#include "groups.hpp"
#include "weights/layout.hpp"
#include "weights/rows.hpp"

namespace trellis {

template <class Real>
class AttributeSums {
 public:
  // A block has the examples that begin within a fixed number of sites, counted from `first_site` on. `lists`: the allowed labels
  // of each site; by default all.
  AttributeSums(const Layout& layout, const Sites& at, const std::int64_t* starts, std::size_t n_examples,
                std::size_t first_site, std::size_t block_sites, const LabelSets& lists = {}, Spill* spill = nullptr)
      : layout_(layout), lists_(lists), stride_(padded(layout.n_columns())), examples_(1, 0) {
    const auto block_of = [&](std::size_t s) { return (first_site + static_cast<std::size_t>(starts[s])) / block_sites; };
    for (std::size_t s = 0; s < n_examples; ++s)
      if (s + 1 == n_examples || block_of(s + 1) != block_of(s)) examples_.push_back(s + 1);
    blocks_.reserve(n_blocks());
    Groups<Item> items;  // of a block by attribute or slot, each in the order of its sites
    for (std::size_t b = 0; b < n_blocks(); ++b) {
      items.sort(lists.starts ? layout.row_labels.size() : layout.n_attributes, [&](auto visit) {
        each_item(at, starts[examples_[b]], starts[examples_[b + 1]], visit);
      });
      blocks_.emplace_back(items.items, at.values != nullptr, spill);
    }
  }

  std::size_t n_blocks() const { return examples_.size() - 1; }
  std::size_t first_example(std::size_t block) const { return examples_[block]; }
  // Pieces of a block that can be summed in parallel.
  std::size_t n_pieces(std::size_t block) const { return blocks_[block].cuts.size() - 1; }

  // `residual` [sites of the block, stride]; `sums` [stride] is scratch.
  TRELLIS_INLINE void sum(std::size_t block, std::size_t piece, const Real* residual, double* sums, const FixedPoint& fixed,
                          std::int64_t* gradient) const {
    const Block& b = blocks_[block];
    if (b.wide.empty()) sum_entries(b, b.narrow.data(), piece, residual, sums, fixed, gradient);
    else sum_entries(b, b.wide.data(), piece, residual, sums, fixed, gradient);
  }

 private:
  struct Item {
    std::uint32_t attribute, site;  // relative to the first of the block; with lists a slot, and the index of a residual
    float value;
  };
  struct Cut {
    std::uint32_t entry, item;  // start of a piece
  };
  struct Block {
    SpilledVector<std::uint32_t> attributes;  // ascending; an attribute with very many items has several entries
    SpilledVector<std::uint16_t> counts;      // parallel to it: number of items
    SpilledVector<std::uint16_t> narrow;      // sites relative to the first of the block, if 16 bits suffice
    SpilledVector<std::uint32_t> wide;        // otherwise
    SpilledVector<float> values;              // parallel to sites, or empty if all are one
    std::vector<Cut> cuts;                    // including the end

    Block(const std::vector<Item>& items, bool valued, Spill* spill)
        : attributes(Spilled<std::uint32_t>(spill)), counts(Spilled<std::uint16_t>(spill)), narrow(counts), wide(attributes),
          values(Spilled<float>(spill)) {
      constexpr std::uint32_t kPiece = 4096, kMost = std::numeric_limits<std::uint16_t>::max();  // items
      const auto far = [](const Item& item) { return item.site > kMost; };
      const bool is_wide = std::any_of(items.begin(), items.end(), far);
      is_wide ? wide.reserve(items.size()) : narrow.reserve(items.size());
      if (valued) values.reserve(items.size());
      std::size_t n_runs = items.size() / kMost + 1;
      for (std::size_t i = 0; i < items.size(); ++i) n_runs += i == 0 || items[i].attribute != items[i - 1].attribute;
      attributes.reserve(n_runs), counts.reserve(n_runs);
      std::uint32_t n = 0;
      const auto cut = [&] { cuts.push_back({static_cast<std::uint32_t>(attributes.size()), n}); };
      for (const Item& item : items) {
        const bool is_new = attributes.empty() || attributes.back() != item.attribute;
        if (is_new && (cuts.empty() || n - cuts.back().item >= kPiece)) cut();
        if (is_new || counts.back() == kMost) attributes.push_back(item.attribute), counts.push_back(0);
        ++counts.back();
        if (is_wide) wide.push_back(item.site);
        else narrow.push_back(static_cast<std::uint16_t>(item.site));
        if (valued) values.push_back(item.value);
        ++n;
      }
      cut();
    }
  };

  // Calls visit(attribute or slot, item) for the sites of a block.
  template <class Visit>
  void each_item(const Sites& at, std::int64_t begin, std::int64_t end, Visit visit) const {
    for (std::int64_t s = begin; s < end; ++s)
      at.each(static_cast<std::size_t>(s), [&](std::int32_t a, float value) {
        const auto attribute = static_cast<std::uint32_t>(a), site = static_cast<std::uint32_t>(s - begin);
        if (!lists_.starts) return visit(attribute, Item{attribute, site, value});
        for (std::uint32_t k = layout_.row_starts[a]; k < layout_.row_starts[a + 1]; ++k)
          if (const std::uint16_t label = layout_.row_labels[k]; allows(lists_, static_cast<std::size_t>(s), label))
            visit(k, Item{k, static_cast<std::uint32_t>(site * stride_ + label), value});
      });
  }

  template <class Site>
  TRELLIS_INLINE void sum_entries(const Block& b, const Site* sites, std::size_t piece, const Real* residual, double* sums,
                                  const FixedPoint& fixed, std::int64_t* gradient) const {
    std::uint32_t first = b.cuts[piece].item, last = first;
    for (std::uint32_t e = b.cuts[piece].entry; e < b.cuts[piece + 1].entry; ++e, first = last) {
      const std::uint32_t a = b.attributes[e];
      last = first + b.counts[e];
      const auto sum_of = [&](const Real* column, std::size_t step) TRELLIS_INLINE_LAMBDA {
        double sum = 0;
        for (std::uint32_t i = first; i < last; ++i) {
          const double r = column[sites[i] * step];
          sum += b.values.empty() ? r : r * b.values[i];
        }
        return sum;
      };
      if (lists_.starts) {
        fixed.add(gradient[a], sum_of(residual, 1));
        continue;
      }
      const std::uint32_t begin = layout_.row_starts[a], end = layout_.row_starts[a + 1];
      if (end - begin < heavy_from<Real>(stride_)) {  // each of its labels is summed separately
        for (std::uint32_t s = begin; s < end; ++s) fixed.add(gradient[s], sum_of(residual + layout_.row_labels[s], stride_));
      } else {
        sum_rows(b, sites, first, last, residual, sums);
        for (std::uint32_t s = begin; s < end; ++s) fixed.add(gradient[s], sums[layout_.row_labels[s]]);
      }
    }
  }

  // sums[z] = sum_i value_i · residual[site_i, z]; a few sites at a time in Real, these sums in double
  template <class Site>
  TRELLIS_INLINE void sum_rows(const Block& b, const Site* sites, std::uint32_t first, std::uint32_t last,
                               const Real* residual, double* sums) const {
    constexpr std::uint32_t kSome = 32;
    std::fill_n(sums, stride_, 0.0);
    for (std::uint32_t i = first; i < last; i += kSome)
      each_block<Real>(stride_, [&](auto chunks, std::size_t z) TRELLIS_INLINE_LAMBDA {
        Vector<Real> some[chunks] = {};
        sum_heavy<Real>(i, std::min(last, i + kSome),
                        [&](std::size_t j) TRELLIS_INLINE_LAMBDA { return residual + sites[j] * stride_; },
                        b.values.empty() ? nullptr : b.values.data(), z, some);
        for (std::size_t c = 0; c < chunks; ++c) add_lanes(some[c], sums + z + c * kLanes<Real>);
      });
  }

  const Layout layout_;
  const LabelSets lists_;
  const std::size_t stride_;
  std::vector<std::size_t> examples_;  // [n_blocks + 1] where blocks begin
  std::vector<Block> blocks_;
};

}  // namespace trellis
