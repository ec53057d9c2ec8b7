import { Agent, request } from 'undici'
import { guardedLookup } from '#control-plane/ports/outbound/guarded-lookup.ts'
import { SECOND } from '#shared/clock.ts'
import { describeCause } from '#shared/errors.ts'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import { checkPublicUrl } from '#shared/outbound-guard.ts'
import type { WebhookSender } from './webhook-sender.ts'

const CONNECT_TIMEOUT_MS = 2 * SECOND
const ANSWER_TIMEOUT_MS = 5 * SECOND
const TOTAL_TIMEOUT_MS = 10 * SECOND
const MAX_HEADER_BYTES = 16 * 1_024
/** The server's body is not used. This much of it is read so that the connection can be reused. */
const MAX_BODY_BYTES = 16 * 1_024
const MAX_SOCKETS = 2

/** A sender with connections of its own. `close` ends them. Each connection checks the address again. */
export function createWebhookSender(policy: OutboundPolicy): { send: WebhookSender; close(): Promise<void> } {
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(policy) },
    connections: MAX_SOCKETS,
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: ANSWER_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  })
  return {
    async send({ url, headers, body }) {
      if (checkPublicUrl(url, policy) === undefined) {
        return { kind: 'unreachable', reason: 'the address is not allowed' }
      }
      try {
        const signal = AbortSignal.timeout(TOTAL_TIMEOUT_MS)
        const answer = await request(url, { dispatcher: agent, signal, method: 'POST', headers, body })
        await answer.body.dump({ limit: MAX_BODY_BYTES, signal }).catch(() => undefined)
        return { kind: 'answered', status: answer.statusCode }
      } catch (error) {
        const cause = describeCause(error)
        return { kind: 'unreachable', reason: `no answer (${cause?.code ?? cause?.name ?? 'error'})` }
      }
    },
    close: () => agent.close(),
  }
}
