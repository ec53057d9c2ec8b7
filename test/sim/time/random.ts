/** Random numbers from a seed. The same seed always gives the same numbers. */
export type Random = {
  /** A number from 0 up to but not including 1. */
  fraction(): number
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** True in that share of all draws. */
  chance(share: number): boolean
  /** A random item. */
  pick<Item>(items: readonly [Item, ...Item[]]): Item
  /** Creates an independent source. Its draws do not change the draws from this one. */
  fork(name: string): Random
}

/** Mulberry32, a 32-bit generator by T. Ettinger. It is small, fast, and good enough to choose faults. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  function fraction(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    fraction,
    between: (low, high) => low + Math.floor(fraction() * (high - low + 1)),
    chance: (share) => fraction() < share,
    pick: (items) => items[Math.floor(fraction() * items.length)] ?? items[0],
    fork: (name) => createRandom(hash(name, seed)),
  }
}

/** FNV-1a over a text, started with a seed. */
function hash(text: string, seed: number): number {
  let value = (2_166_136_261 ^ seed) >>> 0
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 16_777_619) >>> 0
  }
  return value
}
