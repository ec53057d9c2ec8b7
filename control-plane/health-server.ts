import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { fastify } from 'fastify'
import { AppError } from '#shared/errors.ts'
import { CONNECTION_LIMITS, createHeadCheck } from '#shared/http-head.ts'
import { watchOpenRequests } from '#shared/open-requests.ts'
import { toRestError } from './api/errors.ts'
import { mountMetrics } from './observe/http-metrics.ts'
import type { ControlPlane } from './plane.ts'

/** A server for a process without doors. It serves only health and metrics. */
export function createHealthServer(plane: ControlPlane): FastifyInstance {
  const server = fastify({ forceCloseConnections: 'idle', exposeHeadRoutes: false, http: CONNECTION_LIMITS })
  watchOpenRequests(server.server, refusePipelined(plane))
  const faultOfHead = createHeadCheck()
  server.addHook('onRequest', async ({ raw }) => {
    const fault = faultOfHead(raw)
    if (fault !== undefined) throw fault.error
  })
  mountHealth(server, plane)
  mountMetrics(server, plane.registry)
  return server
}

/** Refuses a request that waits behind too many others of its connection. The connection closes with the answer. */
export function refusePipelined(plane: ControlPlane): (response: ServerResponse) => void {
  return (response) => {
    const id = plane.ids.requestId()
    const error = new AppError('overloaded', { detail: { limit_source: 'connection' }, retryAfterSeconds: 1 })
    const { status, headers, body } = toRestError(error, 'v1', id)
    const type = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': id, connection: 'close' }
    response.writeHead(status, { ...headers, ...type })
    response.end(JSON.stringify(body))
  }
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
