import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '#shared/errors.ts'
import type { Hosts, RowHost, Voice } from './row.ts'
import { sendError } from './send-error.ts'
import { refuseSlowBody } from './socket-errors.ts'
import type { Surface } from './surface.ts'

/**
 * What a request counts as before anything of its body is read. Work is refused while the process has too much of it,
 * reads have a quota of their own, and what balancers and operators watch is always answered.
 */
export type Intake = 'work' | 'read' | 'always'

/** What is known of a path before a request comes. */
type Gated = { readonly host: RowHost; readonly voice: Voice; readonly intake: Intake }

export type RequestGate = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/** Makes what a request of a path goes through first: its host, and whether it is taken on at all. */
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

/** Where site and API have hosts of their own, the one that does not answer a path; undefined where either does. */
export function foreignHost({ base, api }: Hosts, host: RowHost): string | undefined {
  if (base === api || host === 'both') return undefined
  return host === 'api' ? base : api
}

/** Throws `overloaded`. */
function takeOn({ admission, slowBodies, ids }: Surface, intake: Intake, { raw }: FastifyRequest, reply: FastifyReply) {
  const hasBody = raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length'] ?? 0) > 0
  if (hasBody) slowBodies.watch(raw, () => refuseSlowBody(ids, raw.socket))
  if (intake === 'work') {
    admission.admitCall()
    raw.on('close', admission.readingBody())
  } else if (intake === 'read') reply.raw.on('close', admission.admitRead())
}
