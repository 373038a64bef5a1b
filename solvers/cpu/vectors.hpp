// SIMD across systems: vectors with one lane per system, arithmetic with powers of two on them, and transpositions.
// Memory has one system after another; vectors have one element of all systems.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>
#include <type_traits>

namespace smallbatch {
namespace {

/// Whether the compiler fuses a multiplication and an addition where the instruction set can. The compiler never does
/// so without optimization. Instruction sets with wider registers than the baseline can fuse (Lanes::fuses).
#ifdef __OPTIMIZE__
constexpr bool compiler_fuses = true;
#else
constexpr bool compiler_fuses = false;
#endif

/// Vectors of W lanes of T, and of the same lanes in double precision. A register holds half as many doubles as floats,
/// so double precision is processed in parts (the compiler splits larger vectors badly).
template <class T, int W>
struct Lanes;
template <int W>
struct Lanes<float, W> {
  typedef float Vector __attribute__((vector_size(4 * W)));
  typedef std::int32_t Mask __attribute__((vector_size(4 * W)));
  static constexpr int parts = 2;
  typedef float Part __attribute__((vector_size(4 * W / parts)));
  typedef double Wide __attribute__((vector_size(8 * W / parts)));
  typedef std::int64_t WideMask __attribute__((vector_size(8 * W / parts)));
  static constexpr int mantissa_bits = 23, exponent_bias = 127;
  static constexpr int diagonal_window = 20, rhs_window = 40;  // exponents that need no scaling
  static constexpr bool fuses = compiler_fuses && W > 4;
  static constexpr float eps = 0x1p-23F, largest = 0x1.fffffep+127F;
};
template <int W>
struct Lanes<double, W> {
  typedef double Vector __attribute__((vector_size(8 * W)));
  typedef std::int64_t Mask __attribute__((vector_size(8 * W)));
  static constexpr int parts = 1;
  typedef Vector Part;
  typedef Vector Wide;
  typedef Mask WideMask;
  static constexpr int mantissa_bits = 52, exponent_bias = 1023;
  static constexpr int diagonal_window = 150, rhs_window = 300;
  static constexpr bool fuses = compiler_fuses && W > 2;
  static constexpr double eps = 0x1p-52, largest = 0x1.fffffffffffffp+1023;
};

/// Returns |v|.
template <class V>
V absolute(V v) {
  using Bits = decltype(v < v);
  constexpr int bits = 8 * sizeof(v[0]);
  constexpr auto sign =
      static_cast<std::conditional_t<bits == 32, std::int32_t, std::int64_t>>(std::uint64_t{1} << (bits - 1));
  return (V)((Bits)v & ~(Bits{} + sign));
}
template <class V>
V larger(V a, V b) {
  return a > b ? a : b;
}
/// Returns max(a, |b|); `a` must not be negative. A NaN counts as larger than all numbers, like the integer with its
/// bits. (The compiler g++ 12 finds no instruction for this maximum of floating point numbers.)
template <class V>
V larger_magnitude(V a, V b) {
  using Bits = decltype(a < b);
  return (V)larger((Bits)a, (Bits)absolute(b));
}
template <class V>
V smaller(V a, V b) {
  return a < b ? a : b;
}

template <class M>
bool any(M mask) {
  std::int64_t words[sizeof(M) / 8], all = 0;
  __builtin_memcpy(words, &mask, sizeof(M));
  for (const std::int64_t word : words) all |= word;
  return all != 0;
}

/// Arithmetic with exponents of floating point numbers.
template <class L>
struct Exponents {
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  /// Returns floor(log2 |v|); -bias if v is zero or subnormal, bias + 1 if it is not finite.
  static Mask of(Vector v) { return (((Mask)v >> L::mantissa_bits) & (2 * L::exponent_bias + 1)) - L::exponent_bias; }
  /// Returns 2^e; e must be an exponent of normal numbers.
  static Vector power_of_two(Mask e) { return (Vector)((e + L::exponent_bias) << L::mantissa_bits); }
  /// Returns v 2^e, computed in two steps, so that 2^e itself may be outside the range of T.
  static Vector scale(Vector v, Mask e) {
    constexpr int limit = 2 * (L::exponent_bias - 1);
    e = e < -limit ? Mask{} - limit : e;
    e = e > limit ? Mask{} + limit : e;
    const Mask half = e >> 1;
    return v * power_of_two(half) * power_of_two(e - half);
  }
  static Mask outside(Mask e, int window) { return (e < -window) | (e > window); }
  /// Returns 2^-exponent(v), limited to normal numbers.
  static Vector normalizer(Vector v) {
    Mask e = of(v);
    e = e < -L::exponent_bias + 1 ? Mask{} - L::exponent_bias + 1 : e;
    e = e > L::exponent_bias - 1 ? Mask{} + L::exponent_bias - 1 : e;
    return power_of_two(-e);
  }
};

template <int... J>
struct Indices {};
template <int Count, int... J>
struct FirstIndices : FirstIndices<Count - 1, Count - 1, J...> {};
template <int... J>
struct FirstIndices<0, J...> {
  using Type = Indices<J...>;
};
template <class Visit, int... J>
__attribute__((always_inline)) inline void for_indices(Visit visit, Indices<J...>) {
  (visit(J), ...);
}

/// Converts parts of W lanes to double precision and back.
template <class T, int W>
struct Parts {
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Wide = typename L::Wide;
  static constexpr int lanes = W / L::parts;

