import type { FastifyReply } from 'fastify'
import type { LimitState } from '#control-plane/ports/limits/limiter.ts'
import { SECOND } from '#shared/clock.ts'

/** The header of every answer to a request that counts against a limit of the caller. */
export const LIMIT_HEADER = 'x-ratelimit-limit'

/** Writes the state of the caller's limit into the answer's headers. The reset is in Unix seconds. */
export function sendLimit(reply: FastifyReply, state: LimitState): void {
  reply.header(LIMIT_HEADER, state.limit)
  reply.header('x-ratelimit-remaining', state.remaining)
  reply.header('x-ratelimit-reset', Math.ceil(state.resetsAt / SECOND))
}
