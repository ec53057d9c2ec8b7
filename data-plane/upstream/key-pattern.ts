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
  /** States behind each byte, as far as such a byte has come. */
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

/** Undefined for a credential that is too short to be told from a word. */
export function keyPattern(key: string): KeyPattern | undefined {
  if (key.length < LEAST_CHARS) return undefined
  const ways = new Map<string, readonly Place[]>()
  for (const block of blocksOf(key)) for (const way of waysOf(block)) ways.set(JSON.stringify(way), way)
  return automatonOf([...ways.values()])
}

/** Blocks that follow each other, and one that ends with the credential. */
function blocksOf(key: string): readonly string[] {
  const blocks: string[] = []
  for (let at = 0; at + BLOCK_CHARS <= key.length && blocks.length < MAX_BLOCKS; at += BLOCK_CHARS) {
    blocks.push(key.slice(at, at + BLOCK_CHARS))
  }
  return [...blocks, key.slice(-BLOCK_CHARS)]
}

function waysOf(block: string): readonly (readonly Place[])[] {
  const signs = [...block]
  const bytes = [...Buffer.from(block)]
  return [
    signs.map(asText),
    signs.map((sign) => casesOf(sign).map((each) => Buffer.from(each, 'utf16le').toString('latin1'))),
    signs.map((sign) => casesOf(sign).map((each) => Buffer.from(each, 'utf16le').swap16().toString('latin1'))),
    bytes.map((byte, at) => separated(casesOf(hex(byte)), at === 0 ? FIRST : HEX_SEPARATORS)),
    bytes.map((byte, at) => separated([String(byte)], at === 0 ? FIRST : DECIMAL_SEPARATORS)),
    ...[0, 1, 2].flatMap((shift) => ['base64', 'base64url'].map((name) => asBase64(bytes, shift, name as 'base64'))),
  ]
}

const FIRST = ['']
const HEX_SEPARATORS = ['', ' ', ':', '-', ',', ', ']
const DECIMAL_SEPARATORS = [',', ', ', ' ', '\n', ',\n']

function separated(texts: readonly string[], separators: readonly string[]): Place {
  return separators.flatMap((separator) => texts.map((text) => separator + text))
}

function casesOf(text: string): readonly string[] {
  return [...new Set([text.toLowerCase(), text.toUpperCase()])]
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

function asText(sign: string): Place {
  const plain = casesOf(sign)
  const codes = plain.flatMap((each) => [...Buffer.from(each)])
  const escaped = codes.flatMap((byte) => [
    ...casesOf(hex(byte)).flatMap((pair) => [`%${pair}`, `%25${pair}`, `\\u00${pair}`, `\\x${pair}`, `&#x${pair};`]),
    `&#${byte};`,
  ])
  return [...plain.map((each) => Buffer.from(each).toString('latin1')), ...slashed(sign), ...escaped]
}

/** A sign that JSON may escape by itself. */
function slashed(sign: string): readonly string[] {
  return '/"\\'.includes(sign) ? [`\\${sign}`] : []
}

/** The characters of base64 that a block alone decides, where `shift` bytes of a group of three stand before it. */
function asBase64(bytes: readonly number[], shift: number, alphabet: 'base64' | 'base64url'): readonly Place[] {
  const text = Buffer.from([...Buffer.alloc(shift), ...bytes]).toString(alphabet)
  const [first, last] = [Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6)]
  return [...text.slice(first, last)].map((sign, at) => {
    const signs = /\w/.test(sign)
      ? [sign]
      : [sign, ...slashed(sign), ...casesOf(hex(sign.charCodeAt(0))).map((pair) => `%${pair}`)]
    return separated(signs, at === 0 ? FIRST : LINE_ENDS)
  })
}

const LINE_ENDS = ['', '\n', '\r\n', '\\n', '\\r\\n']

/**
 * One automaton for all ways. A code is a place in the list of all places and, within one of the place's texts, the text
 * and the bytes of it that have come. States are made as bytes lead to them, so most are never made.
 */
function automatonOf(ways: readonly (readonly Place[])[]): KeyPattern {
  const places = ways.flat()
  const ends = new Set<number>()
  const starts: number[] = []
  let count = 0
  let maxBytes = 0
  for (const way of ways) {
    starts.push(codeOf(count))
    count += way.length
    ends.add(count - 1)
    const longest = way.map((texts) => Math.max(...texts.map((text) => text.length)))
    maxBytes = Math.max(
      maxBytes,
      longest.reduce((sum, length) => sum + length, 0),
    )
  }
  const root: KeyState = { isFound: false, codes: [], next: [] }
  let states = new Map([['', root]])

  function stateOf(codes: ReadonlySet<number>, isFound: boolean): KeyState {
    const sorted = [...codes].sort((one, other) => one - other)
    const name = (isFound ? '!' : '') + sorted.join()
    const known = states.get(name)
    if (known !== undefined) return known
    // Whoever is at a state of before goes on from it.
    if (states.size >= MAX_STATES) {
      root.next.length = 0
      states = new Map([['', root]])
    }
    const state: KeyState = { isFound, codes: sorted, next: [] }
    states.set(name, state)
    return state
  }

  function behind({ codes }: KeyState, byte: number): KeyState {
    const reached = new Set<number>()
    let isFound = false
    for (const code of [...codes, ...starts]) {
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

  return {
    root,
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

const PLACE_SHIFT = 12
const TEXT_SHIFT = 4
const TEXT_MASK = 255
const OFFSET_MASK = 15

function codeOf(place: number, text = 0, offset = 0): number {
  return (place << PLACE_SHIFT) | (text << TEXT_SHIFT) | offset
}
