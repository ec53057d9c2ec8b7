import { secretsOf } from '#shared/protocols/credential.ts'
import type { Speaker } from '#shared/protocols/index.ts'
import type { Secret } from '#shared/secret.ts'

/**
 * The forms in which a credential is searched for in the bytes of an answer, and the automaton that finds them all in
 * one pass. A credential is cut into blocks, so that a part of one is found, too. Each block is searched for
 * - as text in any letter case, each character plain or escaped: `%73`, `%2573`, `\u0073`, `\x73`, `&#115;`, `&#x73;`;
 * - as base64 in both alphabets, at any offset of the encoded text, and in lines;
 * - as hexadecimal and as decimal bytes, with the usual separators;
 * - as UTF-16 in both byte orders.
 */
export type KeyPattern = {
  readonly root: KeyState
  /** 1 for each byte that leads away from the root. */
  readonly starts: Uint8Array
  /** The pairs of bytes that follow each other in a block, one bit for each {@link pairOf}. */
  readonly pairs: Uint8Array
  /** The fewest and the most bytes that a block takes in any of these ways. */
  readonly leastBytes: number
  readonly maxBytes: number
  /** The state after a byte. */
  step(state: KeyState, byte: number): KeyState
}

/** The texts that the bytes so far may begin. None at the root. */
export type KeyState = {
  /** True when a block ends here. */
  readonly isFound: boolean
  readonly codes: readonly number[]
  /** States after each byte. Undefined until such a byte has arrived. */
  readonly next: (KeyState | undefined)[]
}

/** Makes the patterns of credentials, and keeps each as long as its credential is open. */
export type KeyPatterns = {
  /** Undefined for a credential whose secret parts are too short to differ from a word. */
  of(key: Secret, speaker: Speaker): KeyPattern | undefined
  /** The memory of the states of all patterns. */
  figures(): { readonly states: number; readonly bytes: number }
}

/**
 * Characters of a block. A shorter credential is one block, and one below the minimum is not searched for: it could be
 * a word.
 */
const BLOCK_CHARS = 16
const LEAST_CHARS = 8
/** A longer credential is searched for by this many of its blocks. */
const MAX_BLOCKS = 256
/** Bytes of the states that are kept for all credentials of a process. An answer that needs more makes them anew. */
const MAX_STATE_BYTES = 33_554_432
/** Bytes of a slot of an array, of the slots that each state has, and of its other members. */
const SLOT_BYTES = 8
const NEXT_SLOTS = 256
const OTHER_BYTES = 256

export function createKeyPatterns(maxStateBytes = MAX_STATE_BYTES): KeyPatterns {
  const states = createStateMemory(maxStateBytes)
  const patterns = new WeakMap<Secret, { readonly pattern: KeyPattern | undefined }>()
  return {
    of(key, speaker) {
      const knownPattern = patterns.get(key)
      if (knownPattern !== undefined) return knownPattern.pattern
      const long = secretsOf(speaker, key.reveal())
        .map((part) => Buffer.from(part))
        .filter(({ length }) => length >= LEAST_CHARS)
      const pattern = long.length === 0 ? undefined : automatonOf(waysOf(long), states)
      patterns.set(key, { pattern })
      return pattern
    },
    figures: states.figures,
  }
}

/** The states of all patterns under one bound. */
type StateMemory = {
  find(root: KeyState, name: string): KeyState | undefined
  keep(root: KeyState, name: string, state: KeyState): void
  figures: KeyPatterns['figures']
}

/**
 * When the memory is full, all states are dropped, and none leads to another any more. A scan continues from its
 * present state, so an answer in passing holds one state at most.
 */
function createStateMemory(maxBytes: number): StateMemory {
  const byRoot = new Map<KeyState, Map<string, KeyState>>()
  let states = 0
  let bytes = 0
  const clear = () => {
    for (const [root, children] of byRoot) for (const state of [root, ...children.values()]) state.next.fill(undefined)
    byRoot.clear()
    states = 0
    bytes = 0
  }
  return {
    find: (root, name) => byRoot.get(root)?.get(name),
    keep(root, name, state) {
      const size = (NEXT_SLOTS + state.codes.length) * SLOT_BYTES + name.length + OTHER_BYTES
      if (bytes + size > maxBytes) clear()
      states++
      bytes += size
      const children = byRoot.get(root)
      if (children === undefined) byRoot.set(root, new Map([[name, state]]))
      else children.set(name, state)
    },
    figures: () => ({ states, bytes }),
  }
}

/** The spellings of one character or byte of a block, and the pairs of bytes within them and at their edges. */
type Place = {
  readonly texts: readonly string[]
  readonly firsts: readonly number[]
  readonly inner: readonly number[]
  readonly lasts: readonly number[]
}
/** Places at the beginning of a block, and places after another character. */
type Places = { readonly first: Place; readonly later: Place }

