import type { KeyPattern } from './key-pattern.ts'
import { pairOf } from './key-pattern.ts'

const STAR = 42

/** Removes the credential from an answer in passing. */
export type KeyMask = {
  /** The bytes that may pass. Bytes that may be the beginning of a credential wait for the following ones. */
  push(chunk: Buffer): Buffer
  /** The bytes that waited at the end of the answer. */
  end(): Buffer
}

const NOTHING = Buffer.alloc(0)

/**
 * Replaces the credential by as many stars as it has bytes, so that lengths stay. Most bytes are skipped: a block of
 * the credential is a run of pairs of its bytes, and a pair that is none of them rules out every block over it. At most
 * as many bytes wait as a block of the credential has, and none while nothing looks like one.
 */
export function createKeyMask(pattern: KeyPattern): KeyMask {
  const { root, starts, leastBytes, maxBytes } = pattern
  let state = root
  let waiting = NOTHING
  return {
    push(chunk) {
      const from = waiting.length
      let bytes = from === 0 ? chunk : Buffer.concat([waiting, chunk])
      // The first byte of a possible credential whose end has not arrived.
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
          // The received bytes may be the client's own.
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
 * The first place at or after `from` at which a block may begin: all pairs of as many bytes as the shortest block has,
 * or of all received bytes, are pairs of the credential. Each window is read from its end, so that a pair that is none
 * of them rules out as many places as possible.
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

/** True for bytes that begin like compressed data, which cannot be searched. Undefined while too few have arrived. */
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
