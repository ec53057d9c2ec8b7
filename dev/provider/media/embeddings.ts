import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { MediaAnswer } from './media-call.ts'

const DEFAULT_DIMENSIONS = 256
const BYTES_A_TOKEN = 4
const JSON_TYPE = 'application/json'

const Tokens = z.array(z.number().int()).min(1)
const Body = z.looseObject({
  model: z.string(),
  input: z.union([z.string().min(1), Tokens, z.array(z.string().min(1)).min(1), z.array(Tokens).min(1)]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.number().int().positive().nullish(),
})
type Input = z.infer<typeof Body>['input']

/** Makes vectors from hashes, in the requested encoding. Undefined when the body is not a request. */
export function embed(body: unknown, act: string): MediaAnswer | undefined {
  const request = Body.safeParse(body).data
  if (request === undefined) return undefined
  const inputs = inputsOf(request.input)
  const dimensions = request.dimensions ?? DEFAULT_DIMENSIONS
  const data = inputs.map((input, index) => {
    const vector = vectorOf(JSON.stringify(input), dimensions)
    const embedding = request.encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector]
    return { object: 'embedding', index, embedding }
  })
  const list = { object: 'list', data, model: request.model, ...usageOf(inputs, act) }
  return {
    contentType: JSON_TYPE,
    bytes: Buffer.from(JSON.stringify(list)),
    empty: Buffer.from(JSON.stringify({ ...list, data: [] })),
  }
}

const Inputs = z.array(z.union([z.string(), Tokens]))

function inputsOf(input: Input): readonly (string | number[])[] {
  if (typeof input === 'string') return [input]
  const isOne = input.every((part) => typeof part === 'number')
  return isOne ? [Tokens.parse(input)] : Inputs.parse(input)
}

function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (let at = 0; at < dimensions; at += 1) {
    const block = createHash('sha256')
      .update(`${at >> 3} ${text}`)
      .digest()
    vector[at] = block.readInt32LE((at & 7) * 4) / 2 ** 31
  }
  return vector
}

function usageOf(inputs: readonly (string | number[])[], act: string): object {
  if (act === 'usage-missing') return {}
  if (act === 'usage-zero') return { usage: { prompt_tokens: 0, total_tokens: 0 } }
  if (act === 'usage-absurd') return { usage: { prompt_tokens: -1, total_tokens: 1e30 } }
  const tokens = inputs.reduce(
    (sum, input) =>
      sum + (typeof input === 'string' ? Math.ceil(Buffer.byteLength(input) / BYTES_A_TOKEN) : input.length),
    0,
  )
  return { usage: { prompt_tokens: tokens, total_tokens: tokens } }
}
