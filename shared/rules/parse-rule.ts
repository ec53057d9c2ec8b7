/**
 * A rule is a small expression that an operator writes as data: it reads a request or an answer and gives a number or a
 * text. It has no loops, no names of its own and no way to call anything but the functions below, so it always ends.
 *
 *     min(body.max_tokens ?? model.maxOutput, model.maxOutput)
 *     ceil(pick(body.image_size ?? 'square', 'square', 262144, 'portrait', 589824) / 1000000)
 *     count(body.messages[*].content[*].image_url) * model.imageTokens + size
 *
 * From loose to tight: `??` (the right side where the left is absent), `+ -`, `* /`. A path begins with a root and goes
 * on with `.member`, `[0]`, `[-1]` for the last, or `[*]` for all.
 */
export type Rule =
  | { readonly is: 'literal'; readonly value: number | string }
  | { readonly is: 'path'; readonly root: RuleRoot; readonly steps: readonly PathStep[] }
  | { readonly is: 'call'; readonly name: RuleFunction; readonly args: readonly Rule[] }

/** A step of a path: a member, a place from the front or, below zero, from the back, or all elements. */
export type PathStep = string | number | typeof EVERY
export const EVERY = Symbol('every element')

/**
 * The values that a rule may read. `size` is the number of bytes of the request's body, `content` that of an answer's
 * content; `model` contains the members of a good.
 */
export const RULE_ROOTS = ['body', 'query', 'path', 'size', 'model', 'answer', 'header', 'content'] as const
export type RuleRoot = (typeof RULE_ROOTS)[number]

/** Functions and operators, each with the fewest and the most arguments. */
const FUNCTIONS = {
  '+': [2, 2],
  '-': [2, 2],
  '*': [2, 2],
  '/': [2, 2],
  '??': [2, 2],
  /** The least and the greatest. */
  min: [1, 8],
  max: [1, 8],
  /** The next whole number up and down. */
  ceil: [1, 1],
  floor: [1, 1],
  /** The number in a text of plain digits, as queries have them. */
  number: [1, 1],
  /** The number of values: elements of a list, or places that a path with `[*]` finds. */
  count: [1, 1],
  /** The sum of those values. */
  sum: [1, 1],
  /** The bytes of a value as JSON. */
  bytes: [1, 1],
  /** The bytes of a text, or of all texts that a path with `[*]` finds. */
  length: [1, 1],
  /** The area of a text such as `1024x768`. */
  pixels: [1, 1],
  /** The argument that follows the one which equals the first. Absent where none does. */
  pick: [3, 41],
  /** Texts and whole numbers joined to one text. */
  join: [1, 8],
} as const satisfies Readonly<Record<string, readonly [least: number, most: number]>>
export type RuleFunction = keyof typeof FUNCTIONS

/** The longest rule in characters, the largest number of its parts, and their deepest nesting. */
export const MAX_RULE_CHARS = 1_000
const MAX_RULE_PARTS = 128
const MAX_RULE_DEPTH = 16
const MAX_STEPS = 12
/** Each `[*]` multiplies the places that the rule reads. */
const MAX_WILDCARDS = 2

/** The error of a text that is no valid rule. The message names the position. */
export class RuleError extends Error {}

/** Reads a rule. Throws {@link RuleError}. */
export function parseRule(text: string): Rule {
  if (text.length > MAX_RULE_CHARS) throw new RuleError(`a rule has at most ${MAX_RULE_CHARS} characters`)
  const reader: Reader = { tokens: tokensOf(text), at: 0, parts: 0, depth: 0 }
  const rule = readChoice(reader)
  const rest = reader.tokens[reader.at]
  if (rest !== undefined) throw new RuleError(`${tokenText(rest)} is not expected`)
  return rule
}

/** The roots that a rule reads. */
export function rootsOf(rule: Rule): ReadonlySet<RuleRoot> {
  if (rule.is === 'literal') return new Set()
  if (rule.is === 'path') return new Set([rule.root])
  return new Set(rule.args.flatMap((arg) => [...rootsOf(arg)]))
}

type Token =
  | { readonly is: 'number'; readonly value: number; readonly at: number }
  | { readonly is: 'text' | 'name' | 'sign'; readonly value: string; readonly at: number }
type Reader = { readonly tokens: readonly Token[]; at: number; parts: number; depth: number }

const TOKEN =
  /\s*(?:(?<number>\d{1,15}(?:\.\d{1,12})?)(?![\w.])|'(?<text>[^'\\\n]*)'|(?<name>[A-Za-z_][\w-]*)|(?<sign>\?\?|[-+*/(),.[\]]))/

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  const end = text.trimEnd().length
  const reading = new RegExp(TOKEN, 'y')
  while (reading.lastIndex < end) {
    const from = reading.lastIndex
    const groups = reading.exec(text)?.groups
    if (groups === undefined) throw new RuleError(`character ${from + 1} cannot be read`)
    const at = from + 1
    const { number, text: quoted, name, sign } = groups
    if (number !== undefined) tokens.push({ is: 'number', value: Number(number), at })
    else if (quoted !== undefined) tokens.push({ is: 'text', value: quoted, at })
    else if (name !== undefined) tokens.push({ is: 'name', value: name, at })
    else tokens.push({ is: 'sign', value: sign ?? '', at })
  }
  return tokens
}

