import type { RawRequest, RequestHead } from '#data-plane/call.ts'
import type { PaymentDesk, Quote } from '#data-plane/payment.ts'
import type { ReceiptFormat } from '#data-plane/rails/claim.ts'
import { claimHold, paymentsClosed, refuseDear, settleHold, takeAhead, termsOf } from '#data-plane/rails/claim.ts'
import type { Rail } from '#data-plane/rails/rail.ts'
import { paymentRefused } from '#data-plane/rails/rail.ts'
import { repeatProof } from '#data-plane/rails/repeat-proof.ts'
import { walletPayer } from '#data-plane/rails/wallet-payer.ts'
import type { SignedHash, WalletSignatures } from '#data-plane/rails/wallet-signature.ts'
import type { Clock } from '#shared/clock.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import { checkPayment } from './check-payment.ts'
import type { ReadHeader, SentPayment } from './payment-header.ts'
import { encodeHeader, sentPayment } from './payment-header.ts'
import type { QuoteSeal } from './quote-seal.ts'
import type { Requirement, Scheme } from './requirement.ts'
import { paymentPrice, requirementFor } from './requirement.ts'
import { exactHash, uptoHash } from './signed-hash.ts'

/** The services that the rail uses. */
export type X402Ports = {
  readonly desk: PaymentDesk
  readonly signatures: WalletSignatures
  readonly seal: QuoteSeal
  readonly clock: Clock
  /** The URL of a request, as challenges name it. */
  urlOf(head: RequestHead): string
}

/**
 * x402, version 2, by one scheme. `upto` takes the cost of the call, `exact` the quoted price, whose unused part
 * becomes the payer's credit. The rail of `upto` is first on a path; it also answers headers without a valid payment.
 */
export function x402Rail(scheme: Scheme, { desk, signatures, seal, clock, urlOf }: X402Ports): Rail<ReadHeader> {
  const name = scheme === 'upto' ? 'x402-upto' : 'x402-exact'

  function demandOn(terms: PaymentTerms, quote: Pick<Quote, 'wantMicro'>, raw: RawRequest): Requirement {
    const price = paymentPrice(quote.wantMicro)
    return requirementFor(scheme, terms, price, seal.seal(raw, price, clock.now()))
  }

  return {
    name,
    recognize(head) {
      const read = sentPayment(head)
      if (read === undefined) return undefined
      if ('reason' in read) return scheme === 'upto' ? read : undefined
      return read.payment.scheme === scheme ? read : undefined
    },
    identify: (read) => Promise.resolve(walletPayer('payment' in read ? payerOf(read.payment) : undefined)),
    challenge(quote, raw) {
      const terms = termsOf(desk, name)
      if (terms === undefined || (scheme === 'upto' && terms.facilitator === null)) return undefined
      refuseDear(quote)
      return { accepts: [demandOn(terms, quote, raw)], headers: {}, extensions: EXTENSIONS[scheme] }
    },
    async reserve(_payer, read, quote, raw) {
      if ('reason' in read) throw paymentRefused(read.reason)
      const terms = termsOf(desk, name)
      if (terms === undefined) throw paymentsClosed('closed')
      refuseDear(quote)
      const { payment } = read
      const now = clock.now()
      const word = payment.accepted?.extra?.['quote']
      const quotedMicro = seal.open(word, raw, now)
      const priceMicro = paymentPrice(quote.wantMicro)
      const checked = checkPayment(payment, { terms, priceMicro, quotedMicro, url: urlOf(raw), now })
      if ('reason' in checked) throw paymentRefused(checked.reason)
      const { amountMicro } = checked
      // An earlier price may no longer cover the call.
      if (amountMicro < quote.minMicro) throw paymentRefused('price_has_risen')
      const verdict = await signatures.judge(signedBy(payment, terms))
      if (verdict === 'forged') throw paymentRefused(FORGED[scheme])
      const requirement = requirementFor(scheme, terms, amountMicro, undefined)
      const payload = payloadOf(payment, requirement)
      const { network } = terms
      const { wallet } = payerOf(payment)
      const proof = repeatProof(raw, word)
      const checkedPayment = {
        rail: name,
        amountMicro,
        payload,
        requirement,
        network,
        wallet,
        proof,
        receiptFormat: RECEIPT_FORMAT,
      } as const
      return signatures.passOn(verdict, raw.peer(), () => claimHold(desk, checkedPayment, quote, raw))
    },
    settle: (hold, charge, event) => settleHold(desk, hold, { charge, event }, RECEIPT_FORMAT),
    release: (hold) => desk.release(hold.rid),
    receipts: RECEIPT_FORMAT.names,
    ...(scheme === 'exact' ? { takeAhead: (hold) => takeAhead(desk, hold, RECEIPT_FORMAT) } : {}),
  }
}

