/** Reversed Castagnoli polynomial (RFC 3720, appendix B.4). */
const POLYNOMIAL = 0x82f63b78
/** Eight tables let eight bytes go through at once. */
const SLICES = 8

function makeTables(): Uint32Array[] {
  const first = new Uint32Array(256)
  for (let value = 0; value < 256; value++) {
    let crc = value
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    first[value] = crc
  }
  const made = [first]
  for (let index = 1; index < SLICES; index++) {
    made.push((made[index - 1] ?? first).map((crc) => entry(first, crc & 255) ^ (crc >>> 8)))
  }
  return made
}

const [T0, T1, T2, T3, T4, T5, T6, T7] = makeTables()

/** CRC-32C of some bytes, going on from `before` when they are part of more. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  let crc = ~before
  let at = 0
  if (T0 && T1 && T2 && T3 && T4 && T5 && T6 && T7) {
    for (const end = bytes.length - 7; at < end; at += 8) {
      const low =
        crc ^ (byte(bytes, at) | (byte(bytes, at + 1) << 8) | (byte(bytes, at + 2) << 16) | (byte(bytes, at + 3) << 24))
      crc =
        entry(T7, low & 255) ^
        entry(T6, (low >>> 8) & 255) ^
        entry(T5, (low >>> 16) & 255) ^
        entry(T4, low >>> 24) ^
        entry(T3, byte(bytes, at + 4)) ^
        entry(T2, byte(bytes, at + 5)) ^
        entry(T1, byte(bytes, at + 6)) ^
        entry(T0, byte(bytes, at + 7))
    }
    for (; at < bytes.length; at++) crc = entry(T0, (crc ^ byte(bytes, at)) & 255) ^ (crc >>> 8)
  }
  return ~crc >>> 0
}

function byte(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}

function entry(table: Uint32Array, index: number): number {
  return table[index] ?? 0
}