  /// Returns `lanes` lanes of a vector in memory, from part * lanes on, in double precision.
  static Wide widen(const Vector& v, int part) {
    typename L::Part some;
    __builtin_memcpy(&some, (const T*)&v + part * lanes, sizeof(some));
    return widened(some, typename FirstIndices<lanes>::Type{});
  }
  /// Converts number by number. g++ 12 compiles this to one instruction, but __builtin_convertvector to several.
  template <int... J>
  static Wide widened(typename L::Part some, Indices<J...>) {
    if constexpr (sizeof(T) == sizeof(double))
      return some;
    else
      return Wide{some[J]...};
  }
  /// Puts the values of a part among the W numbers at `to`.
  template <class V>
  static void put(Wide values, int part, V* to) {
    typedef V Out __attribute__((vector_size(sizeof(V) * lanes)));
    const Out out = __builtin_convertvector(values, Out);
    __builtin_memcpy(to + part * lanes, &out, sizeof(out));
  }
};

/// Moves four neighbouring numbers of each of W systems between memory and four vectors. Shuffles do not cross pieces
/// of 128 bits cheaply. Piece p of register q therefore comes from system P p + q, with P numbers in a piece.
/// Transposing P x P blocks within the pieces then leaves the systems in order.
template <class T, int W>
struct Transposition {
  using Vector = typename Lanes<T, W>::Vector;
  using Mask = typename Lanes<T, W>::Mask;
  static constexpr int piece = 16 / static_cast<int>(sizeof(T));
  template <int Count>
  struct Numbers {
    typedef T Type __attribute__((vector_size(sizeof(T) * Count)));
  };

  template <class V, int... J>
  static auto joined(V low, V high, Indices<J...>) {
    return __builtin_shufflevector(low, high, J...);
  }
  template <int From, class V, int... J>
  static auto extracted(V v, Indices<J...>) {
    return __builtin_shufflevector(v, v, (From + J)...);
  }
  /// Returns `Count` numbers. They are loaded in pieces, and each piece begins `step` elements after the previous one.
  template <int Count>
  static auto gather(const T* from, std::int64_t step) {
    if constexpr (Count == piece) {
      typename Numbers<Count>::Type v;
      __builtin_memcpy(&v, from, sizeof(v));
      return v;
    } else {
      constexpr int half = Count / 2;
      return joined(gather<half>(from, step), gather<half>(from + half / piece * step, step),
                    typename FirstIndices<Count>::Type{});
    }
  }
  template <int Count, class V>
  static void scatter(V v, T* to, std::int64_t step) {
    if constexpr (Count == piece) {
      __builtin_memcpy(to, &v, sizeof(v));
    } else {
      constexpr int half = Count / 2;
      using Half = typename FirstIndices<half>::Type;
      scatter<half>(extracted<0>(v, Half{}), to, step);
      scatter<half>(extracted<half>(v, Half{}), to + half / piece * step, step);
    }
  }

  /// Alternates units of `Unit` numbers of a and b, from the low or the high half of each piece.
  template <int Unit, bool High, int... J>
  static Vector zip(Vector a, Vector b, Indices<J...>) {
    constexpr int units = piece / Unit;
    return __builtin_shufflevector(a, b,
                                   (J / piece * piece + ((High ? units / 2 : 0) + J % piece / Unit / 2) * Unit +
                                    J % Unit + (J % piece / Unit % 2 == 1 ? W : 0))...);
  }
  __attribute__((always_inline)) static void transpose_pieces(Vector* rows) {
    using All = typename FirstIndices<W>::Type;
    if constexpr (piece == 4) {
      const Vector a = zip<1, false>(rows[0], rows[1], All{}), b = zip<1, true>(rows[0], rows[1], All{});
      const Vector c = zip<1, false>(rows[2], rows[3], All{}), d = zip<1, true>(rows[2], rows[3], All{});
      rows[0] = zip<2, false>(a, c, All{});
      rows[1] = zip<2, true>(a, c, All{});
      rows[2] = zip<2, false>(b, d, All{});
      rows[3] = zip<2, true>(b, d, All{});
    } else {
      const Vector low = zip<1, false>(rows[0], rows[1], All{});
      rows[1] = zip<1, true>(rows[0], rows[1], All{});
      rows[0] = low;
    }
  }