/** A way to write a block: its characters, and the spellings of each. */
type Way = { readonly table: readonly Places[]; readonly signs: string }

/** The ways of all blocks, and those of the whole credential, in which the blocks follow each other. */
type Ways = { readonly ofBlocks: readonly Way[]; readonly ofWhole: readonly Way[] }

function waysOf(parts: readonly Buffer[]): Ways {
  return { ofBlocks: blocksOf(parts).flatMap(waysToWrite), ofWhole: parts.flatMap(waysToWrite) }
}

/** Consecutive blocks, and one that ends with each part. Equal blocks are searched for once. */
function blocksOf(parts: readonly Buffer[]): readonly Buffer[] {
  const blocks = new Map<string, Buffer>()
  const add = (block: Buffer) => blocks.set(block.toString('latin1'), block)
  for (const part of parts) add(part.subarray(-BLOCK_CHARS))
  for (const part of parts) {
    for (let at = 0; at + BLOCK_CHARS < part.length && blocks.size < MAX_BLOCKS; at += BLOCK_CHARS) {
      add(part.subarray(at, at + BLOCK_CHARS))
    }
  }
  return [...blocks.values()]
}

function waysToWrite(block: Buffer): readonly Way[] {
  const signs = block.toString('latin1')
  const codes = [0, 1, 2].map((shift) => base64Of(block, shift))
  return [...BYTES.map((table) => ({ table, signs })), ...codes.map((code) => ({ table: BASE64, signs: code }))]
}

/** The texts of a character of a way. */
function placeOf({ table, signs }: Way, at: number): Place {
  const places = table[signs.charCodeAt(at)]
  return (at === 0 ? places?.first : places?.later) ?? NO_PLACE
}

/** The characters of base64 that a block alone decides, when `shift` bytes of a group of three precede it. */
function base64Of(block: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), block]).toString('base64')
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + block.length) * 8) / 6))
}

/** The place of anything that is no character of a way. */
const NO_PLACE: Place = { texts: [], firsts: [], inner: [], lasts: [] }

/** The spellings of each byte in each way, the same for all credentials. */
const BYTES: readonly (readonly Places[])[] = [
  tableOf((sign) => alike(asText(sign))),
  tableOf((sign) => alike(casesOf(sign).map((each) => `${each}\0`))),
  tableOf((sign) => alike(casesOf(sign).map((each) => `\0${each}`))),
  tableOf((sign) => separated(casesOf(hex(sign)), ['', ' ', ':', '-', ',', ', '])),
  tableOf((sign) => separated([String(sign.charCodeAt(0))], [',', ', ', ' ', '\n', ',\n'])),
]
/** The spellings of each character of base64, in the alphabet of URLs, too. */
const BASE64: readonly Places[] = tableOf((sign) => {
  const signs = sign === '+' ? ['+', '-'] : sign === '/' ? ['/', '_'] : [sign]
  return separated(
    signs.flatMap((each) =>
      /\w/.test(each) ? [each] : [each, ...slashed(each), ...casesOf(hex(each)).map((pair) => `%${pair}`)],
    ),
    ['', '\n', '\r\n', '\\n', '\\r\\n'],
  )
})

function tableOf(write: (sign: string) => Places): readonly Places[] {
  return Array.from({ length: 256 }, (_, byte) => write(String.fromCharCode(byte)))
}

function alike(texts: readonly string[]): Places {
  const place = placeFor(texts)
  return { first: place, later: place }
}

function separated(texts: readonly string[], separators: readonly string[]): Places {
  const later = separators.flatMap((separator) => texts.map((text) => separator + text))
  return { first: placeFor(texts), later: placeFor(later) }
}

function placeFor(texts: readonly string[]): Place {
  const bytes = texts.map((text) => Buffer.from(text, 'latin1'))
  return {
    texts,
    firsts: unique(bytes.map((text) => text[0] ?? 0)),
    inner: unique(bytes.flatMap((text) => [...text.subarray(1)].map((byte, at) => pairOf(text[at] ?? 0, byte)))),
    lasts: unique(bytes.map((text) => text.at(-1) ?? 0)),
  }
}

/** A text in lower and in upper case. */
function casesOf(text: string): readonly string[] {
  return /[a-z]/i.test(text) ? [text.toLowerCase(), text.toUpperCase()] : [text]
}

function hex(sign: string): string {
  return sign.charCodeAt(0).toString(16).padStart(2, '0')
}

function asText(sign: string): readonly string[] {
  const escaped = casesOf(sign).flatMap((each) => [
    ...casesOf(hex(each)).flatMap((pair) => [`%${pair}`, `%25${pair}`, `\\u00${pair}`, `\\x${pair}`, `&#x${pair};`]),
    `&#${each.charCodeAt(0)};`,
  ])
  return [...casesOf(sign), ...slashed(sign), ...escaped]
}

