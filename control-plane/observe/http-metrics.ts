import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import { SECOND } from '#shared/clock.ts'

/** Any other method counts under one name, because a parser accepts far more methods than this server serves. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const SECONDS_BUCKETS = [0.005, 0.02, 0.1, 0.5, 2, 10]

/**
 * Counts the requests of a server by the template of their route. Serves these metrics together with those of the
 * process.
 */
export function mountMetrics(server: FastifyInstance, processFigures: Registry): void {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Counter({
    name: 'control_requests_total',
    help: 'Requests by route and status',
    labelNames: ['method', 'route', 'status'] as const,
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'control_request_duration_seconds',
    help: 'Duration of requests by route',
    labelNames: ['method', 'route'] as const,
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  })
  server.addHook('onResponse', async (request, reply) => {
    const method = METHODS.has(request.method) ? request.method : 'other'
    const route = request.routeOptions.url ?? 'unknown'
    requests.inc({ method, route, status: String(reply.statusCode) })
    seconds.observe({ method, route }, reply.elapsedTime / SECOND)
  })
  server.get('/metrics', async (_request, reply) => {
    reply.header('content-type', registry.contentType)
    return Registry.merge([registry, processFigures]).metrics()
  })
}
