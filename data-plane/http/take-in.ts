import type { FastifyReply } from 'fastify'
import type { BuyerReply, RawRequest } from '#data-plane/call.ts'
import { overloaded } from './admission.ts'
import type { BodySpool } from './body-spool.ts'
import { limitBody, readWholeBody } from './body-spool.ts'
import { createHttpReply } from './http-reply.ts'
import type { Reading, RowRequest } from './raw-request.ts'
import { checkJsonHeaders, checkPlainBody, NO_BODY, readRawRequest } from './raw-request.ts'
import type { Row } from './row.ts'
import { requestIdOf } from './send-error.ts'
import type { Surface } from './surface.ts'

export type Handler = (request: RowRequest, reply: FastifyReply) => unknown

/** The flow of a request whose answer is written past the framework. It always answers and never rejects. */
export type Flow = {
  serve(raw: RawRequest, reply: BuyerReply): Promise<void>
  /** Throws unless it is known who sends this. Asked before a form is read: nothing of a stranger's file is. */
  readonly identify?: (raw: RawRequest) => Promise<unknown>
  /** True for what counts among the calls under way. */
  readonly isCounted: boolean
}

/** A path of a row as it is mounted. */
export type Mounted = {
  readonly surface: Surface
  readonly row: Row
  readonly reading: Reading
  readonly spool: BodySpool
}

/** Makes the handler that reads a request's body as its row says and begins its flow. */
export function takeIn(mounted: Mounted, flow: Flow): Handler {
  const { row, reading } = mounted
  const { body } = row
  switch (body.kind) {
    case 'none':
      return (request, reply) => {
        const requestId = requestIdOf(request)
        return begin(mounted, flow, readRawRequest(request, requestId, reading, NO_BODY), reply)
      }
    case 'json':
      return async (request, reply) => {
        const requestId = requestIdOf(request)
        const bytes = await readWholeBody(request.raw, body.limitBytes)
        const raw = readRawRequest(request, requestId, reading, bytes)
        checkJsonHeaders(raw.headers)
        await begin(mounted, flow, raw, reply)
      }
    case 'form':
      return (request, reply) => takeForm(mounted, flow, { request, reply, limitBytes: body.limitBytes })
    case 'raw':
      return (request, reply) => {
        const requestId = requestIdOf(request)
        const raw = readRawRequest(request, requestId, reading, NO_BODY)
        checkPlainBody(raw.headers)
        return begin(mounted, flow, { ...raw, stream: limitBody(request.raw, body.limitBytes) }, reply)
      }
  }
}

type FormExchange = { readonly request: RowRequest; readonly reply: FastifyReply; readonly limitBytes: number }

/** Failover needs a file again, so it has its place in the spool until the call is over. */
async function takeForm(mounted: Mounted, flow: Flow, { request, reply, limitBytes }: FormExchange): Promise<void> {
  const requestId = requestIdOf(request)
  const raw = readRawRequest(request, requestId, mounted.reading, NO_BODY)
  checkPlainBody(raw.headers)
  await flow.identify?.(raw)
  const giveBack = mounted.spool.reserve(request.raw, limitBytes)
  try {
    const body = await readWholeBody(request.raw, limitBytes)
    await begin(mounted, flow, { ...raw, body }, reply)
  } finally {
    giveBack()
  }
}

/** Throws `overloaded` when as many calls are open as may be. */
function begin({ row, surface }: Mounted, flow: Flow, raw: RawRequest, reply: FastifyReply): Promise<void> {
  if (!flow.isCounted) {
    reply.hijack()
    return flow.serve(raw, createHttpReply(reply.raw, raw.requestId, row))
  }
  const { open, maxOpenCalls } = surface
  if (open.count >= maxOpenCalls) throw overloaded('process')
  open.count++
  reply.hijack()
  return flow.serve(raw, createHttpReply(reply.raw, raw.requestId, row)).finally(() => {
    open.count--
  })
}
