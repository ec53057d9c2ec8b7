import type { Chargeable, PayerIdentity } from '#data-plane/payment.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { isId } from '#shared/ids.ts'

/** The payer, rail and id of a journalled event's charge; undefined for an event without a payer. */
export function subjectOf({ rid, rail, account, keyId, wallet, payment }: UsageEvent): Chargeable | undefined {
  const identity = identityOf(account, keyId, wallet ?? null)
  return identity && { ...identity, rid, rail, record: payment ?? null }
}

function identityOf(account: string | null, keyId: string | null, wallet: string | null): PayerIdentity | undefined {
  if (account === null) return wallet === null ? undefined : { account, keyId: null, wallet }
  if (!isId('acc', account)) return undefined
  return { account, keyId: keyId !== null && isId('key', keyId) ? keyId : null, wallet }
}
