// The strings of one column seen in tagging: a number and a record each.
//
// Records are in blocks that never move, each twice as long as the previous one, so threads can decode while another thread
// adds new types.
#pragma once
#include <array>
#include <bit>
#include <memory>
#include <string_view>

#include "text/strings.hpp"

namespace trellis {

// The known types of one column.
class Lexicon {
 public:
  static constexpr std::size_t kBlock = 512;  // records of the first block

  // The first records are those of the `n_outside` positions outside a sentence.
  Lexicon(std::size_t n_views, std::size_t vector_size, std::int32_t n_outside)
      : n_views_(n_views), vector_size_(vector_size), n_outside_(n_outside) {
    while (room_ < n_outside_) add_block();
  }
  static constexpr std::int32_t outside(std::int32_t id) { return -1 - id; }
  std::size_t n_views() const { return n_views_; }
  std::int32_t size() const { return names_.size(); }
  std::string_view name(std::int32_t type) const { return names_[type]; }
  std::int32_t* views(std::int32_t type) const {
    const Place at = place(type);
    return blocks_[at.block].ints.get() + at.record * (n_views_ + 2);
  }
  std::int32_t& set(std::int32_t type) const { return views(type)[n_views_]; }
  std::int32_t& defined(std::int32_t type) const { return views(type)[n_views_ + 1]; }
  float* vectors(std::int32_t type) const {
    const Place at = place(type);
    return blocks_[at.block].floats.get() + at.record * vector_size_;
  }
  std::size_t bytes() const { return (size() / kBlock + 1) * kBlock * (4 * vector_size_ + 4 * n_views_ + 64) + names_.bytes(); }
  std::int32_t intern(std::string_view name) {
    if (names_.size() + n_outside_ == room_) add_block();
    return names_.intern(name);
  }

  std::int32_t n_tried = 0;      // earlier types are defined, or wait for the caller to compute their views
  std::int32_t n_undefined = 0;  // number of waiting types

 private:
  struct Block {
    std::unique_ptr<std::int32_t[]> ints;  // [kBlock · 2^b, n_views + 2]: view ids, label set, whether defined
    std::unique_ptr<float[]> floats;       // [kBlock · 2^b, n_slots, stride]
  };
  // Block b holds the records from kBlock · (2^b - 1) on.
  struct Place {
    std::size_t block, record;
  };
  Place place(std::int32_t type) const {
    const auto record = static_cast<std::size_t>(std::int64_t{n_outside_} + type);
    const std::size_t b = std::bit_width(record / kBlock + 1) - 1;
    return {b, record - kBlock * ((std::size_t{1} << b) - 1)};
  }
  // Call before assigning a number: if memory runs out, no type is without a record.
  void add_block() {
    const std::size_t b = place(room_ - n_outside_).block, n = kBlock << b;
    Block& block = blocks_[b];
    block.floats = std::make_unique_for_overwrite<float[]>(n * vector_size_);  // written when defined
    block.ints = std::make_unique<std::int32_t[]>(n * (n_views_ + 2));
    room_ += static_cast<std::int32_t>(n);
  }
  std::size_t n_views_, vector_size_;
  std::int32_t n_outside_;
  std::int32_t room_ = 0;  // number of records
  Interner names_;
  std::array<Block, 24> blocks_;  // room for all numbers a type can have
};

}  // namespace trellis