/** A rail for paths on which no other takes x402. It answers every payment header, even of another scheme. */
export function alone(rail: Rail<ReadHeader>): Rail<ReadHeader> {
  return {
    ...rail,
    recognize(head) {
      const read = sentPayment(head)
      if (read === undefined || 'reason' in read) return read
      return rail.recognize(head) ?? { reason: 'unsupported_scheme' }
    },
  }
}

/** A payer without ETH and without an allowance may add a permit (EIP-2612), for which the facilitator pays the gas. */
const EXTENSIONS: Readonly<Record<Scheme, Readonly<Record<string, unknown>>>> = {
  exact: {},
  upto: {
    eip2612GasSponsoring: {
      info: { description: 'The facilitator pays the gas of an EIP-2612 permit to Permit2.', version: '1' },
      schema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          from: { type: 'string' },
          asset: { type: 'string' },
          spender: { type: 'string' },
          amount: { type: 'string' },
          nonce: { type: 'string' },
          deadline: { type: 'string' },
          signature: { type: 'string' },
          version: { type: 'string' },
        },
      },
    },
  },
}

function payerOf({ scheme, signed }: SentPayment): { readonly wallet: string; readonly nonce: string } {
  const { from, nonce } = scheme === 'exact' ? signed.authorization : signed.permit2Authorization
  return { wallet: from.toLowerCase(), nonce }
}

/** The reasons of x402 for a signature that is not the payer's. */
const FORGED: Readonly<Record<Scheme, string>> = {
  exact: 'invalid_exact_evm_signature',
  upto: 'invalid_permit2_signature',
}

function signedBy(payment: SentPayment, terms: PaymentTerms): SignedHash {
  const { wallet } = payerOf(payment)
  const hash = payment.scheme === 'exact' ? exactHash(terms, payment.signed) : uptoHash(terms, payment.signed)
  return { hash, wallet, signature: payment.signed.signature }
}

/** The payment in the facilitator's form. Our own requirement replaces the payer's copy of it. */
function payloadOf({ signed, extensions }: SentPayment, accepted: Requirement): Readonly<Record<string, unknown>> {
  const payload = { x402Version: 2, accepted, payload: signed }
  return extensions === undefined ? payload : { ...payload, extensions }
}

/** The settlement in the header of x402, under its present name and its older one. */
const RECEIPT_FORMAT: ReceiptFormat = {
  type: 'x402',
  names: ['payment-response', 'x-payment-response'],
  headers({ state, transaction, amountMicro, reason }, hold) {
    const { record, wallet } = hold
    const response = encodeHeader({
      success: state === 'settled',
      transaction: transaction ?? '',
      network: record?.['network'],
      payer: wallet,
      ...(record?.['scheme'] === 'upto' ? { amount: amountMicro.toString() } : {}),
      ...(state === 'settled' ? {} : { errorReason: reason ?? 'settlement_pending' }),
    })
    return { 'payment-response': response, 'x-payment-response': response }
  },
}
