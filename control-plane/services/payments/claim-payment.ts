import type { z } from 'zod'
import type { ChainPayment, ContractExposure, Exposure } from '#control-plane/db/chain-payments.ts'
import { ONE_PAYMENT_A_CALL } from '#control-plane/db/chain-payments.ts'
import type { PayerPurse } from '#control-plane/ports/chain/chain.ts'
import { isIncomplete } from '#control-plane/services/gate/may-leave.ts'
import { newUser, unrivalled } from '#control-plane/services/users/new-user.ts'
import type { ClaimAnswer, ClaimAskSchema } from '#shared/contract/chain-payments.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import { isOfContract } from './is-contract.ts'
import type { PaymentCtx } from './payment-ctx.ts'
import { STANDINGS } from './payment-states.ts'
import { readPaymentTerms } from './payment-terms.ts'
import type { ReadPayment } from './signed-payment.ts'
import { readSignedPayment } from './signed-payment.ts'

const RETRY_SECONDS = 5
/** The reason why claims wait after a restore of the ledger, until the nodes have registered theirs again. */
const RESTORED = 'ledger_restored'
/** Most attempts of the claim's transaction. A concurrent claim can make it repeat once. */
const MAX_TRIES = 2

type Ask = z.output<typeof ClaimAskSchema>

/**
 * Verifies a payment and claims it for one call. The claim is a row that is unique by the authorization, so a payment
 * never pays for two calls, on any nodes. A claim moves no money.
 */
export async function claimPayment(ctx: PaymentCtx, ask: Ask): Promise<ClaimAnswer> {
  const read = readSignedPayment(ask.payload, ask.requirement)
  if (read === undefined) return { state: 'refused', reason: 'invalid_payload' }
  const { network, asset } = ctx.payments
  const { payer, nonce } = read
  const name = { network, asset: asset.toLowerCase(), payer, nonce }
  const before = await ctx.ledger.payments.findOf(name)
  if (before !== undefined) return isSame(before, ask) ? claimed(before) : used(before)
  // The same authorization may have paid for a call that the ledger lost.
  const beat = await ctx.gate.ledgerBeat().catch(() => undefined)
  if (await isIncomplete(ctx, beat)) return closed(RESTORED)
  const terms = await readPaymentTerms(ctx)
  if (!terms.isOpen) return closed(terms.closedFor ?? 'closed')
  const [verdict, purse, byContract] = await Promise.all([
    verify(ctx, read, ask.amountMicro),
    readPurse(ctx, read),
    isOfContract(ctx, read),
  ])
  if (verdict !== undefined) return verdict
  if (purse === 'unread' || byContract === null) return closed('chain_unreachable')
  crashPoint('before_claim')
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await insert(ctx, ask, read, { ...name, purse, beat, isContract: byContract })
      crashPoint('after_claim')
      if (answer?.state === 'claimed') return answer
      // The refusal may concern the same payment, which another call has claimed since.
      const rival = await ctx.ledger.payments.findOf(name)
      if (rival === undefined && answer !== undefined) return answer
      if (rival === undefined) throw new AppError('service_unavailable', { retryAfterSeconds: 1 })
      return isSame(rival, ask) ? claimed(rival) : used(rival)
    } catch (error) {
      if (ctx.ledger.refusalOf(error)?.constraint === ONE_PAYMENT_A_CALL) {
        throw new AppError('conflict', { message: 'The call has another payment.', cause: error })
      }
      // A concurrent claim has just made the payer's account.
      if (!(error instanceof AppError && error.code === 'conflict') || attempt >= MAX_TRIES) throw error
    }
  }
}

type Names = Pick<ChainPayment, 'network' | 'asset' | 'payer' | 'nonce'>

/** Facts about a payment before its claim. */
type PaymentFacts = {
  readonly purse: Purse | undefined
  readonly beat: number | undefined
  readonly isContract: boolean
}

/** Inserts the claim. Undefined when another call has the authorization. */
async function insert(
  ctx: PaymentCtx,
  ask: Ask,
  read: ReadPayment,
  { purse, beat, isContract, ...name }: Names & PaymentFacts,
): Promise<ClaimAnswer | undefined> {
  const { payer } = read
  const { payments } = ctx
  return ctx.ledger.transact(async (trx) => {
    const exposure = await trx.payments.lockExposure(payer, purse ?? { at: new Date(ctx.clock.now()), moved: [] })
    const standing = await trx.readStanding(beat)
    if (standing === 'behind' || standing === 'joining') return closed(RESTORED)
    const amount: bigint = ask.amountMicro
    // The payment was valid, and has arrived as a deposit since then.
    if (await trx.payments.wasMoved(name)) return { state: 'refused', reason: 'invalid_exact_evm_nonce_already_used' }
    if (exposure.owed > 0n) return { state: 'refused', reason: 'payer_owes' }
    if (exposure.open + amount > payments.payerExposureMicro) return closed('payer_exposure_limit')
    if (exposure.all + exposure.lost + amount > payments.exposureMicro) return closed('exposure_limit')
    if (
      isContract &&
      isBeyond(await trx.payments.readContractExposure(payer, amount), payments.contractExposureMicro)
    ) {
      return closed('contract_exposure_limit')
    }
    // Verification locks nothing: several authorizations may rely on the same balance.
    if (purse !== undefined && exposure.unmoved + amount > purse.balance) {
      return { state: 'refused', reason: 'insufficient_funds' }
    }
    if (!isAllowed(read, amount, exposure, purse)) return { state: 'refused', reason: 'permit2_allowance_required' }
    const user = unrivalled(await trx.payments.ensureUser(newUser(ctx, payer), ctx.clock.now()))
    const account = user.buyerAccount
    const isNew = await trx.payments.insert({
      ...name,
      rid: ask.rid,
      rail: ask.rail,
      account,
      amount,
      bodyDigest: ask.bodyDigest,
      payload: read.signed.payload,
      requirement: read.signed.requirements,
      validUntil: read.validUntil,
      serveUntil: new Date(ask.serveUntil),
      isContract,
    })
    return isNew ? claimed({ account, payer }) : undefined
  })
}

