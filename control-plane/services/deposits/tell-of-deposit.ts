import type { Trx } from '#control-plane/db/database.ts'
import type { Deposit, DepositArrival } from '#control-plane/db/deposits.ts'
import { listUsersByWallet } from '#control-plane/db/users.ts'
import { insertAlertMark } from '#control-plane/db/webhook-alerts.ts'
import { listListening } from '#control-plane/db/webhooks.ts'
import type { ChainMove } from '#control-plane/ports/treasury/treasury-chain.ts'
import type { TellCtx } from '#control-plane/services/webhooks/tell-account.ts'
import { tellAccount } from '#control-plane/services/webhooks/tell-account.ts'
import { addDelivery } from '#control-plane/services/webhooks/webhook-deliveries.ts'
import type { AccountId } from '#shared/ids.ts'

/** The reason why a transfer of another token waits for an operator. */
const WRONG_TOKEN = 'wrong_token'
/**
 * Most such transfers that a webhook reports a day. Anybody can make a token whose log names any wallet as the sender.
 */
const MOST_A_DAY = 10
const EVENT = 'deposit.waiting'

type Credited = Omit<DepositArrival, 'account' | 'method'> & Pick<Deposit, 'method'>

/** Tells an account of a deposit, in the transaction that credits the deposit. */
export async function tellOfCredit(ctx: TellCtx, trx: Trx, account: AccountId, deposit: Credited): Promise<void> {
  const { id, method, sender, amount, transaction, block } = deposit
  const data = {
    deposit_id: id,
    method,
    sender,
    amount_usdc: amount.toString(),
    tx_hash: transaction,
    block: Number(block),
  }
  await tellAccount(ctx, trx, account, { event: 'deposit.credited', data })
}

type Waiting = Pick<ChainMove, 'party' | 'token' | 'amount' | 'transaction' | 'block'> & { readonly reason: string }

/** Tells an account of a transfer that is probably its own and waits for an operator. */
export async function tellOfWaiting(ctx: TellCtx, trx: Trx, account: AccountId, move: Waiting): Promise<void> {
  await tellAccount(ctx, trx, account, { event: EVENT, data: waitingOf(move) })
}

/**
 * Tells accounts of other tokens that their wallets sent, in the transaction that reads the blocks. Blocks are read
 * again while they do not explain the balance, so each report is marked as sent.
 */
export async function tellOfStrays(ctx: TellCtx, trx: Trx, strays: readonly ChainMove[]): Promise<void> {
  const users = await listUsersByWallet(trx, [...new Set(strays.map(({ party }) => party))])
  for (const { wallet, buyerAccount } of users) {
    const hooks = await listListening(trx, buyerAccount, EVENT)
    if (hooks.length === 0) continue
    for (const stray of strays.filter(({ party }) => party === wallet).slice(0, MOST_A_DAY)) {
      const data = waitingOf({ ...stray, reason: WRONG_TOKEN })
      const mark = `${stray.transaction} ${stray.place} ${stray.token}`
      for (const webhook of hooks) {
        const isFirst = await insertAlertMark(trx, { webhook, subject: WRONG_TOKEN, mark }, ctx.clock.now(), MOST_A_DAY)
        if (isFirst) await addDelivery(ctx, trx, webhook, { event: EVENT, data })
      }
    }
  }
}

function waitingOf({ reason, party, token, amount, transaction, block }: Waiting) {
  return {
    reason,
    sender: party,
    amount_usdc: reason === WRONG_TOKEN ? null : amount.toString(),
    token,
    token_amount: amount.toString(),
    tx_hash: transaction,
    block: Number(block),
  }
}
