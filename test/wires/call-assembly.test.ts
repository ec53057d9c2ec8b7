import { describe, expect, it } from 'vitest'
import { assembleCalls } from '#shared/protocols/answers/call-pieces.ts'
import type { WireName } from '#test/support/bytes/heard-on-wire.ts'
import { hearOnWire, WIRE_NAMES } from '#test/support/bytes/heard-on-wire.ts'
import { chatFrame } from '#test/support/bytes/wire-bytes.ts'

const END = `${chatFrame({ delta: {}, finish_reason: 'tool_calls' })}data: [DONE]\n\n`
const streamOf = (deltas: readonly (readonly object[])[]) =>
  deltas.map((calls) => chatFrame({ delta: { tool_calls: calls } })).join('') + END

const fn = (name: string | undefined, args?: unknown) => ({
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
})

/** Deltas of providers, and the intended calls. A missing id is left out. */
const CASES: readonly (readonly [name: string, deltas: readonly (readonly object[])[], calls: readonly string[]])[] = [
  [
    'two ids under one index',
    [
      [{ index: 0, id: 'call_a', ...fn('f', '{"a":1}') }],
      [{ index: 0, id: 'call_b', ...fn('g', '{"b"') }],
      [{ index: 0, ...fn(undefined, ':2}') }],
    ],
    ['call_a f {"a":1}', 'call_b g {"b":2}'],
  ],
  [
    'two ids under one index in one delta',
    [
      [
        { index: 0, id: 'call_a', ...fn('f', '{"a":1}') },
        { index: 0, id: 'call_b', ...fn('f', '{"b":2}') },
      ],
    ],
    ['call_a f {"a":1}', 'call_b f {"b":2}'],
  ],
  [
    'neither index nor id, two calls in one delta',
    [[fn('f', '{"a":1}'), fn('g', '{"b":2}')]],
    ['call_0 f {"a":1}', 'call_1 g {"b":2}'],
  ],
  [
    'neither index nor id, two calls in pieces side by side',
    [
      [fn('f', '{"a"'), fn('g', '{"b"')],
      [fn(undefined, ':1}'), fn(undefined, ':2}')],
    ],
    ['call_0 f {"a":1}', 'call_1 g {"b":2}'],
  ],
  [
    'neither index nor id, a whole call in each delta',
    [[fn('f', { a: 1 })], [fn('f', { a: 2 })], [fn('g', '{}')], [fn('g', '{}')]],
    ['call_0 f {"a":1}', 'call_1 f {"a":2}', 'call_2 g {}', 'call_3 g {}'],
  ],
  [
    'the name in a later chunk, and input before it',
    [
      [{ index: 0, id: 'call_a', type: 'function', ...fn('', '') }],
      [{ index: 0, ...fn(undefined, '{"a"') }],
      [{ index: 0, ...fn('f') }],
      [{ index: 0, ...fn(undefined, ':1}') }],
    ],
    ['call_a f {"a":1}'],
  ],
  [
    'the id in a later chunk',
    [[{ index: 0, ...fn('', '') }], [{ index: 0, id: 'call_a', ...fn('f', '{}') }]],
    ['call_a f {}'],
  ],
  [
    'indexes that begin at 1 and leave gaps',
    [[{ index: 1, id: 'call_a', ...fn('f', '{}') }], [{ index: 3, id: 'call_b', ...fn('g', '{}') }]],
    ['call_a f {}', 'call_b g {}'],
  ],
  [
    'one id under two indexes',
    [[{ index: 0, id: 'call_a', ...fn('f', '{}') }], [{ index: 1, id: 'call_a', ...fn('f', '{"b":2}') }]],
    ['call_a f {}', 'call_1 f {"b":2}'],
  ],
  [
    'the head repeated with each piece',
    [[{ index: 0, id: 'call_a', ...fn('f', '{"a"') }], [{ index: 0, id: 'call_a', ...fn('f', ':1}') }]],
    ['call_a f {"a":1}'],
  ],
  [
    'another id with each piece of one call',
    [
      [{ index: 0, id: 'r1', ...fn('f', '') }],
      [{ index: 0, id: 'r2', ...fn(undefined, '{"a"') }],
      [{ index: 0, id: 'r3', ...fn(undefined, ':1}') }],
    ],
    ['r1 f {"a":1}'],
  ],
  [
    'another id under one index whose name comes later',
    [
      [{ index: 0, id: 'call_a', ...fn('f', '{"a":1}') }],
      [{ index: 0, id: 'call_b', ...fn('', '') }],
      [{ index: 0, ...fn('g', '{"b":2}') }],
    ],
    ['call_a f {"a":1}', 'call_b g {"b":2}'],
  ],
  [
    'a call that never gets a name',
    [[{ index: 0, id: 'call_a', ...fn(undefined, '{}') }], [{ index: 1, id: 'call_b', ...fn('g', '{}') }]],
    ['call_b g {}'],
  ],
]

const REASONS: Readonly<Record<WireName, readonly [withCalls: string, without: string]>> = {
  chat: ['tool_calls', 'stop'],
  messages: ['tool_use', 'end_turn'],
  responses: ['completed', 'completed'],
}

describe.each(WIRE_NAMES)('calls of a provider’s stream on the %s wire', (wire) => {
  it.each(CASES)('%s', (_name, deltas, expected) => {
    for (const isStreamed of [true, false]) {
      const { calls, reason } = hearOnWire(wire, isStreamed, streamOf(deltas))
      expect(calls.map(({ id, name, input }) => `${id} ${name} ${input}`)).toEqual(expected)
      expect(reason).toBe(REASONS[wire][0])
    }
  })

  it('an answer without calls whose finish reason names calls', () => {
    const said = chatFrame({ delta: { content: 'x' } })
    const whole = { choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'tool_calls' }] }
    for (const isStreamed of [true, false]) {
      for (const bytes of [said + END, JSON.stringify(whole)]) {
        expect(hearOnWire(wire, isStreamed, bytes)).toMatchObject({ text: 'x', calls: [], reason: REASONS[wire][1] })
      }
    }
  })

  it('calls of a whole answer without ids, or with the same id for two', () => {
    const calls = [
      { type: 'function', ...fn('f', { a: 1 }) },
      { id: 'call_x', type: 'function', ...fn('g', '{}') },
      { id: 'call_x', type: 'function', ...fn('g', '{"b":2}') },
    ]
    const message = { role: 'assistant', content: null, tool_calls: calls }
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
    for (const isStreamed of [true, false]) {
      const heard = hearOnWire(wire, isStreamed, body).calls
      expect(heard.map(({ name, input }) => `${name} ${input}`)).toEqual(['f {"a":1}', 'g {}', 'g {"b":2}'])
      expect(new Set(heard.map(({ id }) => id)).size).toBe(3)
      expect(heard.map(({ id }) => id)).toContain('call_x')
    }
  })
})

describe('an assembly', () => {
  it('reads at most 128 calls, and ignores malformed ones', () => {
    const assembly = assembleCalls()
    const many = Array.from({ length: 200 }, (_, at) => ({ index: at, id: `c${at}`, ...fn('f', '{}') }))
    expect(assembly.take([...many, 5, null, 'x', []])).toHaveLength(128)
    expect(assembly.end()).toEqual([])
  })
})
