import type { KeyPattern } from './key-pattern.ts'
import { pairOf } from './key-pattern.ts'

const STAR = 42

/** Takes the credential out of an answer on its way. */
export type KeyMask = {
  /** The bytes that may go on. Bytes that may be the beginning of a credential wait for what follows. */
  push(chunk: Buffer): Buffer
  /** The bytes that waited when the answer was over. */
  end(): Buffer
}

const NOTHING = Buffer.alloc(0)

/**
 * Puts stars in the place of a credential, as many as it has bytes, so that lengths stay. Most bytes are not looked at: a
 * block of the credential is so many pairs of its bytes in a row, and a pair that is none of them rules out every block
 * over it. At most as many bytes wait as a block of the credential has, and none while nothing looks like one.
 */
export function createKeyMask(pattern: KeyPattern): KeyMask {
  const { root, starts, leastBytes, maxBytes } = pattern
  let state = root
  let waiting = NOTHING
  return {
    push(chunk) {
      const from = waiting.length
      let bytes = from === 0 ? chunk : Buffer.concat([waiting, chunk])
      // The first byte that may be part of a credential, of which the end has not come.
      let open = 0
      // The end of the bytes that the pairs did not rule out.
      let likely = from
      for (let at = from; at < bytes.length; at++) {
        if (state === root && at >= likely) {
          at = nextLikely(pattern, bytes, at)
          likely = at + leastBytes
          open = at
          if (at === bytes.length) break
        }
        const byte = bytes[at] ?? 0
        if (state === root && starts[byte] === 0) {
          open = at + 1
          continue
        }
        state = state.next[byte] ?? pattern.step(state, byte)
        if (state === root) open = at + 1
        else if (state.isFound) {
          // The bytes that came may be the client's own.
          if (bytes === chunk) bytes = Buffer.from(chunk)
          bytes.fill(STAR, Math.max(open, at + 1 - maxBytes), at + 1)
        }
      }
      open = Math.max(open, bytes.length - maxBytes)
      waiting = open === bytes.length ? NOTHING : Buffer.from(bytes.subarray(open))
      return open === bytes.length ? bytes : bytes.subarray(0, open)
    },
    end() {
      const last = waiting
      waiting = NOTHING
      return last
    },
  }
}

/**
 * The first place at or behind `from` where a block may begin: all pairs of so many bytes as the shortest block has, or
 * of all bytes that have come, are pairs of the credential. Each window is read from its end, so that a pair that is none
 * of them rules out as many places as it can.
 */
function nextLikely({ pairs, leastBytes }: KeyPattern, bytes: Buffer, from: number): number {
  let begin = from
  while (begin < bytes.length) {
    let at = Math.min(begin + leastBytes, bytes.length) - 2
    while (at >= begin) {
      const pair = pairOf(bytes[at] ?? 0, bytes[at + 1] ?? 0)
      if (((pairs[pair >> 3] ?? 0) & (1 << (pair & 7))) === 0) break
      at--
    }
    if (at < begin) return begin
    begin = at + 1
  }
  return begin
}

/** A short text without the credential. */
export function maskedText(pattern: KeyPattern, text: string): string {
  const mask = createKeyMask(pattern)
  return Buffer.concat([mask.push(Buffer.from(text, 'latin1')), mask.end()]).toString('latin1')
}

/** The first bytes of compressed data: gzip, zlib in three strengths, zstd, xz. */
const COMPRESSED = ['1f8b', '7801', '789c', '78da', '28b52ffd', 'fd377a585a00'].map((text) => Buffer.from(text, 'hex'))

/**
 * True for bytes that begin as compressed data does, in which nobody could say what stands. Undefined while too few have
 * come.
 */
export function isCompressed(opening: Buffer): boolean | undefined {
  let isOpen = false
  for (const magic of COMPRESSED) {
    const length = Math.min(magic.length, opening.length)
    if (magic.compare(opening, 0, length, 0, length) !== 0) continue
    if (opening.length >= magic.length) return true
    isOpen = true
  }
  return isOpen ? undefined : false
}
