import type { Trx } from '#control-plane/db/database.ts'
import type { WebhookEvent } from '#control-plane/db/tables/webhooks.ts'
import { listListening } from '#control-plane/db/webhooks.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { AccountId, DeliveryId } from '#shared/ids.ts'
import { addDelivery } from './webhook-deliveries.ts'

export type TellCtx = Pick<Ctx, 'ids' | 'clock'>

/** An event for an account's webhooks. */
export type AccountEvent = { readonly event: WebhookEvent; readonly data: object }

/**
 * Stores a delivery for each webhook of an account that listens for an event, in the transaction of the reported
 * change. Returns the deliveries.
 */
export async function tellAccount(
  ctx: TellCtx,
  trx: Trx,
  account: AccountId,
  accountEvent: AccountEvent,
): Promise<DeliveryId[]> {
  const deliveries: DeliveryId[] = []
  for (const hook of await listListening(trx, account, accountEvent.event)) {
    deliveries.push(await addDelivery(ctx, trx, hook, accountEvent))
  }
  return deliveries
}
