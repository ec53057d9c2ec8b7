/**
 * The ways in which a credential is looked for in the bytes of an answer, and the automaton that finds them all in one
 * pass. A credential is cut into blocks, so that a part of one is found, too. Each block is looked for
 *
 * - as text in any letter case, each character as itself or escaped: `%73`, `%2573`, `\u0073`, `\x73`, `&#115;`, `&#x73;`;
 * - as base64 in both alphabets, wherever it stands in what was encoded, also in lines;
 * - as hexadecimal and as decimal bytes, with the usual separators;
 * - as UTF-16 in both byte orders.
 */
export type KeyPattern = {
  readonly root: KeyState
  /** 1 for each byte that leads away from the root. */
  readonly starts: Uint8Array
  /** The most bytes that a block takes in any of these ways. */
  readonly maxBytes: number
  /** The state behind a byte. */
  step(state: KeyState, byte: number): KeyState
}

/** What the bytes so far may be the beginning of. Nothing at the root. */
export type KeyState = {
  /** True when a block ends here. */
  readonly isFound: boolean
  readonly codes: readonly number[]
  /** States behind each byte. Undefined until such a byte has come. */
  readonly next: (KeyState | undefined)[]
}

/** Characters of a block. A shorter credential is one block, and one below the least is not looked for: it could be a word. */
const BLOCK_CHARS = 16
const LEAST_CHARS = 8
/** A longer credential is looked for by so many of its blocks. */
const MAX_BLOCKS = 256
/** States that are kept for one credential. An answer that leads to more makes them anew. */
const MAX_STATES = 2_048

/** The texts that stand for one character or byte of a block. */
type Place = readonly string[]
/** Those at the beginning of a block, and those behind another character. */
type Places = { readonly first: Place; readonly later: Place }

/** Undefined for a credential that is too short to be told from a word. */
export function keyPattern(key: string): KeyPattern | undefined {
  const bytes = Buffer.from(key)
  if (bytes.length < LEAST_CHARS) return undefined
  return automatonOf(blocksOf(bytes).flatMap(waysOf))
}

/** Blocks that follow each other, and one that ends with the credential. */
function blocksOf(key: Buffer): readonly Buffer[] {
  const blocks: Buffer[] = []
  for (let at = 0; at + BLOCK_CHARS < key.length && blocks.length < MAX_BLOCKS; at += BLOCK_CHARS) {
    blocks.push(key.subarray(at, at + BLOCK_CHARS))
  }
  return [...blocks, key.subarray(-BLOCK_CHARS)]
}

function waysOf(block: Buffer): readonly (readonly Place[])[] {
  const codes = [0, 1, 2].flatMap((shift) => [base64Of(block, shift, 'base64'), base64Of(block, shift, 'base64url')])
  return [
    ...BYTES.map((table) => [...block].map((byte, at) => placeAt(table[byte], at))),
    ...[...new Set(codes)].map((code) => [...code].map((sign, at) => placeAt(BASE64.get(sign), at))),
  ]
}

function placeAt(places: Places | undefined, at: number): Place {
  return (at === 0 ? places?.first : places?.later) ?? []
}

/** The characters of base64 that a block alone decides, where `shift` bytes of a group of three stand before it. */
function base64Of(block: Buffer, shift: number, alphabet: 'base64' | 'base64url'): string {
  const text = Buffer.concat([Buffer.alloc(shift), block]).toString(alphabet)
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + block.length) * 8) / 6))
}

/** How each byte is written in each way. It is the same for all credentials. */
const BYTES: readonly (readonly Places[])[] = [
  tableOf((sign) => alike(asText(sign))),
  tableOf((sign) => alike(casesOf(sign).map((each) => `${each}\0`))),
  tableOf((sign) => alike(casesOf(sign).map((each) => `\0${each}`))),
  tableOf((sign) => separated(casesOf(hex(sign)), ['', ' ', ':', '-', ',', ', '])),
  tableOf((sign) => separated([String(sign.charCodeAt(0))], [',', ', ', ' ', '\n', ',\n'])),
]
const BASE64: ReadonlyMap<string, Places> = new Map(
  [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_'].map((sign) => {
    const escaped = /\w/.test(sign) ? [] : [...slashed(sign), ...casesOf(hex(sign)).map((pair) => `%${pair}`)]
    return [sign, separated([sign, ...escaped], ['', '\n', '\r\n', '\\n', '\\r\\n'])]
  }),
)

