import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:http'
import type { Buyer } from './market.ts'

/** A call that a client may make. */
export type CallShape = {
  readonly model: string
  readonly isStreamed: boolean
  readonly maxTokens: number
  /** Milliseconds after sending at which the client disconnects. */
  readonly leavesAfterMs?: number
}

/** The facts about a call that its client can know. */
export type CallSeen = {
  readonly shape: CallShape
  readonly node: number
  readonly account: string
  readonly rid: string | undefined
  /** The HTTP status, or 0 without an answer. */
  readonly status: number
  /** True when the whole document arrived, or the stream up to its end mark. */
  readonly isComplete: boolean
  /** The cost in the answer, in micro-USD. */
  readonly costMicro: bigint | undefined
  readonly errorCode: string | undefined
  readonly retryAfter: string | undefined
  /** Monotonic milliseconds. */
  readonly sentAt: number
  /** The time at which the head of the answer arrived. */
  readonly answeredAt: number | undefined
  readonly endedAt: number
  /** The first 300 characters of an answer that is not from the market. */
  readonly text: string
}

const SILENCE_MS = 60_000
const KEPT_CHARS = 300

export type Client = {
  call(node: number, buyer: Buyer, shape: CallShape): Promise<CallSeen>
  close(): void
}

/** Creates a client with connections of its own to every data plane. */
export function createClient(origin: (node: number) => string, tag: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  let asked = 0
  return {
    close: () => agent.destroy(),
    call(node, buyer, shape) {
      const body = JSON.stringify({
        model: shape.model,
        max_tokens: shape.maxTokens,
        messages: [{ role: 'user', content: `call ${tag} ${asked++}` }],
        ...(shape.isStreamed ? { stream: true, stream_options: { include_usage: true } } : {}),
      })
      return send(`${origin(node)}/v1/chat/completions`, { agent, body, buyer, shape, node })
    },
  }
}

type Sending = {
  readonly agent: Agent
  readonly body: string
  readonly buyer: Buyer
  readonly shape: CallShape
  readonly node: number
}

function send(url: string, { agent, body, buyer, shape, node }: Sending): Promise<CallSeen> {
  const sentAt = performance.now()
  return new Promise((resolve) => {
    let head: IncomingMessage | undefined
    let answeredAt: number | undefined
    let text = ''
    let isOver = false
    const finish = (isWhole: boolean) => {
      if (isOver) return
      isOver = true
      resolve({
        shape,
        node,
        account: buyer.account,
        ...readAnswer(head, text, isWhole, shape),
        sentAt,
        answeredAt,
        endedAt: performance.now(),
      })
    }
    const outgoing = request(url, {
      agent,
      method: 'POST',
      timeout: SILENCE_MS,
      headers: {
        authorization: `Bearer ${buyer.key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    outgoing.on('response', (incoming) => {
      head = incoming
      answeredAt = performance.now()
      incoming.setEncoding('utf8')
      incoming.on('data', (chunk: string) => {
        text += chunk
      })
      incoming.on('end', () => finish(incoming.complete))
      incoming.on('error', () => finish(false))
      incoming.on('close', () => finish(incoming.complete))
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', () => finish(false))
    if (shape.leavesAfterMs !== undefined) setTimeout(() => outgoing.destroy(), shape.leavesAfterMs)
    outgoing.end(body)
  })
}

type Read = Pick<CallSeen, 'rid' | 'status' | 'isComplete' | 'costMicro' | 'errorCode' | 'retryAfter' | 'text'>

function readAnswer(head: IncomingMessage | undefined, text: string, isWhole: boolean, shape: CallShape): Read {
  const header = (name: string) => {
    const value = head?.headers[name]
    return typeof value === 'string' ? value : undefined
  }
  const cost = /"buyer_cost_micro":\s*"?(\d+)/g
  const costs = [...text.matchAll(cost)]
  const last = costs.at(-1)?.[1]
  const status = head?.statusCode ?? 0
  const hasError = /"error":\s*\{/.test(text)
  const isEnded = shape.isStreamed && status === 200 ? text.trimEnd().endsWith('data: [DONE]') : isWhole
  return {
    rid: header('x-request-id'),
    status,
    isComplete: isEnded && !hasError && status === 200,
    costMicro: last === undefined ? undefined : BigInt(last),
    errorCode: /"code":\s*"(\w+)"/.exec(text)?.[1],
    retryAfter: header('retry-after'),
    text: status === 200 ? '' : text.slice(0, KEPT_CHARS),
  }
}
