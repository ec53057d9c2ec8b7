import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/** The faults of a connection. Every connection follows them at once, also an open one. */
export type WireFault = {
  /** Milliseconds that every byte travels, each way. */
  readonly delayMs: number
  /** Most bytes per second, each way. Undefined for no limit. */
  readonly bytesPerSecond: number | undefined
  /** Directions whose bytes are dropped. */
  readonly drops: 'nothing' | 'requests' | 'answers' | 'both'
  /** New connections are accepted and never answered. */
  readonly isHalfOpen: boolean
  /** New connections are reset. */
  readonly refuses: boolean
  /** Number of bytes of answers after which a connection is cut. Undefined for never. */
  readonly cutsAfterBytes: number | undefined
}

const SOUND: WireFault = {
  delayMs: 0,
  bytesPerSecond: undefined,
  drops: 'nothing',
  isHalfOpen: false,
  refuses: false,
  cutsAfterBytes: undefined,
}
/** Bytes that may wait in one direction of one connection before its source has to wait. */
const MAX_QUEUED_BYTES = 1_048_576

/** A relay between a client and a server that can fail in many ways. */
export type Relay = {
  readonly url: string
  readonly port: number
  /** Drops the server's answers from now on. Requests still arrive. */
  dropAnswers(isDropping: boolean): void
  /** Replaces the fault. A member that is not named means no fault. */
  fault(fault: Partial<WireFault>): void
  /** Ends every fault, for new and open connections. Dropped bytes stay lost. */
  pass(): void
  /**
   * Cuts the connection of the next request that contains the text, once the server has answered it. The answer is
   * lost.
   */
  cutReplyTo(text: string): void
  /**
   * Holds the answer to a request that contains the text for this many milliseconds, on every connection, once `after`
   * such requests on it have passed. Later answers are held with it. `times` is the number of connections to hold.
   */
  holdReplyTo(text: string, hold: Hold): void
  /** Number of such cuts. */
  cuts(): number
  /** Cuts every connection. */
  cut(): void
  /** Resets every connection. */
  reset(): void
  /** Leads new connections to another server and cuts the open ones. */
  retarget(target: string): void
  connections(): number
  close(): Promise<void>
}

/** See `holdReplyTo`. */
export type Hold = { readonly ms: number; readonly after: number; readonly times: number }

type State = {
  target: { host: string; port: number }
  fault: WireFault
  marks: string[]
  hold: { readonly text: string; readonly ms: number; readonly after: number; times: number } | undefined
  cuts: number
  readonly pairs: Set<Pair>
}

type Pair = {
  readonly client: Socket
  readonly server: Socket
  isMarked: boolean
  answered: number
  asked: number
  heldUntil: number
}

