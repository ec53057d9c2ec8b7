import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authenticate } from '#data-plane/pipeline/authenticate.ts'
import type { CallPlane } from '#data-plane/pipeline/call-plane.ts'
import { serveCall } from '#data-plane/pipeline/serve-call.ts'
import type { CallRow } from '#data-plane/routes.ts'
import type { Clock } from '#shared/clock.ts'
import type { RequestId } from '#shared/ids.ts'
import type { BodySpool } from './body-spool.ts'
import { createBodySpool, MAX_SPOOLED_BYTES, readWholeBody } from './body-spool.ts'
import { createHttpReply } from './http-reply.ts'
import { checkPlainBody, readRawRequest } from './raw-request.ts'

/**
 * What calls with a form stand on. `enter` counts a call in, or throws `overloaded`; `leave` counts it out; `refuse`
 * answers what was thrown before a call began.
 */
export type FormPorts = {
  readonly calls: CallPlane
  readonly clock: Clock
  idOf(id: string): RequestId
  pathsOf(row: CallRow): readonly string[]
  enter(): void
  leave(): void
  refuse(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void
}

/** The rows that take files, in a scope of their own: their bodies are read here, once it is known who sends them. */
export function mountForms(scope: FastifyInstance, ports: FormPorts, rows: readonly CallRow[]): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
  const spool = createBodySpool(MAX_SPOOLED_BYTES)
  for (const row of rows) {
    if (row.takes !== 'form') continue
    const handler = (request: FastifyRequest, reply: FastifyReply) => serveForm(ports, row, spool, { request, reply })
    for (const url of ports.pathsOf(row)) scope.route({ method: row.method, url, handler, errorHandler: ports.refuse })
  }
}

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/** Nothing of a stranger's body is read, and what is read has its place in the spool. */
async function serveForm(
  ports: FormPorts,
  row: CallRow,
  spool: BodySpool,
  { request, reply }: Exchange,
): Promise<void> {
  const { calls, clock } = ports
  const requestId = ports.idOf(request.id)
  let giveBack: (() => void) | undefined
  try {
    const raw = readRawRequest(request, requestId, clock)
    checkPlainBody(raw.headers)
    await authenticate(row.route, raw, calls.apiBaseUrl).identify()
    giveBack = spool.reserve(request.raw, row.bodyLimitBytes)
    const body = await readWholeBody(request.raw, row.bodyLimitBytes)
    ports.enter()
    reply.hijack()
    await serveCall(calls, row.route, { ...raw, body }, createHttpReply(reply.raw, requestId)).finally(() => {
      ports.leave()
    })
  } finally {
    giveBack?.()
  }
}
