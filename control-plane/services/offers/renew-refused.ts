import { bringTokensForward } from '#control-plane/db/credential-tokens.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { HOUR } from '#shared/clock.ts'
import type { HealthEvent } from '#shared/contract/health-event.ts'

/** After a provider's refusal, the renewal of a token comes early at most once in this time. */
const FORWARD_EVERY_MS = HOUR

/** Brings forward the renewal of tokens that a provider has refused. */
export async function renewRefused(ctx: Pick<Ctx, 'db' | 'clock'>, events: readonly HealthEvent[]): Promise<void> {
  const refusedEvents = events.filter(
    ({ statusCode, errorClass }) => statusCode === 401 && errorClass === 'credential_rejected',
  )
  if (refusedEvents.length === 0) return
  const at = ctx.clock.now()
  const offers = [...new Set(refusedEvents.map(({ offer }) => offer))]
  await bringTokensForward(ctx.db, offers, { at, since: at - FORWARD_EVERY_MS })
}
