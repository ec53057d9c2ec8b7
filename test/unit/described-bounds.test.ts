import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { chat } from '#data-plane/wires/chat/index.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { embeddings } from '#data-plane/wires/embeddings/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { speech } from '#data-plane/wires/speech/index.ts'
import { video } from '#data-plane/wires/video/index.ts'
import { AppError } from '#shared/errors.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'
import { DOCUMENT, operationOf } from '#test/support/facts/description.ts'

/** The wires check their members by hand, so this test compares the described bounds with the wires. */

const Member = z.looseObject({
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  maxLength: z.number().optional(),
  enum: z.array(z.unknown()).optional(),
})
const WIRES = [
  ['/v1/chat/completions', chat],
  ['/v1/completions', completions],
  ['/v1/responses', responses],
  ['/v1/embeddings', embeddings],
  ['/v1/audio/speech', speech],
  ['/compat/v1/messages', messages],
  ['/v1/video/generations', video],
] as const

/** The members of a body with their bounds, without the alternative `null`. */
function membersOf(path: string): [name: string, member: z.infer<typeof Member>][] {
  const schema = operationOf('POST', path)?.requestBody?.content['application/json']?.schema ?? {}
  const name = String(schema['$ref']).split('/').at(-1) ?? ''
  const properties = z.record(z.string(), z.unknown()).parse(DOCUMENT.components.schemas[name]?.['properties'])
  return Object.entries(properties).map(([member, given]) => {
    const { anyOf } = z.looseObject({ anyOf: z.array(z.unknown()).optional() }).parse(given)
    return [member, Member.parse(anyOf?.length === 2 ? anyOf[0] : given)]
  })
}

/** Values at the bounds, and values just outside. */
function edgesOf({ minimum, maximum, maxLength, enum: words }: z.infer<typeof Member>): {
  good: unknown[]
  bad: unknown[]
} {
  return {
    good: [...[minimum, maximum].filter((edge) => edge !== undefined), ...(words ?? [])],
    bad: [
      ...(minimum === undefined ? [] : [minimum - 1]),
      ...(maximum === undefined ? [] : [maximum + 1]),
      ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
      ...(words === undefined ? [] : ['no-such-word']),
    ],
  }
}

describe('the bounds of members in the description', () => {
  it.each(WIRES)('are those that the wire enforces: %s', (path, wire) => {
    const example = operationOf('POST', path)?.requestBody?.content['application/json']?.examples['whole']?.value
    const read = (change: object) => wire.read(buildRaw(JSON.stringify({ ...example, ...change })))
    expect(() => read({})).not.toThrow()
    let tried = 0
    for (const [name, member] of membersOf(path)) {
      const { good, bad } = edgesOf(member)
      for (const value of good) expect(() => read({ [name]: value }), `${name} ${String(value)}`).not.toThrow()
      for (const value of bad) {
        tried++
        expect(() => read({ [name]: value }), `${name} ${String(value).slice(0, 40)}`).toThrow(AppError)
      }
    }
    expect(tried).toBeGreaterThan(1)
  })
})
