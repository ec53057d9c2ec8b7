import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import { findChainPaymentOf, lockPayer } from '#control-plane/db/chain-payments.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { insertArrival, lockDepositByNonce, markDepositCredited } from '#control-plane/db/deposits.ts'
import { findLedgerKey } from '#control-plane/db/ledger.ts'
import { markRestored, readMoneyEpoch, readStanding } from '#control-plane/db/money-epoch.ts'
import { readStoodIn } from '#control-plane/db/shortfall.ts'
import type { MoveChange, MoveName, TreasuryMove } from '#control-plane/db/treasury-moves.ts'
import {
  changeMove,
  findOwnTransaction,
  listNewMoves,
  lockMove,
  lockTransaction,
  notePermit,
  noteSearch,
} from '#control-plane/db/treasury-moves.ts'
import { findUserByWallet } from '#control-plane/db/users.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import type { ProxyUse } from '#control-plane/ports/treasury/treasury-chain.ts'
import { landDraw, lockDrawOf } from '#control-plane/services/allowances/land-draw.ts'
import { JOURNAL_MS, noticeSpent } from '#control-plane/services/gate/ledger-restores.ts'
import { isIncomplete } from '#control-plane/services/gate/may-leave.ts'
import { isWholeAgain } from '#control-plane/services/gate/whole-again.ts'
import { confirmBuyers, postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { takeUpArrival } from '#control-plane/services/payments/late-arrival.ts'
import { settlerOf } from '#control-plane/services/payments/payment-on-chain.ts'
import { isOurSettler } from '#control-plane/services/payments/payment-terms.ts'
import type { NameBudget } from '#control-plane/services/payouts/departure-name.ts'
import { newNameBudget } from '#control-plane/services/payouts/departure-name.ts'
import { findDeparture, LostEarningsError } from '#control-plane/services/payouts/find-departure.ts'
import { holdPayouts } from '#control-plane/services/payouts/payout-stops.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, DepositId, DrawId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { MoveCtx } from './move-ctx.ts'
import { purseOf } from './move-ctx.ts'
import { tellOfCredit, tellOfWaiting } from './tell-of-deposit.ts'

const { shortfall: SHORTFALL } = PLATFORM_ACCOUNTS

/** Most moves of one turn, and of one batch. */
const MAX_A_TURN = 500
const AT_ONCE = 4

/** Why a move is unknown. */
export const UNKNOWN = {
  sender: 'unknown_sender',
  limit: 'balance_limit',
  sent: 'not_sent_here',
  /** Our facilitator sent it, and the books have no such payment. */
  payment: 'unknown_payment',
} as const

/** The verdict on a move: an account that gets the money, or a name. */
type Verdict = Named | Credit
type Named = MoveChange & {
  /** The account that the move seems to be for. The account learns that the move waits. */
  readonly waitsFor?: AccountId | undefined
}
type Credit = {
  readonly account: AccountId
  readonly deposit: DepositId | undefined
  /** The draw by which the treasury took the money. */
  readonly draw?: DrawId
}

/** Names the meaning of every new move, and credits deposits. Returns the number of credited moves. */
export async function takeMoves(ctx: MoveCtx, budget = newNameBudget()): Promise<number> {
  // The lost part of the ledger names the owners, so moves wait until it is restored.
  if (await isIncomplete(ctx, await ctx.gate.ledgerBeat())) return 0
  const moves = await listNewMoves(ctx.db, purseOf(ctx.moves), ctx.moves.isFormer ? 'out' : undefined, MAX_A_TURN)
  let credited = 0
  for (let at = 0; at < moves.length; at += AT_ONCE) {
    const results = await Promise.all(moves.slice(at, at + AT_ONCE).map((move) => tryTake(ctx, move, budget)))
    credited += results.filter(Boolean).length
  }
  return credited
}

/** A failed move does not stop the other moves. */
async function tryTake(ctx: MoveCtx, move: TreasuryMove, budget: NameBudget): Promise<boolean> {
  try {
    return await takeMove(ctx, move, budget)
  } catch (error) {
    ctx.log.warn({ err: error, transaction: move.transaction }, 'a transfer of the treasury will be judged again')
    // The ledger was restored from an older state, and no process has noticed it yet.
    const isUnnoticed = error instanceof LostEarningsError && (await ctx.ledger.readEpoch()).heldAt === undefined
    if (isUnnoticed && move.nonce !== null) await noticeSpent(ctx, new Set([move.nonce]))
    return false
  }
}

/** Judges one move. True when it was credited. */
export async function takeMove(
  ctx: MoveCtx,
  { direction, transaction, place, nonce }: TreasuryMove,
  budget = newNameBudget(),
): Promise<boolean> {
  const name = { direction, transaction, place }
  // The call alone identifies a payment by Permit2. The chain is read here, outside any database transaction.
  const use = direction === 'in' && nonce === null ? await findUse(ctx, transaction) : null
  const credit = await transact(ctx.db, async (trx) => {
    const move = await lockNewMove(ctx, trx, name, use)
    if (move === undefined || (await readStanding(trx, undefined)) === 'joining') return undefined
    const isOurs = use?.isOurs === true
    const verdict =
      direction === 'in' ? await judgeArrival(ctx, trx, move, isOurs) : await judgeDeparture(ctx, trx, move, budget)
    if (verdict === undefined) return undefined
    if ('account' in verdict) return creditMove(ctx, trx, move, verdict)
    await nameMove(ctx, trx, move, verdict)
    return undefined
  }).catch((error: unknown) => {
    if (!(error instanceof AppError && error.code === 'conflict')) throw error
    ctx.log.error({ err: error, transaction }, 'a deposit does not fit into its account')
    return 'too-much' as const
  })
  if (credit === 'too-much') await setAside(ctx, name, use)
  if (credit === undefined || credit === 'too-much') return false
  crashPoint('deposit_booked')
  await tellGate(ctx, credit, transaction)
  return true
}

/** A use of x402's proxy. `isOurs` when one of our lost claims may have caused it. */
type Use = ProxyUse & { readonly isOurs: boolean }

async function findUse(ctx: MoveCtx, transaction: string): Promise<Use | null> {
  const use = await ctx.moves.chain.proxyUseOf(transaction)
  return use && { ...use, isOurs: await isOurSettler(ctx, use.sender) }
}

/** Locks a move without a verdict, with the Permit2 authorization that carried it. */
async function lockNewMove(ctx: MoveCtx, trx: Trx, name: MoveName, use: Use | null): Promise<TreasuryMove | undefined> {
  const purse = purseOf(ctx.moves)
  await lockTransaction(trx, name.transaction)
  const move = await lockMove(trx, purse, name)
  if (move?.kind !== 'new') return undefined
  if (use?.payer !== move.party) return move
  await notePermit(trx, purse, move, use)
  return { ...move, permitNonce: use.nonce, permitBy: use.sender }
}

/**
 * Tells the gate of balances that a deposit changed. When this fails, the outbox row stays, and a later drain tells the
 * gate.
 */
export async function tellGate(
  ctx: Pick<MoveCtx, 'ledger' | 'gate' | 'log'>,
  balances: Parameters<typeof confirmBuyers>[1],
  transaction: string,
): Promise<void> {
  await confirmBuyers(ctx, balances).catch((error: unknown) =>
    ctx.log.warn({ err: error, transaction }, 'the gate gets the balance after a deposit later'),
  )
}

/** Leaves a move to a person when its account cannot hold the amount. */
function setAside(ctx: MoveCtx, name: MoveName, use: Use | null): Promise<void> {
  return transact(ctx.db, async (trx) => {
    const move = await lockNewMove(ctx, trx, name, use)
    if (move === undefined) return
    const verdict = await judgeArrival(ctx, trx, move, use?.isOurs === true)
    const waitsFor = 'account' in verdict ? verdict.account : undefined
    await nameMove(ctx, trx, move, { kind: 'unknown', ref: null, reason: UNKNOWN.limit, waitsFor })
  })
}

/** Stores the meaning of a locked move. If the move waits, the account that it seems to be for learns of it. */
async function nameMove(ctx: MoveCtx, trx: Trx, move: TreasuryMove, { waitsFor, ...change }: Named): Promise<void> {
  const payments = moneyTransaction(trx).payments
  const payment = change.kind === 'payment' && change.ref !== null ? await payments.lock(change.ref) : undefined
  await changeMove(trx, purseOf(ctx.moves), move, change)
  if (payment !== undefined && (await takeUpArrival(payments, payment))) {
    ctx.log.warn({ rid: payment.rid, transaction: move.transaction }, 'a payment arrived after its deadline')
  }
  const { reason } = change
  if (waitsFor === undefined || reason == null) return
  await tellOfWaiting(ctx, trx, waitsFor, { ...move, reason, token: ctx.moves.asset })
}

/**
 * The payment whose authorization carried a locked move. A concurrent claim of the authorization waits for this
 * transaction, and then finds the verdict.
 */
export async function findClaim(
  { chainId, asset }: Pick<MoveParts, 'chainId' | 'asset'>,
  trx: Trx,
  { party, nonce, permitNonce, permitBy }: TreasuryMove,
): Promise<ChainPayment | undefined> {
  const authorization = nonce ?? permitNonce
  if (authorization === null) return undefined
  await lockPayer(trx, party)
  const name = { network: `eip155:${chainId}`, asset, payer: party, nonce: authorization }
  const claim = await findChainPaymentOf(trx, name)
  // A payer can sign the same Permit2 nonce for another facilitator, which moves other money.
  return claim === undefined || nonce !== null || settlerOf(claim) === permitBy ? claim : undefined
}

/**
 * Finds the owner of an arrival. A payment is booked with its call, so it is no deposit. Any wallet can send
 * money through any contract. So an arrival that matches no payment of the books belongs to its sender, or waits for an
 * operator.
 */
async function judgeArrival(ctx: MoveCtx, trx: Trx, move: TreasuryMove, isOurs: boolean): Promise<Verdict> {
  const { chainId, coldAddress } = ctx.moves
  const { party, nonce, permitNonce, transaction, logIndex } = move
  const claim = await findClaim(ctx.moves, trx, move)
  if (claim !== undefined) return { kind: 'payment', ref: claim.rid }
  let waitsFor: AccountId | undefined
  if (nonce !== null) {
    const deposit = await lockDepositByNonce(trx, nonce)
    // Anybody can use a nonce again for money of another wallet. That is an ordinary transfer.
    if (deposit?.sender === party) {
      // A deposit that was credited on a former chain arrived again, as an ordinary transfer.
      return { account: deposit.account, deposit: deposit.state === 'credited' ? undefined : deposit.id }
    }
    waitsFor = deposit?.account
  } else {
    const own = await findOwnTransaction(trx, transaction)
    const draw = own === undefined ? undefined : await lockDrawOf(trx, own)
    if (draw?.wallet === party) {
      const again = { account: draw.account, deposit: undefined }
      return draw.state === 'settled' ? again : { ...again, draw: draw.id }
    }
    // Our facilitator sends authorizations that calls have claimed. A claim that the ledger lost comes back from a
    // journal.
    const isSentHere = own !== undefined || isOurs
    if (permitNonce !== null && isSentHere) return { kind: 'unknown', ref: null, reason: UNKNOWN.payment }
  }
  if ((await findLedgerKey(trx, fundKey(move.era, chainId, transaction, logIndex))) !== undefined) {
    return { kind: 'capital', ref: null }
  }
  if (party === coldAddress) return { kind: 'sweep', ref: null }
  const user = await findUserByWallet(trx, party)
  if (user !== undefined) return { account: user.buyerAccount, deposit: undefined }
  return { kind: 'unknown', ref: null, reason: UNKNOWN.sender, waitsFor }
}

/** The ledger key of a transfer that is the operator's capital. */
export function fundKey(era: number, chainId: number, transaction: string, logIndex: number): string {
  return `fund:${chainId}:${transaction}:${logIndex}${eraSuffix(era)}`
}

/** The suffix that tells names of successive chains with one id apart. The first chain has none. */
export function eraSuffix(era: number): string {
  return era === 0 ? '' : `:${era}`
}

/**
 * Matches a departure to its payout. Undefined while the search goes on. A departure that this market did not send
 * means that the key is stolen, so payouts stop. The key of a former treasury has no access to present money.
 */
async function judgeDeparture(
  ctx: MoveCtx,
  trx: Trx,
  move: TreasuryMove,
  budget: NameBudget,
): Promise<MoveChange | undefined> {
  const { nonce, party, amount, transaction } = move
  const record = await readMoneyEpoch(trx)
  const { heldAt } = record
  const look = { isWhole: await isWholeAgain(ctx, trx, record), budget }
  const departure = nonce === null ? undefined : await findDeparture(ctx, trx, { ...move, nonce }, look)
  if (departure !== undefined && 'place' in departure) {
    if (departure.place !== null) await noteSearch(trx, purseOf(ctx.moves), move, departure.place)
    // A restored ledger is on hold. In any other ledger the nonce is most likely unknown, and the search may take a
    // while.
    if (heldAt === undefined && !ctx.moves.isFormer) await holdPayouts(ctx, trx, `chain:${transaction}`)
    return undefined
  }
  if (departure !== undefined) {
    // The ledger was restored from an older state, and no process has noticed it yet.
    if (departure.isLost && heldAt === undefined) await markRestored(trx, ctx.clock.now() - JOURNAL_MS)
    return { kind: departure.purpose === 'sweep' ? 'sweep' : 'payout', ref: departure.id }
  }
  const facts = { transaction, to: party, amount: amount.toString() }
  if (ctx.moves.isFormer) {
    ctx.log.error(facts, 'money left a former treasury without an order')
    return { kind: 'unknown', ref: null, reason: UNKNOWN.sent }
  }
  ctx.log.error(facts, 'money left the treasury without an order: payouts stop')
  await holdPayouts(ctx, trx, `chain:${transaction}`)
  return { kind: 'unknown', ref: null, reason: UNKNOWN.sent }
}

/** Credits a locked move to its account, once, and tells the account. Returns the balances that changed. */
export async function creditMove(
  ctx: Pick<MoveCtx, 'ids' | 'clock' | 'moves'>,
  trx: Trx,
  move: TreasuryMove,
  { account, deposit, draw }: Credit,
) {
  const purse = purseOf(ctx.moves)
  const { transaction, place, party, amount, block } = move
  const key = `deposit:${purse.chainId}:${transaction}:${place}${eraSuffix(move.era)}`
  const balances = await postTransaction(moneyTransaction(trx), {
    id: ctx.ids.ulid(),
    key,
    kind: 'deposit',
    note: `${party} ${transaction}`,
    entries: [
      { account: PLATFORM_ACCOUNTS.externalUsdc, amount: -amount },
      { account, amount },
    ],
  })
  if (balances === undefined) throw new Error(`the transfer ${transaction} ${place} was credited and not marked`)
  const id = deposit ?? ctx.ids.make('dep')
  const method = draw === undefined ? 'transfer' : 'allowance'
  const arrival = { id, account, method, sender: party, amount, transaction, block } as const
  if (deposit === undefined) await insertArrival(trx, purse, arrival)
  else await markDepositCredited(trx, id, arrival)
  if (draw !== undefined) await landDraw(trx, { id: draw, account }, { deposit: id, transaction, block })
  await changeMove(trx, purse, move, { kind: 'deposit', ref: id })
  await tellOfCredit(ctx, trx, account, deposit === undefined ? arrival : { ...arrival, method: 'authorization' })
  const repaid = await repayStoodIn(ctx, trx, { account, amount, key })
  crashPoint('deposit_in_tx')
  return repaid ?? balances
}

/**
 * Pays the platform back for a deposit that a restored ledger lacked: calls from the journals may be booked before the
 * chain shows the money that paid for them. Returns the changed balances, undefined when nothing is owed. The account
 * has the deposit by now, so the gate admits no call that would lack the money.
 */
async function repayStoodIn(
  { ids }: Pick<MoveCtx, 'ids'>,
  trx: Trx,
  { account, amount, key }: { readonly account: AccountId; readonly amount: bigint; readonly key: string },
) {
  const stoodIn = await readStoodIn(trx, account)
  if (stoodIn <= 0n) return undefined
  const money = moneyTransaction(trx)
  // An operator may have paid the shortfall off since.
  const owed = -((await money.lockAccounts([account, SHORTFALL])).get(SHORTFALL)?.balance ?? 0n)
  const due = [stoodIn, amount, owed].reduce((least, one) => (one < least ? one : least))
  if (due <= 0n) return undefined
  return postTransaction(money, {
    id: ids.ulid(),
    key: `repaid:${key}`,
    kind: 'repaid',
    note: 'Calls that the platform paid for while this deposit was not known',
    entries: [
      { account, amount: -due },
      { account: SHORTFALL, amount: due },
    ],
  })
}