/** Shares of the limit for contract wallets beyond their settled payments: of one payer, and of all payers together. */
const PAYER_SHARE = 10n
const UNSETTLED_SHARE = 2n

/**
 * True when a contract wallet's claim exceeds the limit for contract wallets, or the share of payers beyond their
 * history. So one stranger cannot block other payers. All strangers together cannot block a payer who has settled as
 * much as the payer claims.
 */
function isBeyond({ own, unsettled, all }: ContractExposure, limit: bigint): boolean {
  if (own > limit / PAYER_SHARE) return true
  if (own > 0n && unsettled > limit / UNSETTLED_SHARE) return true
  return all > limit
}

/**
 * True when Permit2 can move the payment beside all other open ones. An EIP-2612 permit replaces the allowance that
 * others rely on, and of two permits with one nonce the second is void. So a payment with a permit must be the only
 * open one, and its permit has the token's next nonce. Facts that only an outside facilitator can see count as good.
 */
function isAllowed(
  { isFromAllowance, permitNonce }: ReadPayment,
  amount: bigint,
  { fromAllowance, permits }: Exposure,
  purse: Purse | undefined,
): boolean {
  if (!isFromAllowance) return true
  if (permitNonce === undefined) {
    return permits === 0 && (purse === undefined || fromAllowance + amount <= purse.allowance)
  }
  const isGood = purse === undefined || permitNonce === purse.nextPermit || amount <= purse.allowance
  return fromAllowance === 0n && isGood
}

/**
 * The payer's balance on the chain, the instant before the read, and the calls whose payments had already left it. It
 * is read before the claim's transaction, which waits for the database alone; payments that ended since count against
 * it.
 */
type Purse = Pick<PayerPurse, 'balance' | 'allowance' | 'nextPermit'> & {
  readonly at: Date
  readonly moved: readonly RequestId[]
}

/**
 * The payer's balance and allowance. The books do not show which payments are already subtracted: one may be mined
 * since, or its block may be gone. So both are read from the chain at once. Undefined when only an outside facilitator
 * reads the chain.
 */
async function readPurse(
  { payments, ledger, log }: PaymentCtx,
  { payer, isFromAllowance: hasAllowance, permitNonce }: ReadPayment,
): Promise<Purse | undefined | 'unread'> {
  const { chain, asset } = payments
  if (chain === null) return undefined
  const { at, payments: open } = await ledger.payments.listMoving(payer)
  try {
    const nonces = open.map(({ nonce }) => nonce)
    const question = { nonces, hasAllowance, hasPermit: permitNonce !== undefined }
    const { used, ...money } = await chain.readPurse(asset, payer, question)
    return { ...money, at, moved: open.flatMap(({ rid, nonce }) => (used.has(nonce) ? [rid] : [])) }
  } catch (error) {
    log.warn({ err: error }, 'a balance could not be read')
    return 'unread'
  }
}

/** Asks the facilitator. Undefined for a valid payment. */
async function verify(
  { payments, clock, log }: PaymentCtx,
  { signed, payer }: ReadPayment,
  amountMicro: bigint,
): Promise<ClaimAnswer | undefined> {
  const { requirements } = signed
  const isOurs =
    requirements.network === payments.network &&
    requirements.asset.toLowerCase() === payments.asset.toLowerCase() &&
    requirements.payTo.toLowerCase() === payments.payTo.toLowerCase() &&
    BigInt(requirements.amount) === amountMicro
  if (!isOurs) return { state: 'refused', reason: 'invalid_payment_requirements' }
  try {
    const verdict = await Promise.race([payments.facilitator.verify(signed), late(clock, payments.times.verifyMs)])
    if (!verdict.isValid) return { state: 'refused', reason: verdict.reason }
    return verdict.payer.toLowerCase() === payer ? undefined : { state: 'refused', reason: 'invalid_payload' }
  } catch (error) {
    log.warn({ err: error }, 'a payment could not be verified')
    return closed('chain_unreachable')
  }
}

async function late(clock: PaymentCtx['clock'], limitMs: number): Promise<never> {
  await clock.sleep(limitMs)
  throw new Error('the facilitator took too long')
}

/** True for a repeat of a claim whose answer was lost. */
function isSame({ rid, bodyDigest, state }: ChainPayment, ask: Ask): boolean {
  return rid === ask.rid && bodyDigest === ask.bodyDigest && state === 'claimed'
}

function claimed({ account, payer }: Pick<ChainPayment, 'account' | 'payer'>): ClaimAnswer {
  return { state: 'claimed', account, wallet: payer }
}

function closed(reason: string): ClaimAnswer {
  return { state: 'closed', reason, retryAfterSeconds: RETRY_SECONDS }
}

function used({ rid, bodyDigest, state, transaction, came, due }: ChainPayment): ClaimAnswer {
  const amountMicro = microUsd(came ?? due ?? 0n)
  return { state: 'used', rid, bodyDigest, standing: STANDINGS[state], transaction, amountMicro }
}
