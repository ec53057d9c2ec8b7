import type { z } from 'zod'
import type { ChainPayment, ContractExposure, Exposure } from '#control-plane/db/chain-payments.ts'
import { ONE_PAYMENT_A_CALL } from '#control-plane/db/chain-payments.ts'
import type { PayerPurse } from '#control-plane/ports/chain/chain.ts'
import { isIncomplete } from '#control-plane/services/gate/may-leave.ts'
import { newUser, unrivalled } from '#control-plane/services/users/new-user.ts'
import { SECOND } from '#shared/clock.ts'
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
/** Why nothing is claimed after a step back of the ledger, until the nodes have told again what they had claimed. */
const RESTORED = 'ledger_restored'
/** The asker gives up soon after it. A claim that comes later would serve nobody. */
const VERIFY_MS = 5 * SECOND
/** Most tries of the claim's transaction, which a rival may make repeat once. */
const MAX_TRIES = 2

type Ask = z.output<typeof ClaimAskSchema>

/**
 * Verifies a payment and claims it for one call. The claim is one row, unique by the authorization, so the same payment
 * never pays for two calls, at whichever node they come. A claim takes no money.
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
      // A refusal may be for the same payment, which another call has claimed since.
      const rival = await ctx.ledger.payments.findOf(name)
      if (rival === undefined && answer !== undefined) return answer
      if (rival === undefined) throw new AppError('service_unavailable', { retryAfterSeconds: 1 })
      return isSame(rival, ask) ? claimed(rival) : used(rival)
    } catch (error) {
      if (ctx.ledger.refusalOf(error)?.constraint === ONE_PAYMENT_A_CALL) {
        throw new AppError('conflict', { message: 'The call has another payment.', cause: error })
      }
      // A rival has just made the payer's account.
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
    // The payment verified, and has come as a deposit since then.
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
    // Verifying locks nothing: the same balance may stand behind several authorizations.
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

/** Shares of the limit of contracts beyond what payers have settled: one payer's, and that of all together. */
const PAYER_SHARE = 10n
const UNSETTLED_SHARE = 2n

/**
 * True when a contract's claim breaks the limit of contracts, or the share of it for payers beyond their history. One
 * stranger closes nothing to others, and all strangers together nothing to payers that have settled as much as they ask.
 */
function isBeyond({ own, unsettled, all }: ContractExposure, limit: bigint): boolean {
  if (own > limit / PAYER_SHARE) return true
  if (own > 0n && unsettled > limit / UNSETTLED_SHARE) return true
  return all > limit
}

/**
 * True when Permit2 may take the payment beside all others that are open. An EIP-2612 permit replaces the allowance that
 * others count on, and of two with one nonce the second is void. So a payment with a permit stands alone, and its permit
 * is the next that the token takes. What only an outside facilitator can see counts as good.
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
 * The payer's money on the chain, the instant before it was read, and the calls whose payments had left it already. It is
 * read before the claim's transaction, which waits for nobody but the database, and what ended since counts against it.
 */
type Purse = Pick<PayerPurse, 'balance' | 'allowance' | 'nextPermit'> & {
  readonly at: Date
  readonly moved: readonly RequestId[]
}

/**
 * The payer's balance and allowance. The books do not say which payments it lacks already: one may be mined since then, or
 * its block may be gone. So the chain is asked about both at once. Undefined where only an outside facilitator knows the
 * chain.
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

/** Asks the facilitator. Undefined is a good payment. */
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
    const verdict = await Promise.race([payments.facilitator.verify(signed), late(clock)])
    if (!verdict.isValid) return { state: 'refused', reason: verdict.reason }
    return verdict.payer.toLowerCase() === payer ? undefined : { state: 'refused', reason: 'invalid_payload' }
  } catch (error) {
    log.warn({ err: error }, 'a payment could not be verified')
    return closed('chain_unreachable')
  }
}

async function late(clock: PaymentCtx['clock']): Promise<never> {
  await clock.sleep(VERIFY_MS)
  throw new Error('the facilitator took too long')
}

/** True for a claim that is asked for again, because its answer was lost. */
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