function readChoice(reader: Reader): Rule {
  if (++reader.depth > MAX_RULE_DEPTH) throw new RuleError(`a rule nests at most ${MAX_RULE_DEPTH} deep`)
  const rule = readInfix(reader, ['??'], (inner) =>
    readInfix(inner, ['+', '-'], (most) => readInfix(most, ['*', '/'], readPart)),
  )
  reader.depth--
  return rule
}

function readInfix(reader: Reader, signs: readonly RuleFunction[], readSide: (reader: Reader) => Rule): Rule {
  let left = readSide(reader)
  for (let name = takeOneOf(reader, signs); name !== undefined; name = takeOneOf(reader, signs)) {
    left = countPart(reader, { is: 'call', name, args: [left, readSide(reader)] })
  }
  return left
}

function readPart(reader: Reader): Rule {
  const token = reader.tokens[reader.at++]
  if (token === undefined) throw new RuleError('the rule ends too early')
  if (token.is === 'number' || token.is === 'text') return countPart(reader, { is: 'literal', value: token.value })
  if (token.is === 'name') return takeSign(reader, '(') ? readCall(reader, token) : readPath(reader, token)
  if (token.value !== '(') throw new RuleError(`${tokenText(token)} is not expected`)
  const rule = readChoice(reader)
  expectSign(reader, ')')
  return rule
}

function readCall(reader: Reader, token: Token): Rule {
  const name = String(token.value)
  if (!isFunction(name)) throw new RuleError(`there is no function ${tokenText(token)}`)
  const args = [readChoice(reader)]
  while (takeSign(reader, ',')) args.push(readChoice(reader))
  expectSign(reader, ')')
  const [least, most] = FUNCTIONS[name]
  if (args.length < least || args.length > most) {
    throw new RuleError(`${tokenText(token)} takes ${least === most ? least : `${least} to ${most}`} arguments`)
  }
  if (name === 'pick' && args.length % 2 === 0) throw new RuleError(`${tokenText(token)} takes a value and then pairs`)
  return countPart(reader, { is: 'call', name, args })
}

function readPath(reader: Reader, token: Token): Rule {
  const root = RULE_ROOTS.find((each) => each === token.value)
  if (root === undefined) throw new RuleError(`${tokenText(token)} is not one of ${RULE_ROOTS.join(', ')}`)
  const steps: PathStep[] = []
  for (;;) {
    if (takeSign(reader, '.')) steps.push(readName(reader))
    else if (takeSign(reader, '[')) {
      steps.push(readPlace(reader))
      expectSign(reader, ']')
    } else break
  }
  if (steps.length > MAX_STEPS) throw new RuleError(`${tokenText(token)} has more than ${MAX_STEPS} steps`)
  if (steps.filter((step) => step === EVERY).length > MAX_WILDCARDS) {
    throw new RuleError(`${tokenText(token)} has more than ${MAX_WILDCARDS} of [*]`)
  }
  return countPart(reader, { is: 'path', root, steps })
}

function readName(reader: Reader): string {
  const token = reader.tokens[reader.at++]
  if (token?.is !== 'name') throw new RuleError('a name follows a dot')
  return token.value
}

function readPlace(reader: Reader): PathStep {
  if (takeSign(reader, '*')) return EVERY
  const isFromBack = takeSign(reader, '-')
  const token = reader.tokens[reader.at++]
  // Names that are no words, such as `x-cost` after a dot, are written in quotes.
  if (token?.is === 'text' && !isFromBack) return token.value
  if (token?.is !== 'number' || !Number.isInteger(token.value)) throw new RuleError('a place is a whole number or *')
  return isFromBack ? -token.value : token.value
}

function countPart(reader: Reader, rule: Rule): Rule {
  if (++reader.parts > MAX_RULE_PARTS) throw new RuleError(`a rule has at most ${MAX_RULE_PARTS} parts`)
  return rule
}

function takeOneOf(reader: Reader, signs: readonly RuleFunction[]): RuleFunction | undefined {
  const nextSign = signs.find((sign) => isSign(reader, sign))
  if (nextSign !== undefined) reader.at++
  return nextSign
}

function takeSign(reader: Reader, sign: string): boolean {
  if (!isSign(reader, sign)) return false
  reader.at++
  return true
}

function expectSign(reader: Reader, sign: string): void {
  if (!takeSign(reader, sign)) {
    const token = reader.tokens[reader.at]
    throw new RuleError(`${sign} is missing ${token === undefined ? 'at the end' : `before ${tokenText(token)}`}`)
  }
}

function isSign({ tokens, at }: Reader, sign: string): boolean {
  const token = tokens[at]
  return token?.is === 'sign' && token.value === sign
}

function isFunction(name: string): name is RuleFunction {
  return /^[a-z]+$/.test(name) && Object.hasOwn(FUNCTIONS, name)
}

function tokenText({ value, at }: Token): string {
  return `${JSON.stringify(value)} at character ${at}`
}