/** A character that JSON may escape on its own. */
function slashed(sign: string): readonly string[] {
  return '/"\\'.includes(sign) ? [`\\${sign}`] : []
}

/**
 * A single automaton for all ways. A code is a way, a place in it and, within one of the place's texts, the text and
 * the number of its bytes so far. States are made as bytes lead to them, so most are never made.
 */
function automatonOf({ ofBlocks: ways, ofWhole }: Ways, memory: StateMemory): KeyPattern {
  const root: KeyState = { isFound: false, codes: [], next: noneYet() }
  const begins = ways.map((_way, at) => codeOf(at, 0))
  const lengths = ways.map(lengthsOf)

  function stateOf(codes: ReadonlySet<number>, isFound: boolean): KeyState {
    if (codes.size === 0 && !isFound) return root
    const sorted = [...codes].sort((one, other) => one - other)
    const name = (isFound ? '!' : '') + sorted.join()
    const next = memory.find(root, name)
    if (next !== undefined) return next
    const state: KeyState = { isFound, codes: sorted, next: noneYet() }
    memory.keep(root, name, state)
    return state
  }

  function behind({ codes }: KeyState, byte: number): KeyState {
    const reached = new Set<number>()
    let isFound = false
    for (const code of codes.length === 0 ? begins : [...codes, ...begins]) {
      const [index, at, text, offset] = partsOf(code)
      const way = ways[index]
      if (way === undefined) continue
      for (const [number, each] of placeOf(way, at).texts.entries()) {
        if ((offset > 0 && number !== text) || each.charCodeAt(offset) !== byte) continue
        if (offset + 1 < each.length) reached.add(codeOf(index, at, number, offset + 1))
        else if (at + 1 === way.signs.length) isFound = true
        else reached.add(codeOf(index, at + 1))
      }
    }
    return stateOf(reached, isFound)
  }

  const starts = new Uint8Array(256)
  for (const way of ways) for (const text of placeOf(way, 0).texts) starts[text.charCodeAt(0)] = 1
  return {
    root,
    starts,
    pairs: pairsOf(ofWhole),
    leastBytes: Math.min(...lengths.map(({ least }) => least)),
    maxBytes: Math.max(...lengths.map(({ most }) => most)),
    step(state, byte) {
      const nextState = state.next[byte]
      if (nextState !== undefined) return nextState
      const nextOfBehind = behind(state, byte)
      state.next[byte] = nextOfBehind
      return nextOfBehind
    },
  }
}

/** The fewest and the most bytes that a way takes. */
function lengthsOf(way: Way): { readonly least: number; readonly most: number } {
  let least = 0
  let most = 0
  for (let at = 0; at < way.signs.length; at++) {
    const lengths = placeOf(way, at).texts.map((text) => text.length)
    least += Math.min(...lengths)
    most += Math.max(...lengths)
  }
  return { least, most }
}

/** The number of a pair of bytes. Bytes that differ only in their highest bit count as one: their tables are small. */
export function pairOf(one: number, other: number): number {
  return ((one & 127) << 7) | (other & 127)
}

const PAIRS = 16_384

/** All pairs of consecutive bytes of a credential, in any of these ways. */
function pairsOf(ways: readonly Way[]): Uint8Array {
  const pairs = new Uint8Array(PAIRS / 8)
  const add = (pair: number) => {
    pairs[pair >> 3] = (pairs[pair >> 3] ?? 0) | (1 << (pair & 7))
  }
  for (const way of ways) {
    let lasts: readonly number[] = []
    for (let at = 0; at < way.signs.length; at++) {
      const { firsts, inner, lasts: ends } = placeOf(way, at)
      for (const pair of inner) add(pair)
      for (const last of lasts) for (const first of firsts) add(pairOf(last, first))
      lasts = ends
    }
  }
  return pairs
}

function unique(numbers: readonly number[]): readonly number[] {
  return [...new Set(numbers)]
}

/** An array of one shape with room for each byte, so that a look-up is one step. */
function noneYet(): (KeyState | undefined)[] {
  return new Array<KeyState | undefined>(NEXT_SLOTS).fill(undefined)
}

/** Bits of a code: 12 of the way, 5 of the place in it, 6 of the text, 4 of the offset. */
const WAY_SHIFT = 15
const PLACE_SHIFT = 10
const TEXT_SHIFT = 4

function codeOf(way: number, place: number, text = 0, offset = 0): number {
  return (way << WAY_SHIFT) | (place << PLACE_SHIFT) | (text << TEXT_SHIFT) | offset
}

function partsOf(code: number): readonly [way: number, place: number, text: number, offset: number] {
  return [code >>> WAY_SHIFT, (code >>> PLACE_SHIFT) & 31, (code >>> TEXT_SHIFT) & 63, code & 15]
}
