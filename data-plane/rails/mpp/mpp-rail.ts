import type { RequestHead } from '#data-plane/call.ts'
import type { PaymentDesk } from '#data-plane/payment.ts'
import type { ReceiptFormat } from '#data-plane/rails/claim.ts'
import { claimHold, paymentsClosed, refuseDear, settleHold, takeAhead, termsOf } from '#data-plane/rails/claim.ts'
import type { Rail } from '#data-plane/rails/rail.ts'
import { paymentRefused } from '#data-plane/rails/rail.ts'
import { repeatProof } from '#data-plane/rails/repeat-proof.ts'
import { requestDigest } from '#data-plane/rails/request-digest.ts'
import { walletPayer } from '#data-plane/rails/wallet-payer.ts'
import type { WalletSignatures } from '#data-plane/rails/wallet-signature.ts'
import { MAX_TIMEOUT_SECONDS, paymentPrice, requirementFor } from '#data-plane/rails/x402/requirement.ts'
import { exactHash } from '#data-plane/rails/x402/signed-hash.ts'
import type { Clock } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import type { ChallengeIds } from './challenge.ts'
import { bodyDigest, factsOf, opaqueOf, writeChallenge, writeReceipt } from './challenge.ts'
import type { CredentialProblem, ReadCredential } from './credential.ts'
import { checkCredential, readCredential } from './credential.ts'

/** The services that the rail uses. */
export type MppPorts = {
  readonly desk: PaymentDesk
  readonly signatures: WalletSignatures
  readonly ids: ChallengeIds
  readonly clock: Clock
  /** Our host name in the request, as challenges spell it. */
  realmOf(head: RequestHead): string
}

const NAME = 'mpp'
const PROBLEMS = 'https://paymentauth.org/problems/'

/**
 * Payments by the Payment scheme of HTTP authentication. A credential holds the same signature as an exact payment of
 * x402, and is settled as one. The unused part becomes the payer's credit. Paths with a floor do not offer this rail.
 */
export function mppRail({ desk, signatures, ids, clock, realmOf }: MppPorts): Rail<ReadCredential> {
  const receiptFormat: ReceiptFormat = {
    type: 'mpp',
    names: ['payment-receipt'],
    headers: ({ state, transaction }, hold): Readonly<Record<string, string>> =>
      state === 'settled' && transaction !== null
        ? { 'payment-receipt': writeReceipt(transaction, hold, clock.now()) }
        : {},
  }
  return {
    name: NAME,
    recognize: ({ headers }) => readCredential(headers.authorization),
    identify: (read) => Promise.resolve(walletPayer('credential' in read ? payerOf(read) : undefined)),
    challenge(quote, raw) {
      const terms = termsOf(desk, NAME)
      if (terms === undefined || raw.pathFloorPercent !== undefined) return undefined
      refuseDear(quote)
      const amount = paymentPrice(quote.wantMicro).toString()
      const expires = new Date(clock.now() + MAX_TIMEOUT_SECONDS * SECOND).toISOString()
      const facts = factsOf(terms, { realm: realmOf(raw), amount, expires, opaque: opaqueOf(raw.requestId) })
      const id = ids.idOf(facts, requestDigest(raw))
      const digest = raw.stream === undefined ? bodyDigest(raw.body) : undefined
      return { accepts: [], headers: { 'www-authenticate': writeChallenge(id, facts, digest) } }
    },
    async reserve(_payer, read, quote, raw) {
      if ('problem' in read) throw problemRefusal(read.problem)
      const terms = termsOf(desk, NAME)
      if (terms === undefined) throw paymentsClosed('closed')
      refuseDear(quote)
      const needed = {
        terms,
        realm: realmOf(raw),
        requestDigest: requestDigest(raw),
        leastMicro: quote.minMicro,
        now: clock.now(),
      }
      const checked = checkCredential(read.credential, ids, needed)
      if ('problem' in checked) throw problemRefusal(checked.problem)
      const { amountMicro } = checked
      const requirement = requirementFor('exact', terms, amountMicro, undefined)
      const { signature, from, to, value, validAfter, validBefore, nonce } = read.credential.payload
      const signedTransfer = { signature, authorization: { from, to, value, validAfter, validBefore, nonce } }
      const verdict = await signatures.judge({ hash: exactHash(terms, signedTransfer), signature, wallet: from })
      if (verdict === 'forged') throw problemRefusal('verification-failed')
      const payload = { x402Version: 2, accepted: requirement, payload: signedTransfer }
      const { network } = terms
      // Only a hash of the challenge's id reaches the chain.
      const challengeId = read.credential.challenge.id
      const proof = repeatProof(raw, challengeId)
      const wallet = from.toLowerCase()
      const checkedPayment = {
        rail: NAME,
        amountMicro,
        payload,
        requirement,
        network,
        wallet,
        proof,
        challengeId,
        receiptFormat,
      } as const
      return signatures.passOn(verdict, raw.peer(), () => claimHold(desk, checkedPayment, quote, raw))
    },
    settle: (hold, charge, event) => settleHold(desk, hold, { charge, event }, receiptFormat),
    release: (hold) => desk.release(hold.rid),
    takeAhead: (hold) => takeAhead(desk, hold, receiptFormat),
    receipts: receiptFormat.names,
  }
}

function problemRefusal(problem: CredentialProblem) {
  // The body is a document of x402, so the problem's type is in a header.
  return paymentRefused(problem, { headers: { 'x-payment-problem': `${PROBLEMS}${problem}` } })
}

function payerOf({ credential }: Extract<ReadCredential, { credential: unknown }>) {
  return { wallet: credential.payload.from.toLowerCase(), nonce: credential.payload.nonce }
}
