import { expect } from 'vitest'
import type { ModelPlan } from '#data-plane/call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { buildPlan, buildRaw } from './build-market.ts'
import { RECEIPT } from './chat-answers.ts'
import { dataOf, decodePieces } from './wire-bytes.ts'

const USER = [{ role: 'user', content: 'hi' }]

/** Wires of conversations, each with the request that every seller can answer. */
export const WIRES = {
  chat: { wire: chat, ask: { messages: USER } },
  messages: { wire: messages, ask: { messages: USER, max_tokens: 50 } },
  responses: { wire: responses, ask: { input: 'hi' } },
} as const

export type WireName = keyof typeof WIRES
export const WIRE_NAMES = ['chat', 'messages', 'responses'] as const satisfies readonly WireName[]

/** An answer as a client of its wire reads it. */
export type HeardOnWire = {
  readonly text: string
  readonly thought: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[]
  readonly reason: unknown
  /** The message, or the list of items, in the form that its client would send back. */
  readonly turn: unknown
}

type Sent = { readonly plan?: ModelPlan; readonly request?: object; readonly cuts?: readonly number[] }

/** The answer to a call on a wire, for these bytes of a provider. */
export function hearOnWire(
  name: WireName,
  isStreamed: boolean,
  bytes: string | Buffer,
  { plan = buildPlan(), request = {}, cuts = [] }: Sent = {},
): HeardOnWire {
  const { wire, ask } = WIRES[name]
  const body = { model: 'gpt-5-mini', ...ask, stream: isStreamed, ...request }
  const decoder = wire.read(buildRaw(JSON.stringify(body))).decoder(plan)
  const out = decodePieces(decoder, bytes, cuts)
  expect(decoder.failure()).toBeUndefined()
  const text = out + decoder.finish(RECEIPT)
  switch (name) {
    case 'chat':
      return chatHeard(isStreamed ? joinChat(text) : dataOf(JSON.parse(text), 'choices', '0'))
    case 'messages':
      return messageHeard(isStreamed ? joinMessage(text) : JSON.parse(text))
    case 'responses':
      return responseHeard(isStreamed ? lastResponse(text) : JSON.parse(text))
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

function chatHeard(choice: unknown): HeardOnWire {
  const message = dataOf(choice, 'message')
  return {
    text: textOf(dataOf(message, 'content')),
    thought: textOf(dataOf(message, 'reasoning_content')),
    calls: listOf(dataOf(message, 'tool_calls')).map((call) => ({
      id: textOf(dataOf(call, 'id')),
      name: textOf(dataOf(call, 'function', 'name')),
      input: textOf(dataOf(call, 'function', 'arguments')),
    })),
    reason: dataOf(choice, 'finish_reason'),
    turn: message,
  }
}

function messageHeard(message: unknown): HeardOnWire {
  const blocks = listOf(dataOf(message, 'content'))
  const ofType = (type: string) => blocks.filter((block) => dataOf(block, 'type') === type)
  return {
    text: ofType('text')
      .map((block) => textOf(dataOf(block, 'text')))
      .join(''),
    thought: ofType('thinking')
      .map((block) => textOf(dataOf(block, 'thinking')))
      .join(''),
    calls: ofType('tool_use').map((block) => ({
      id: textOf(dataOf(block, 'id')),
      name: textOf(dataOf(block, 'name')),
      input: JSON.stringify(dataOf(block, 'input')),
    })),
    reason: dataOf(message, 'stop_reason'),
    turn: { role: 'assistant', content: blocks },
  }
}

function responseHeard(response: unknown): HeardOnWire {
  const items = listOf(dataOf(response, 'output'))
  const ofType = (type: string) => items.filter((item) => dataOf(item, 'type') === type)
  const words = (item: unknown, list: string) =>
    listOf(dataOf(item, list))
      .map((part) => textOf(dataOf(part, 'text')))
      .join('')
  return {
    text: ofType('message')
      .map((item) => words(item, 'content'))
      .join(''),
    thought: ofType('reasoning')
      .map((item) => words(item, 'summary'))
      .join(''),
    calls: ofType('function_call').map((item) => ({
      id: textOf(dataOf(item, 'call_id')),
      name: textOf(dataOf(item, 'name')),
      input: textOf(dataOf(item, 'arguments')),
    })),
    reason: dataOf(response, 'status'),
    turn: items,
  }
}

/** The first choice of a chat stream, assembled like the official client does. Unknown members are kept. */
function joinChat(stream: string): unknown {
  const message: Record<string, unknown> = { role: 'assistant', content: null }
  const calls: Record<string, unknown>[] = []
  const details: unknown[] = []
  let reason: unknown
  for (const part of stream.split('\n\n').filter((one) => one.startsWith('data: {'))) {
    const choice = dataOf(JSON.parse(part.slice(6)), 'choices', '0')
    reason = dataOf(choice, 'finish_reason') ?? reason
    const delta = Object(dataOf(choice, 'delta') ?? {})
    const { tool_calls: pieces, role: _, reasoning_details: told, ...rest } = delta
    details.push(...listOf(told))
    for (const [name, value] of Object.entries(rest)) {
      message[name] = typeof value === 'string' ? textOf(message[name]) + value : value
    }
    for (const piece of listOf(pieces)) {
      const { index, function: fn, ...others } = Object(piece)
      const { name, arguments: said } = Object(Object(calls[index])['function'])
      const { name: first, arguments: more } = Object(fn)
      expect(index).toBeLessThanOrEqual(calls.length)
      calls[index] = {
        ...calls[index],
        ...others,
        function: { name: name ?? first, arguments: textOf(said) + textOf(more) },
      }
    }
  }
  if (calls.length > 0) message['tool_calls'] = calls
  if (details.length > 0) message['reasoning_details'] = details
  return { message, finish_reason: reason }
}

function joinMessage(stream: string): unknown {
  const content: Record<string, unknown>[] = []
  let reason: unknown
  let input = ''
  for (const part of stream.split('\n\n').filter((one) => one !== '')) {
    const data: unknown = JSON.parse(part.slice(part.indexOf('\ndata: ') + 7))
    const delta = Object(dataOf(data, 'delta'))
    const block = content.at(-1)
    switch (dataOf(data, 'type')) {
      case 'content_block_start':
        content.push({ ...Object(dataOf(data, 'content_block')) })
        input = ''
        break
      case 'content_block_delta':
        if (block === undefined) throw new RangeError('a delta without a block')
        input += textOf(delta['partial_json'])
        for (const name of ['text', 'thinking', 'signature']) {
          if (typeof delta[name] === 'string') block[name] = textOf(block[name]) + delta[name]
        }
        if (delta['citation'] !== undefined) block['citations'] = [...listOf(block['citations']), delta['citation']]
        break
      case 'content_block_stop':
        if (block?.['type'] === 'tool_use') block['input'] = JSON.parse(input === '' ? '{}' : input)
        break
      case 'message_delta':
        reason = delta['stop_reason']
    }
  }
  return { content, stop_reason: reason }
}

function lastResponse(stream: string): unknown {
  const last = stream.split('\n\n').findLast((part) => part !== '') ?? ''
  return dataOf(JSON.parse(last.slice(last.indexOf('\ndata: ') + 7)), 'response')
}
