import { expect } from 'vitest'
import { dataOf } from './wire-bytes.ts'

/** A call as a client assembles it. `input` is JSON text. */
export type HeardCall = { readonly id: string; readonly name: string; readonly input: string }

/** An answer as a buyer's client reads it. Reason and usage are in the terms of its protocol. */
export type Heard = { text: string; calls: HeardCall[]; reason: unknown; usage: unknown }

/** Assembles a message stream and checks its grammar. */
export function hearMessagesStream(stream: string): Heard {
  const heard: Heard = { text: '', calls: [], reason: undefined, usage: undefined }
  let open: string | undefined
  let next = 0
  for (const part of stream.split('\n\n').filter((one) => one !== '')) {
    const data: unknown = JSON.parse(part.slice(part.indexOf('\ndata: ') + 7))
    switch (dataOf(data, 'type')) {
      case 'content_block_start':
        expect(open).toBeUndefined()
        expect(dataOf(data, 'index')).toBe(next)
        open = String(dataOf(data, 'content_block', 'type'))
        if (open === 'tool_use') {
          const id = String(dataOf(data, 'content_block', 'id'))
          heard.calls.push({ id, name: String(dataOf(data, 'content_block', 'name')), input: '' })
        }
        break
      case 'content_block_delta': {
        expect(dataOf(data, 'index')).toBe(next)
        const kind = dataOf(data, 'delta', 'type')
        expect(kind).toBe(open === 'text' ? 'text_delta' : 'input_json_delta')
        if (kind === 'text_delta') heard.text += String(dataOf(data, 'delta', 'text'))
        else {
          const call = heard.calls.at(-1)
          const piece = String(dataOf(data, 'delta', 'partial_json'))
          if (call) heard.calls[heard.calls.length - 1] = { ...call, input: call.input + piece }
        }
        break
      }
      case 'content_block_stop':
        expect(open).toBeDefined()
        open = undefined
        next++
        break
      case 'message_delta':
        expect(open).toBeUndefined()
        heard.reason = dataOf(data, 'delta', 'stop_reason')
        heard.usage = dataOf(data, 'usage')
    }
  }
  return heard
}

/** Assembles a chat stream. */
export function hearChatStream(stream: string): Heard {
  const heard: Heard = { text: '', calls: [], reason: undefined, usage: undefined }
  for (const part of stream.split('\n\n').filter((one) => one.startsWith('data: {'))) {
    const frame: unknown = JSON.parse(part.slice(6))
    const choice = dataOf(frame, 'choices', '0')
    heard.usage = dataOf(frame, 'usage') ?? heard.usage
    heard.text += String(dataOf(choice, 'delta', 'content') ?? '')
    heard.reason = dataOf(choice, 'finish_reason') ?? heard.reason
    const call = dataOf(choice, 'delta', 'tool_calls', '0')
    if (call === undefined) continue
    const index = Number(dataOf(call, 'index'))
    const known = heard.calls[index]
    const piece = String(dataOf(call, 'function', 'arguments'))
    heard.calls[index] = known
      ? { ...known, input: known.input + piece }
      : { id: String(dataOf(call, 'id')), name: String(dataOf(call, 'function', 'name')), input: piece }
  }
  return heard
}
