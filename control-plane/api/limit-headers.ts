import type { FastifyReply } from 'fastify'
import type { LimitState } from '#control-plane/ports/limits/limiter.ts'
import { SECOND } from '#shared/clock.ts'

/** Says on an answer where the caller stands in the limit that counted it; the reset in Unix seconds. */
export function sendLimit(reply: FastifyReply, state: LimitState): void {
  reply.header('x-ratelimit-limit', state.limit)
  reply.header('x-ratelimit-remaining', state.remaining)
  reply.header('x-ratelimit-reset', Math.ceil(state.resetsAt / SECOND))
}
