import { isRecord } from '#shared/json-members.ts'
import type { Encoding } from './read-request.ts'

const BYTES_A_FLOAT = 4
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** Members of a vector's object that pass. */
const PASSED: ReadonlySet<string> = new Set(['object', 'index', 'embedding'])

/** The vectors of an answer, checked. */
export type Vectors = {
  readonly entries: readonly { readonly index: number; readonly embedding: string | readonly number[] }[]
  /** True when the provider's own text has the requested encoding and no forbidden members. */
  readonly isAsAsked: boolean
  readonly bytes: number
}

/** Reads `data` of an answer; undefined unless it holds one vector for each input. */
export function readVectors(data: unknown, count: number, encoding: Encoding): Vectors | undefined {
  if (!Array.isArray(data) || data.length !== count) return undefined
  const entries: { index: number; embedding: string | readonly number[] }[] = []
  const indexes = new Set<number>()
  let isAsAsked = true
  let bytes = 0
  for (const [place, entry] of data.entries()) {
    if (!isRecord(entry)) return undefined
    const { embedding, index = place } = entry
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) return undefined
    if (!isVector(embedding) || indexes.has(index)) return undefined
    indexes.add(index)
    entries.push({ index, embedding })
    bytes += typeof embedding === 'string' ? Buffer.byteLength(embedding, 'base64') : embedding.length * BYTES_A_FLOAT
    isAsAsked &&= (typeof embedding === 'string') === (encoding === 'base64') && hasOnlyPassed(entry)
  }
  return { entries, isAsAsked, bytes }
}

function isVector(value: unknown): value is string | readonly number[] {
  if (typeof value === 'string') return BASE64.test(value) && Buffer.byteLength(value, 'base64') % BYTES_A_FLOAT === 0
  return Array.isArray(value) && value.length > 0 && value.every((part) => Number.isFinite(part))
}

function hasOnlyPassed(entry: Readonly<Record<string, unknown>>): boolean {
  if (entry['object'] !== 'embedding' || entry['index'] === undefined) return false
  for (const name in entry) if (!PASSED.has(name)) return false
  return true
}

/** Writes `data` anew in the requested encoding. */
export function writeVectors({ entries }: Vectors, encoding: Encoding): string {
  const entryTexts = entries.map(({ index, embedding }) => {
    const isText = typeof embedding === 'string'
    const vector =
      encoding === 'base64' ? (isText ? embedding : pack(embedding)) : isText ? unpack(embedding) : embedding
    return `{"object":"embedding","index":${index},"embedding":${JSON.stringify(vector)}}`
  })
  return `[${entryTexts.join(',')}]`
}

function pack(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * BYTES_A_FLOAT)
  for (const [place, part] of vector.entries()) bytes.writeFloatLE(part, place * BYTES_A_FLOAT)
  return bytes.toString('base64')
}

function unpack(text: string): number[] {
  const bytes = Buffer.from(text, 'base64')
  const vector: number[] = []
  for (let at = 0; at < bytes.length; at += BYTES_A_FLOAT) vector.push(bytes.readFloatLE(at))
  return vector
}
