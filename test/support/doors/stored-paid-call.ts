import { insertChainPayment } from '#control-plane/db/chain-payments.ts'
import { transact } from '#control-plane/db/database.ts'
import { MINUTE } from '#shared/clock.ts'
import { parseRequestId } from '#shared/ids.ts'
import { newAccount } from '#test/support/books/ledger.ts'
import type { TestMarket } from './control-plane.ts'

/** Stores a call whose payment by wallet is under way. Returns its request id. */
export async function storePaidCall({
  plane,
}: {
  readonly plane: Pick<TestMarket['plane'], 'ids' | 'db' | 'clock'>
}): Promise<string> {
  const rid = parseRequestId(plane.ids.ulid())
  if (rid === undefined) throw new Error('not a request id')
  const account = await newAccount(plane.db, 'buyer_credit')
  const until = new Date(plane.clock.now() + MINUTE)
  await transact(plane.db, (trx) =>
    insertChainPayment(trx, {
      rid,
      rail: 'x402-exact',
      network: 'eip155:8453',
      asset: `0x${'83'.repeat(20)}`,
      account,
      amount: 500n,
      payer: `0x${'5e'.repeat(20)}`,
      nonce: `0x${rid.toLowerCase().padEnd(64, '0')}`,
      payload: {},
      requirement: {},
      bodyDigest: 'ab'.repeat(32),
      validUntil: until,
      serveUntil: until,
      isContract: false,
    }),
  )
  return rid
}
