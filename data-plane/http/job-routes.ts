import type { FastifyInstance } from 'fastify'
import { showJob } from '#data-plane/pipeline/finish-job.ts'
import type { JobPlane, JobRoute } from '#data-plane/pipeline/job-plane.ts'
import { submitJob } from '#data-plane/pipeline/submit-job.ts'
import type { Clock } from '#shared/clock.ts'
import type { RequestId } from '#shared/ids.ts'
import { CORS_HEADERS, createHttpReply } from './http-reply.ts'
import { checkJsonHeaders, readRawRequest } from './raw-request.ts'

const MAX_BODY_BYTES = 1_048_576

/** A path of long jobs: POST submits, and under it GET asks for one and DELETE cancels it. */
export type JobRow = { readonly path: string; readonly route: JobRoute }

type Ports = {
  readonly plane: JobPlane
  readonly clock: Clock
  idOf(text: string): RequestId
  /** Counts a call that begins; throws `overloaded` where there are too many. */
  enter(): void
  leave(): void
}

/** Mounts the paths of long jobs. */
export function mountJobs(scope: FastifyInstance, ports: Ports, rows: readonly JobRow[]): void {
  const { plane, clock, idOf, enter, leave } = ports
  for (const { path, route } of rows) {
    scope.post(path, { bodyLimit: MAX_BODY_BYTES }, (request, reply) => {
      const requestId = idOf(request.id)
      const raw = readRawRequest(request, requestId, clock)
      checkJsonHeaders(raw.headers)
      enter()
      reply.hijack()
      void submitJob(plane, route, raw, createHttpReply(reply.raw, requestId)).finally(leave)
    })
    scope.route<{ Params: { id: string } }>({
      method: ['GET', 'DELETE'],
      url: `${path}/:id`,
      async handler(request, reply) {
        const raw = { ...readRawRequest(request, idOf(request.id), clock), params: { id: request.params.id } }
        const text = await showJob(plane, route, raw, request.method === 'DELETE')
        reply.headers({ ...CORS_HEADERS, 'x-request-id': request.id, 'cache-control': 'no-store' })
        return reply.header('content-type', 'application/json').send(text)
      },
    })
  }
}
