import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { keccak256 } from 'viem'
import { z } from 'zod'

/**
 * The fault of a call:
 * - `down`: the connection is cut, and the chain never receives the call.
 * - `hang`: the chain never receives the call, and no answer comes.
 * - `late`: the answer comes after this many milliseconds.
 * - `status`: an HTTP status in place of an answer. The chain never receives the call.
 * - `nonsense`: an answer that is not JSON.
 * - `refuse`: an error of JSON-RPC. The chain never receives the call.
 * - `answer`: this result in place of the chain's: another chain's id for `eth_chainId`, null for a receipt.
 * - `done-refused`: the chain executes the call, and the answer is an error.
 * - `done-unheard`: the chain executes the call, and no answer comes.
 * - `done-cut`: the chain executes the call, and the connection is cut in place of an answer.
 * - `twice`: the chain is asked twice, and the second answer counts.
 * - `dropped`: for `eth_sendRawTransaction`. The answer is the right hash, and the chain never receives the
 *   transaction.
 */
export type RpcFault =
  | { readonly kind: 'down' | 'hang' | 'nonsense' | 'done-unheard' | 'done-cut' | 'twice' | 'dropped' }
  | { readonly kind: 'late'; readonly ms: number }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'refuse' | 'done-refused'; readonly code?: number; readonly message?: string }
  | { readonly kind: 'answer'; readonly result: unknown }

export type FaultSpan = {
  /** The number of calls with the fault. All calls by default. */
  readonly times?: number
  /** The number of calls that pass before the fault begins. */
  readonly after?: number
  /** Selects the calls with the fault by their parameters. All calls by default. */
  readonly only?: (params: unknown) => boolean
}

/** A relay to a chain's JSON-RPC that can be made to fail. */
export type RpcRelay = {
  readonly url: string
  /** Sets the fault of a method's calls from now on, or of all methods without a fault of their own. */
  fault(method: string, fault: RpcFault, span?: FaultSpan): void
  /** Ends the fault of one method, or all faults and the delay. A hanging call hangs until its end. */
  pass(method?: string): void
  /** Delays every call by this many milliseconds, in addition to any fault. */
  slow(ms: number): void
  /** Number of a method's calls so far, or of all calls. */
  calls(method?: string): number
  /** Leads to another chain from now on. */
  retarget(target: string): void
  close(): Promise<void>
}

const ALL = '*'
const CallSchema = z.object({
  jsonrpc: z.string(),
  id: z.unknown(),
  method: z.string(),
  params: z.unknown().optional(),
})
type Call = z.infer<typeof CallSchema>
const RawSchema = z.tuple([z.templateLiteral(['0x', z.string()])])
type RpcError = { readonly code?: number; readonly message?: string }

type Rule = {
  readonly fault: RpcFault
  readonly only: FaultSpan['only'] | undefined
  after: number
  times: number
}
type State = { target: string; slowMs: number; readonly rules: Map<string, Rule>; readonly counts: Map<string, number> }
/** Answers of JSON-RPC as one text, or a way to end without an answer. */
type Reply = { readonly text: string; readonly status?: number } | 'cut' | 'silence'

/** Starts a relay on a loopback port to a chain's URL. */
export async function rpcRelay(target: string): Promise<RpcRelay> {
  const state: State = { target, slowMs: 0, rules: new Map(), counts: new Map() }
  const server = createServer((request, response) => void serve(state, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    fault: (method, fault, { times = Number.POSITIVE_INFINITY, after = 0, only } = {}) =>
      void state.rules.set(method, { fault, times, after, only }),
    pass(method) {
      if (method !== undefined) return void state.rules.delete(method)
      state.rules.clear()
      state.slowMs = 0
    },
    slow(ms) {
      state.slowMs = ms
    },
    calls: (method) =>
      method === undefined
        ? [...state.counts.values()].reduce((sum, count) => sum + count, 0)
        : (state.counts.get(method) ?? 0),
    retarget(next) {
      state.target = next
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  request.on('error', () => undefined)
  response.on('error', () => undefined)
  for await (const chunk of request) chunks.push(chunk)
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  const calls = z.array(CallSchema).parse(Array.isArray(body) ? body : [body])
  if (state.slowMs > 0) await delay(state.slowMs)
  const texts: string[] = []
  for (const call of calls) {
    const reply = await treat(state, call).catch((): Reply => 'cut')
    if (reply === 'silence') return
    if (reply === 'cut') return void request.socket.destroy()
    if (reply.status !== undefined) return void response.writeHead(reply.status).end(reply.text)
    texts.push(reply.text)
  }
  const text = Array.isArray(body) ? `[${texts.join()}]` : texts.join()
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}

/** Handles one call by its fault. Throws when the chain itself cannot be reached. */
async function treat(state: State, call: Call): Promise<Reply> {
  state.counts.set(call.method, (state.counts.get(call.method) ?? 0) + 1)
  const fault = faultOf(state, call)
  const ask = async (): Promise<Reply> => ({ text: await forward(state.target, call) })
  const say = (content: object): Reply => ({ text: JSON.stringify({ jsonrpc: '2.0', id: call.id, ...content }) })
  const refusal = ({ code = -32_000, message = 'the chain refuses' }: RpcError) => say({ error: { code, message } })
  switch (fault?.kind) {
    case undefined:
      return ask()
    case 'down':
      return 'cut'
    case 'hang':
      return 'silence'
    case 'late':
      await delay(fault.ms)
      return ask()
    case 'status':
      return { text: 'no', status: fault.status }
    case 'nonsense':
      return { text: '<html>busy</html>', status: 200 }
    case 'refuse':
      return refusal(fault)
    case 'answer':
      return say({ result: fault.result })
    case 'done-refused':
      await ask()
      return refusal(fault)
    case 'done-unheard':
      await ask()
      return 'silence'
    case 'done-cut':
      await ask()
      return 'cut'
    case 'twice':
      await ask()
      return ask()
    case 'dropped':
      return say({ result: keccak256(RawSchema.parse(call.params)[0]) })
  }
}

/** The fault of this call of a method. The call is counted. */
function faultOf({ rules }: State, { method, params }: Call): RpcFault | undefined {
  const rule = rules.get(method) ?? rules.get(ALL)
  if (rule === undefined || rule.times <= 0 || rule.only?.(params) === false) return undefined
  if (rule.after > 0) {
    rule.after -= 1
    return undefined
  }
  rule.times -= 1
  return rule.fault
}

async function forward(target: string, call: Call): Promise<string> {
  const reply = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  })
  return reply.text()
}