  /// Loads number t of each system into to[t]; system k starts k steps after `from`.
  __attribute__((always_inline)) static void load(const T* from, std::int64_t step, Vector* to) {
    asm("" : "+r"(step));  // keeps addresses out of registers: they are cheap to compute, and too many
    for (int h = 0; h < 4; h += piece) {
      for (int q = 0; q < piece; ++q) to[h + q] = gather<W>(from + h + q * step, piece * step);
      transpose_pieces(to + h);
    }
  }
  /// How many numbers load_chunk loads: a register's width, so that a system's cache line is requested once. (If the
  /// distance between systems is a power of two, their lines displace each other.)
  static constexpr int chunk = W < 4 ? 4 : W;
  /// Exchanges off-diagonal blocks of Step x Step numbers between rows.
  template <int Step, int... J>
  __attribute__((always_inline)) static void exchange(Vector* rows, Indices<J...>) {
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) {
      if (i & Step) continue;
      const Vector low = __builtin_shufflevector(rows[i], rows[i + Step], (J & Step ? W + J - Step : J)...);
      rows[i + Step] = __builtin_shufflevector(rows[i], rows[i + Step], (J & Step ? W + J : J + Step)...);
      rows[i] = low;
    }
  }
  template <int Step>
  __attribute__((always_inline)) static void exchange_from(Vector* rows) {
    if constexpr (Step < W) {
      exchange<Step>(rows, typename FirstIndices<W>::Type{});
      exchange_from<2 * Step>(rows);
    }
  }
  /// Calls visit(q, address of system q) for W systems. 16 addresses do not all fit into registers. The compiler would
  /// keep them in vector registers, which the shuffles need. So four addresses are computed from one.
  template <class Visit>
  __attribute__((always_inline)) static void for_systems(T* first, std::int64_t step, Visit visit) {
    if constexpr (W <= 8) {
      asm("" : "+r"(step));
#pragma GCC unroll 8
      for (int q = 0; q < W; ++q) visit(q, first + q * step);
    } else {
      auto* place = (char*)first;
      std::int64_t one = step * static_cast<std::int64_t>(sizeof(T)), three = 3 * one;
      asm("" : "+r"(one), "+r"(three));
#pragma GCC unroll 16
      for (int q = 0; q < W; q += 4) {
        visit(q, (T*)place);
        visit(q + 1, (T*)(place + one));
        visit(q + 2, (T*)(place + 2 * one));
        visit(q + 3, (T*)(place + three));
        place += 4 * one;
        asm("" : "+r"(place));
      }
    }
  }
  /// Loads like load(), but `chunk` numbers.
  __attribute__((always_inline)) static void load_chunk(const T* from, std::int64_t step, Vector* to) {
    if constexpr (W <= piece) {
      load(from, step, to);
    } else {
      for_systems((T*)from, step, [&](int q, const T* at) { __builtin_memcpy(&to[q], at, sizeof(Vector)); });
      transpose(to);
    }
  }
  /// Transposes W vectors of W numbers.
  __attribute__((always_inline)) static void transpose(Vector* rows) {
#pragma GCC unroll 16
    for (int q = 0; q < W; q += piece) transpose_pieces(rows + q);
    exchange_from<piece>(rows);
  }
  static void store(const Vector* from, T* to, std::int64_t step) {
    for (int h = 0; h < 4; h += piece) {
      Vector rows[piece];
      for (int q = 0; q < piece; ++q) rows[q] = from[h + q];
      transpose_pieces(rows);
      for (int q = 0; q < piece; ++q) scatter<W>(rows[q], to + h + q * step, piece * step);
    }
  }

  /// Stores like store(), but `chunk` numbers.
  static void store_chunk(const Vector* from, T* to, std::int64_t step) {
    if constexpr (W <= piece) {
      store(from, to, step);
    } else {
      Vector rows[W];
#pragma GCC unroll 16
      for (int q = 0; q < W; ++q) rows[q] = from[q];
      transpose(rows);
      for_systems(to, step, [&](int q, T* at) { __builtin_memcpy(at, &rows[q], sizeof(Vector)); });
    }
  }

  /// Loads number first + t of each system into to[t], for t < 4 and first + t < `size`. Reads nothing beyond `size`.
  __attribute__((noinline)) static void load_within(const T* from, std::int64_t step, std::int64_t first,
                                                    std::int64_t size, Vector* to) {
    if (first + 4 <= size) {
      load(from + first, step, to);
    } else if (size >= 4) {
      Vector last[4];
      load(from + size - 4, step, last);
      for (std::int64_t t = 0; first + t < size; ++t) to[t] = last[first + t - (size - 4)];
    } else {
      for (std::int64_t t = 0; first + t < size; ++t)
        for (int lane = 0; lane < W; ++lane) to[t][lane] = from[lane * step + first + t];
    }
  }
  /// Stores `size` vectors as the numbers of the first `used` systems.
  static void store_all(const Vector* from, std::int64_t size, int used, T* to, std::int64_t step) {
    std::int64_t e = 0;
    for (; used == W && e + chunk <= size; e += chunk) store_chunk(from + e, to + e, step);
    for (; used == W && e + 4 <= size; e += 4) store(from + e, to + e, step);
    for (; e < size; ++e)
      for (int lane = 0; lane < used; ++lane) to[lane * step + e] = from[e][lane];
  }
};

}  // namespace
}  // namespace smallbatch