/** Starts a relay on a loopback port to the host and port of a URL. */
export async function startRelay(target: string): Promise<Relay> {
  const state: State = {
    target: addressOf(target),
    fault: SOUND,
    marks: [],
    hold: undefined,
    cuts: 0,
    pairs: new Set(),
  }
  const listener = createServer((client) => accept(state, client))
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const cut = () => {
    for (const pair of state.pairs) cutPair(pair)
  }
  return {
    url: `${new URL(target).protocol}//127.0.0.1:${port}`,
    port,
    dropAnswers(isDropping) {
      state.fault = { ...state.fault, drops: isDropping ? 'answers' : 'nothing' }
    },
    fault(fault) {
      state.fault = { ...SOUND, ...fault }
    },
    pass() {
      state.fault = SOUND
      state.marks = []
      state.hold = undefined
    },
    cutReplyTo: (text) => void state.marks.push(text),
    holdReplyTo(text, hold) {
      state.hold = { text, ...hold }
    },
    cuts: () => state.cuts,
    cut,
    reset() {
      for (const { client, server } of state.pairs) {
        client.resetAndDestroy()
        server.resetAndDestroy()
      }
    },
    retarget(next) {
      state.target = addressOf(next)
      cut()
    },
    connections: () => state.pairs.size,
    async close() {
      cut()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

function cutPair({ client, server }: Pair): void {
  client.destroy()
  server.destroy()
}

function addressOf(target: string): { host: string; port: number } {
  const { hostname, port } = new URL(target)
  return { host: hostname, port: Number(port) }
}

function accept(state: State, client: Socket): void {
  client.on('error', () => undefined)
  if (state.fault.refuses) {
    client.resetAndDestroy()
    return
  }
  const server = state.fault.isHalfOpen ? client : connect(state.target)
  const pair: Pair = { client, server, isMarked: false, answered: 0, asked: 0, heldUntil: 0 }
  state.pairs.add(pair)
  server.on('error', () => undefined)
  for (const socket of [client, server]) {
    socket.setNoDelay(true)
    socket.on('close', (hadError) => {
      state.pairs.delete(pair)
      // Bytes under way arrive before the end does, unless the end is a break.
      if (hadError) cutPair(pair)
    })
  }
  if (server === client) {
    client.resume()
    return
  }
  carry(state, pair, [client, server], (bytes) => takeRequest(state, pair, bytes))
  carry(state, pair, [server, client], (bytes) => takeAnswer(state, pair, bytes))
}

/** Returns false when the bytes must not be passed on. */
function takeRequest(state: State, pair: Pair, bytes: Buffer): boolean {
  if (state.marks.length > 0) {
    const mark = state.marks.find((text) => bytes.includes(text))
    if (mark !== undefined) {
      state.marks.splice(state.marks.indexOf(mark), 1)
      pair.isMarked = true
    }
  }
  const { hold } = state
  if (hold !== undefined && hold.times > 0 && bytes.includes(hold.text)) {
    pair.asked += 1
    if (pair.asked === hold.after + 1) {
      hold.times -= 1
      pair.heldUntil = performance.now() + hold.ms
    }
  }
  return state.fault.drops !== 'requests' && state.fault.drops !== 'both'
}

function takeAnswer(state: State, pair: Pair, bytes: Buffer): boolean {
  if (pair.isMarked) {
    state.cuts += 1
    cutPair(pair)
    return false
  }
  pair.answered += bytes.length
  const { cutsAfterBytes, drops } = state.fault
  if (cutsAfterBytes !== undefined && pair.answered >= cutsAfterBytes) {
    cutPair(pair)
    return false
  }
  return drops !== 'answers' && drops !== 'both'
}

/** Carries bytes one way in order, each no earlier than the fault allows. */
function carry(
  state: State,
  pair: Pair,
  [from, to]: readonly [Socket, Socket],
  mayPass: (bytes: Buffer) => boolean,
): void {
  const queue: { readonly bytes: Buffer; readonly due: number }[] = []
  let queuedBytes = 0
  let lastDue = 0
  let timer: NodeJS.Timeout | undefined
  let isOver = false

  function send(bytes: Buffer): void {
    if (!to.destroyed && !to.write(bytes)) {
      from.pause()
      to.once('drain', () => from.resume())
    }
  }

  function flush(): void {
    timer = undefined
    const now = performance.now()
    for (let head = queue[0]; head !== undefined && head.due <= now; head = queue[0]) {
      queue.shift()
      queuedBytes -= head.bytes.length
      send(head.bytes)
    }
    const next = queue[0]
    if (next !== undefined) timer = setTimeout(flush, Math.max(1, next.due - now))
    else if (isOver) to.end()
    if (queuedBytes < MAX_QUEUED_BYTES) from.resume()
  }

  from.on('data', (bytes: Buffer) => {
    if (!mayPass(bytes)) return
    const { delayMs, bytesPerSecond } = state.fault
    const now = performance.now()
    const held = from === pair.server ? pair.heldUntil : 0
    if (queue.length === 0 && delayMs === 0 && bytesPerSecond === undefined && held <= now) return send(bytes)
    const takesMs = bytesPerSecond === undefined ? 0 : (bytes.length / bytesPerSecond) * 1_000
    lastDue = Math.max(now + delayMs, lastDue + takesMs, held)
    queue.push({ bytes, due: lastDue })
    queuedBytes += bytes.length
    if (queuedBytes >= MAX_QUEUED_BYTES) from.pause()
    timer ??= setTimeout(flush, lastDue - now)
  })
  from.on('close', () => {
    isOver = true
    if (queue.length === 0) to.end()
  })
  to.on('close', () => clearTimeout(timer))
}
