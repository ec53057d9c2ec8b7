import type { FastifyInstance } from 'fastify'
import { fastify } from 'fastify'
import type { Connections } from '#shared/connections.ts'
import { createConnections } from '#shared/connections.ts'
import { AppError } from '#shared/errors.ts'
import { createHeadCheck } from '#shared/http-head.ts'
import { toRestError } from './api/errors.ts'
import { mountMetrics } from './observe/http-metrics.ts'
import type { ControlPlane } from './plane.ts'

/** A server for a process without doors. It serves only health and metrics. */
export function createHealthServer(plane: ControlPlane): FastifyInstance {
  const connections = connectionsOf(plane)
  const server = fastify({ exposeHeadRoutes: false, ...connections.options })
  connections.attach(server)
  const faultOfHead = createHeadCheck()
  server.addHook('onRequest', async ({ raw }) => {
    const fault = faultOfHead(raw)
    if (fault !== undefined) throw fault.error
  })
  mountHealth(server, plane)
  mountMetrics(server, plane.registry)
  return server
}

/** The rules for the connections of a server of this plane. */
export function connectionsOf({ ids, clock }: Pick<ControlPlane, 'ids' | 'clock'>): Connections {
  function writeBody(error: AppError) {
    const id = ids.requestId()
    return { id, body: JSON.stringify(toRestError(error, 'v1', id).body) }
  }
  return createConnections(
    {
      writeBody,
      pipelined(response) {
        const id = ids.requestId()
        const error = new AppError('overloaded', { detail: { limit_source: 'connection' }, retryAfterSeconds: 1 })
        const { status, headers, body } = toRestError(error, 'v1', id)
        const type = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': id, connection: 'close' }
        response.writeHead(status, { ...headers, ...type })
        response.end(JSON.stringify(body))
      },
    },
    clock,
  )
}

/** Mounts the two probes of an orchestrator: whether the process lives, and whether its parts answer. */
export function mountHealth(server: FastifyInstance, plane: ControlPlane): void {
  server.get('/health/live', async () => ({ status: 'ok' }))
  server.get('/health/ready', async (_request, reply) => {
    const readiness = await plane.readiness()
    reply.status(readiness.isReady ? 200 : 503)
    return { status: readiness.isReady ? 'ok' : 'unavailable', ...readiness.parts }
  })
}
