import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '#shared/clock.ts'
import { toAppError } from '#shared/errors.ts'
import type { OpenSpan, SpanAttributes, Tracer } from '#shared/telemetry/tracer.ts'
import { readTraceparent } from '#shared/telemetry/tracer.ts'

/** Spans of the plane's work: a request, its operations, a posting. */
export type Traces = {
  /** Runs work in a span. Its parent is the span that is open at the call. */
  span<Result>(name: string, attributes: SpanAttributes, work: () => Promise<Result>): Promise<Result>
  /** Writes a span for every request of a server but those of health and metrics. */
  watch(server: FastifyInstance): void
}

const UNTRACED = /^\/(?:health\/|metrics$)/
const SERVER_FAULT = 500

export function createTraces(tracer: Tracer, clock: Clock): Traces {
  const open = new AsyncLocalStorage<OpenSpan>()
  const byRequest = new WeakMap<FastifyRequest, OpenSpan>()
  return {
    async span(name, attributes, work) {
      const span = tracer.open(name, { kind: 'internal', startedAt: clock.now(), parent: open.getStore(), attributes })
      try {
        const result = await open.run(span, work)
        span.end(clock.now())
        return result
      } catch (thrown) {
        span.end(clock.now(), toAppError(thrown).code)
        throw thrown
      }
    },
    watch(server) {
      server.addHook('onRequest', async (request) => {
        const { method, routeOptions, headers } = request
        const route = routeOptions.url ?? 'unknown'
        if (UNTRACED.test(route)) return
        const span = tracer.open(`${method} ${route}`, {
          kind: 'server',
          startedAt: clock.now(),
          parent: readTraceparent(headers['traceparent']),
          attributes: { 'http.request.method': method, 'http.route': route, 'market.request_id': request.id },
        })
        byRequest.set(request, span)
      })
      // Before the body is read, code runs in the context of the connection. The span becomes the current one only
      // here.
      server.addHook('preValidation', (request, _reply, done) => {
        const span = byRequest.get(request)
        if (span === undefined) done()
        else open.run(span, done)
      })
      server.addHook('onResponse', async (request, reply) => {
        const span = byRequest.get(request)
        span?.set({ 'http.response.status_code': reply.statusCode })
        span?.end(clock.now(), reply.statusCode >= SERVER_FAULT ? String(reply.statusCode) : undefined)
      })
    },
  }
}