function tableOf(write: (sign: string) => Places): readonly Places[] {
  return Array.from({ length: 256 }, (_, byte) => write(String.fromCharCode(byte)))
}

function alike(texts: Place): Places {
  return { first: texts, later: texts }
}

function separated(texts: Place, separators: readonly string[]): Places {
  return { first: texts, later: separators.flatMap((separator) => texts.map((text) => separator + text)) }
}

/** A text in small and in capital letters. */
function casesOf(text: string): readonly string[] {
  return /[a-z]/i.test(text) ? [text.toLowerCase(), text.toUpperCase()] : [text]
}

function hex(sign: string): string {
  return sign.charCodeAt(0).toString(16).padStart(2, '0')
}

function asText(sign: string): Place {
  const escaped = casesOf(sign).flatMap((each) => [
    ...casesOf(hex(each)).flatMap((pair) => [`%${pair}`, `%25${pair}`, `\\u00${pair}`, `\\x${pair}`, `&#x${pair};`]),
    `&#${each.charCodeAt(0)};`,
  ])
  return [...casesOf(sign), ...slashed(sign), ...escaped]
}

/** A sign that JSON may escape by itself. */
function slashed(sign: string): Place {
  return '/"\\'.includes(sign) ? [`\\${sign}`] : []
}

/**
 * One automaton for all ways. A code is a place in the list of all places and, within one of the place's texts, the text
 * and the bytes of it that have come. States are made as bytes lead to them, so most are never made.
 */
function automatonOf(ways: readonly (readonly Place[])[]): KeyPattern {
  const places = ways.flat()
  const ends = new Set<number>()
  const begins: number[] = []
  let count = 0
  let maxBytes = 0
  for (const way of ways) {
    begins.push(codeOf(count))
    count += way.length
    ends.add(count - 1)
    const longest = way.map((texts) => Math.max(...texts.map((text) => text.length)))
    maxBytes = Math.max(
      maxBytes,
      longest.reduce((sum, length) => sum + length, 0),
    )
  }
  const root: KeyState = { isFound: false, codes: [], next: noneYet() }
  let states = new Map([['', root]])

  function stateOf(codes: ReadonlySet<number>, isFound: boolean): KeyState {
    const sorted = [...codes].sort((one, other) => one - other)
    const name = (isFound ? '!' : '') + sorted.join()
    const known = states.get(name)
    if (known !== undefined) return known
    // Whoever is at a state of before goes on from it.
    if (states.size >= MAX_STATES) {
      root.next.fill(undefined)
      states = new Map([['', root]])
    }
    const state: KeyState = { isFound, codes: sorted, next: noneYet() }
    states.set(name, state)
    return state
  }

  function behind({ codes }: KeyState, byte: number): KeyState {
    const reached = new Set<number>()
    let isFound = false
    for (const code of [...codes, ...begins]) {
      const [place, text, offset] = [code >>> PLACE_SHIFT, (code >>> TEXT_SHIFT) & TEXT_MASK, code & OFFSET_MASK]
      for (const [at, each] of places[place]?.entries() ?? []) {
        if ((offset > 0 && at !== text) || each.charCodeAt(offset) !== byte) continue
        if (offset + 1 < each.length) reached.add(codeOf(place, at, offset + 1))
        else if (ends.has(place)) isFound = true
        else reached.add(codeOf(place + 1))
      }
    }
    return stateOf(reached, isFound)
  }

  const starts = new Uint8Array(256)
  for (const code of begins) for (const text of places[code >>> PLACE_SHIFT] ?? []) starts[text.charCodeAt(0)] = 1
  return {
    root,
    starts,
    maxBytes,
    step(state, byte) {
      const known = state.next[byte]
      if (known !== undefined) return known
      const found = behind(state, byte)
      state.next[byte] = found
      return found
    },
  }
}

/** An array of one shape with room for each byte, so that a look-up is one step. */
function noneYet(): (KeyState | undefined)[] {
  return new Array<KeyState | undefined>(256).fill(undefined)
}

const PLACE_SHIFT = 12
const TEXT_SHIFT = 4
const TEXT_MASK = 255
const OFFSET_MASK = 15

function codeOf(place: number, text = 0, offset = 0): number {
  return (place << PLACE_SHIFT) | (text << TEXT_SHIFT) | offset
}
