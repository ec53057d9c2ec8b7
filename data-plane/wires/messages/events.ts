/**
 * The event grammar of a streamed message: message_start, then blocks one after another, each opened, filled with
 * deltas of its own kind and closed, then message_delta and message_stop. Each step takes the state before it and
 * returns the state after it, so that an event out of order does not compile. No other module writes these events.
 */

/** Nothing was sent. */
export type Idle = { readonly at: 'idle' }
/** The message has begun and no block is open; `next` is the index of the next one. */
export type Between = { readonly at: 'between'; readonly next: number }
/** A block is open; `head` is the beginning of its deltas. */
type Open<Kind extends string> = { readonly at: Kind; readonly index: number; readonly head: string }
export type InText = Open<'text'>
export type InThinking = Open<'thinking'>
export type InTool = Open<'tool'>
export type InBlock = InText | InThinking | InTool
/** The message is over. */
export type Ended = { readonly at: 'ended' }

/** A state with the bytes that led to it. */
export type EventStep<State> = { readonly state: State; readonly text: string }

export const IDLE: Idle = { at: 'idle' }

function event(name: string, members: string): string {
  return `event: ${name}\ndata: {"type":"${name}"${members}}\n\n`
}

/** `message` is the message without content, as JSON text. */
export function startMessage(_from: Idle, message: string): EventStep<Between> {
  return { state: { at: 'between', next: 0 }, text: event('message_start', `,"message":${message}`) }
}

function openBlock<Kind extends InBlock['at']>(
  from: Between,
  at: Kind,
  block: string,
  delta: string,
): EventStep<Open<Kind>> {
  const index = from.next
  const head = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{${delta}`
  const text = event('content_block_start', `,"index":${index},"content_block":{${block}}`)
  return { state: { at, index, head }, text }
}

/** `hasCitations` opens a text whose citations come as deltas of their own. */
export function openText(from: Between, hasCitations = false): EventStep<InText> {
  const block = hasCitations ? '"type":"text","text":"","citations":[]' : '"type":"text","text":""'
  return openBlock(from, 'text', block, '"type":"text_delta","text":')
}

export function openThinking(from: Between): EventStep<InThinking> {
  return openBlock(from, 'thinking', '"type":"thinking","thinking":"","signature":""', '"type":')
}

export function openTool(from: Between, id: string, name: string): EventStep<InTool> {
  const block = `"type":"tool_use","id":${JSON.stringify(id)},"name":${JSON.stringify(name)},"input":{}`
  return openBlock(from, 'tool', block, '"type":"input_json_delta","partial_json":')
}

/** Reasoning that only its maker can read, in a single block. */
export function redactedBlock(from: Between, data: string): EventStep<Between> {
  return wholeBlock(from, `{"type":"redacted_thinking","data":${JSON.stringify(data)}}`)
}

/** A block that is sent as a whole, as JSON text. */
export function wholeBlock(from: Between, content: string): EventStep<Between> {
  const { next } = from
  const block = `,"index":${next},"content_block":${content}`
  return {
    state: { at: 'between', next: next + 1 },
    text: event('content_block_start', block) + event('content_block_stop', `,"index":${next}`),
  }
}

export function textDelta({ head }: InText, text: string): string {
  return `${head}${JSON.stringify(text)}}}\n\n`
}

/** `citation` is JSON text. */
export function citationDelta({ index }: InText, citation: string): string {
  return event('content_block_delta', `,"index":${index},"delta":{"type":"citations_delta","citation":${citation}}`)
}

/**
 * A call of a tool at the model's maker. `head` is the block without its input, and `input` is its input, as JSON text.
 */
export function makersCall(from: Between, head: string, input: string): EventStep<Between> {
  const { next } = from
  const delta = `,"index":${next},"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(input)}}`
  return {
    state: { at: 'between', next: next + 1 },
    text:
      event('content_block_start', `,"index":${next},"content_block":${head}`) +
      event('content_block_delta', delta) +
      event('content_block_stop', `,"index":${next}`),
  }
}

export function thinkingDelta({ head }: InThinking, text: string): string {
  return `${head}"thinking_delta","thinking":${JSON.stringify(text)}}}\n\n`
}

export function signatureDelta({ head }: InThinking, signature: string): string {
  return `${head}"signature_delta","signature":${JSON.stringify(signature)}}}\n\n`
}

export function inputDelta({ head }: InTool, json: string): string {
  return `${head}${JSON.stringify(json)}}}\n\n`
}

export function closeBlock({ index }: InBlock): EventStep<Between> {
  return { state: { at: 'between', next: index + 1 }, text: event('content_block_stop', `,"index":${index}`) }
}

/** `delta` and `usage` are objects as JSON text. */
export function endMessage(_from: Between, delta: string, usage: string): EventStep<Ended> {
  return {
    state: { at: 'ended' },
    text: event('message_delta', `,"delta":${delta},"usage":${usage}`) + event('message_stop', ''),
  }
}

/** Allowed anywhere, even before the message. */
export const PING = event('ping', '')

/** Ends a stream in any state; `body` is the wire's error envelope. */
export function errorEvent(body: string): string {
  return `event: error\ndata: ${body}\n\n`
}
