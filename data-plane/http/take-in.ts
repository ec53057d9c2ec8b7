import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { BuyerReply, Incoming, RawRequest, RequestHead } from '#data-plane/call.ts'
import { readJsonInSteps } from '#data-plane/wires/json-body.ts'
import { createJsonGauge } from '#shared/json-gauge.ts'
import { overloaded } from './admission.ts'
import type { BodySpool, BodyWatch } from './body-spool.ts'
import { declaredLength, limitBody, readWholeBody } from './body-spool.ts'
import { createHttpReply } from './http-reply.ts'
import type { ReadingRules, RowRequest } from './raw-request.ts'
import { checkJsonHeaders, checkPlainBody, hasBody, NO_BODY, readRequestHead, withBody } from './raw-request.ts'
import type { Row, RowBody } from './row.ts'
import { requestIdOf } from './send-error.ts'
import type { Surface } from './surface.ts'

export type Handler = (request: RowRequest, reply: FastifyReply) => unknown

/** The flow of a request whose answer bypasses the framework. It always answers and never rejects. */
export type Flow = {
  /** Serves the request. It reads the body once it knows who sends it. */
  serve(incoming: Incoming, reply: BuyerReply): Promise<void>
  /** True when the request counts as a call under way once its body has arrived. */
  readonly isCounted: boolean
}

/** A path of a row as it is mounted. */
export type Mounted = {
  readonly surface: Surface
  readonly row: Row
  readonly reading: ReadingRules
  readonly spool: BodySpool
}

/** Makes the handler that begins a request's flow. The flow reads the body by the row's rule. */
export function takeIn(mounted: Mounted, flow: Flow): Handler {
  const { row, reading } = mounted
  return async (request, reply) => {
    const head = readRequestHead(request, requestIdOf(request), reading)
    const body = bodyOf(row.body, head.headers)
    HEADER_CHECKS[body.kind](head.headers)
    const takenBody = takeBody(mounted, flow, { request, head, body })
    reply.hijack()
    try {
      await flow.serve(takenBody, createHttpReply(reply.raw, head.requestId, row))
    } finally {
      takenBody.leave()
    }
  }
}

/** The kind of body that a request has. */
type TakenBody = Exclude<RowBody, { kind: 'json-or-form' | 'json-or-raw' }>

function bodyOf(body: RowBody, headers: RequestHead['headers']): TakenBody {
  const type = (headers['content-type'] ?? '').toLowerCase()
  if (body.kind === 'json-or-form') return type.startsWith('multipart/') ? body.form : body.json
  if (body.kind !== 'json-or-raw') return body
  if (!hasBody(headers)) return NOTHING
  return /^application\/json *(;|$)/.test(type) ? body.json : body.raw
}

const NOTHING: TakenBody = { kind: 'none' }

/** Checks the head for the kind of body. Throws `unsupported_media_type`. */
const HEADER_CHECKS: Readonly<Record<TakenBody['kind'], (headers: RequestHead['headers']) => void>> = {
  none: () => undefined,
  json: checkJsonHeaders,
  form: checkPlainBody,
  raw: checkPlainBody,
}

/** A request whose body is not read yet. `leave` ends its watches and counts when the flow is over. */
type Taken = Incoming & { leave(): void }

type Arriving = { readonly request: RowRequest; readonly head: RequestHead; readonly body: TakenBody }

function takeBody({ surface, spool }: Mounted, { isCounted }: Flow, { request, head, body }: Arriving): Taken {
  const { open, maxOpenCalls } = surface
  let isOpen = false
  let giveBack: (() => void) | undefined
  const gauge = body.kind === 'json' && mayBeLarge(request.raw) ? createJsonGauge() : undefined
  return {
    head,
    largeBytes: () => gauge?.bytes() ?? 0,
    async read() {
      const { raw: message } = request
      if (body.kind === 'form') giveBack = spool.reserve(message, body.limitBytes)
      const watch: BodyWatch = {
        gauge,
        onLarge() {
          if (body.kind === 'json') giveBack = spool.reserve(message, body.limitBytes)
        },
      }
      const raw = await readBody({ request, head, body }, watch)
      if (isCounted) {
        if (open.count >= maxOpenCalls) throw overloaded('process')
        open.count++
        isOpen = true
      }
      return raw
    },
    leave() {
      if (isOpen) open.count--
      giveBack?.()
    },
  }
}

/** A smaller body cannot hold so much that its parsing delays other calls. */
const WEIGHED_BYTES = 65_536
/** A larger body is parsed in steps. */
const STEPPED_BYTES = 262_144

function mayBeLarge(request: RowRequest['raw']): boolean {
  return (declaredLength(request) ?? WEIGHED_BYTES) >= WEIGHED_BYTES
}

async function readBody({ request, head, body }: Arriving, watch: BodyWatch): Promise<RawRequest> {
  switch (body.kind) {
    case 'none':
      return withBody(head, NO_BODY)
    case 'raw':
      return { ...withBody(head, NO_BODY), ...streamed(request.raw, head, body.limitBytes) }
    case 'json': {
      const { gauge } = watch
      const bytes = await readWholeBody(request.raw, body.limitBytes, watch)
      if (gauge === undefined || bytes.length < STEPPED_BYTES) return withBody(head, bytes)
      return { ...withBody(head, bytes), json: await readJsonInSteps(bytes, gauge.spans, body.inlinedIn) }
    }
    case 'form':
      return withBody(head, await readWholeBody(request.raw, body.limitBytes))
  }
}

/**
 * A body as a stream. A body that a wallet pays for is hashed on its way, because the payment may be presented again.
 */
function streamed(
  message: RowRequest['raw'],
  { headers }: RequestHead,
  limitBytes: number,
): Pick<RawRequest, 'stream' | 'contentDigest'> {
  const isPaid = 'payment-signature' in headers || 'x-payment' in headers
  if (!isPaid) return { stream: limitBody(message, limitBytes) }
  const hash = createHash('sha256')
  const stream = limitBody(message, limitBytes, (chunk) => hash.update(chunk))
  return { stream, contentDigest: () => hash.copy().digest('hex') }
}
