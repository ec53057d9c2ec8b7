import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '#shared/errors.ts'
import type { Ids } from '#shared/ids.ts'
import { hasBody } from './raw-request.ts'
import type { Hosts, RowHost, Voice } from './row.ts'
import { sendError } from './send-error.ts'
import { refuseSlowBody } from './socket-errors.ts'
import type { Surface } from './surface.ts'

/**
 * The kind of a request before its body is read. `work` is refused while the process is too busy. `read` has a quota of
 * its own. `always` is for load balancers and operators and is never refused.
 */
export type Intake = 'work' | 'read' | 'always'

/** The facts of a path that are known before a request comes. */
type Gated = { readonly host: RowHost; readonly voice: Voice; readonly intake: Intake }

export type RequestGate = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/** Makes the first check of every request of a path: its host, and whether the process accepts it. */
export function createGate(surface: Surface, { host, voice, intake }: Gated): RequestGate {
  const foreign = foreignHost(surface.hosts, host)
  return (request, reply, done) => {
    if (foreign !== undefined && request.raw.headers.host === foreign) {
      sendError({ request, reply }, voice, new AppError('not_found'))
      return
    }
    takeOn(surface, intake, request, reply)
    done()
  }
}

/** The host that does not serve a path, when site and API have hosts of their own; undefined when both serve it. */
export function foreignHost({ base, api }: Hosts, host: RowHost): string | undefined {
  if (base === api || host === 'both') return undefined
  return host === 'api' ? base : api
}

/** Accepts a request by its intake. Throws `overloaded`. */
function takeOn({ admission, slowBodies, ids }: Surface, intake: Intake, { raw }: FastifyRequest, reply: FastifyReply) {
  if (hasBody(raw.headers)) slowBodies.watch(raw, () => cutSlowBody(ids, raw, reply.raw))
  if (intake === 'work') {
    admission.admitCall()
    raw.on('close', admission.readingBody())
  } else if (intake === 'read') reply.raw.on('close', admission.admitRead())
}

/**
 * A call whose body is no longer read has its answer already. The client would take a second answer for the answer to
 * its next request.
 */
function cutSlowBody(ids: Ids, { socket }: IncomingMessage, { headersSent }: ServerResponse): void {
  if (headersSent) socket.destroy()
  else refuseSlowBody(ids, socket)
}
