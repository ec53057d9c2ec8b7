import { transact } from '#control-plane/db/database.ts'
import { insertPayoutItems, insertTransfer } from '#control-plane/db/treasury-transfers.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { nonceOf } from '#control-plane/ports/treasury/authorization.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import type { AccountId } from '#shared/ids.ts'
import { grant, newAccount } from '#test/support/books/ledger.ts'
import type { TestMarket } from './control-plane.ts'

const AMOUNT = 1_000_000

/** Gives a seller money and stores a held payout of it. Returns the payout's id. */
export async function storePayout({ plane }: Pick<TestMarket, 'plane'>, seller: AccountId): Promise<string> {
  const id = plane.ids.make('pay')
  const inFlight = await newAccount(plane.db, 'payout_in_flight')
  const [recipient, amount] = [`0x${'7'.repeat(40)}`, BigInt(AMOUNT)]
  await grant(plane.db, seller, AMOUNT)
  await transact(plane.db, async (trx) => {
    await insertTransfer(trx, {
      id,
      purpose: 'payout',
      seller,
      inFlight,
      recipient,
      amount,
      mode: 'batched',
      state: 'held',
      reason: 'approval',
      nonce: nonceOf(id),
      number: null,
    })
    await insertPayoutItems(trx, id, [{ offer: '', amount }])
    await postTransaction(moneyTransaction(trx), {
      id: plane.ids.ulid(),
      key: `payout:${id}`,
      kind: 'payout',
      entries: [
        { account: seller, amount: -amount },
        { account: inFlight, amount },
      ],
    })
  })
  return id
}
