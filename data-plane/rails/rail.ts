import type { CaptureOutcome, Hold, Payer, Quote, RawRequest } from '#data-plane/call.ts'
import type { MicroUsd } from '#shared/money.ts'

export type RailName = 'credit'

/** What a rail tells somebody who has not paid: an entry of `accepts` and headers of its own. */
export type Challenge = {
  readonly accepts: readonly Readonly<Record<string, unknown>>[]
  readonly headers: Readonly<Record<string, string>>
}

/** One way to pay. An `event` is the usage event of the call, as the bytes to keep. */
export type Rail<Proof> = {
  readonly name: RailName
  /** The credential in the headers, or undefined when this rail's is not there. Throws on one that cannot be. */
  recognize(raw: RawRequest): Proof | undefined
  /** Who pays. Throws AppError: `invalid_api_key`, `wrong_key_type`, `service_unavailable`. */
  identify(proof: Proof): Promise<Payer>
  challenge(quote: Quote | undefined): Challenge | undefined
  reserve(payer: Payer, proof: Proof, quote: Quote): Promise<Hold>
  settle(hold: Hold, charge: MicroUsd, event: string): Promise<CaptureOutcome>
  release(hold: Hold, reason: string, event: string): Promise<void>
}

/** A rail with the proof it found: what the pipeline works with. */
export type Payment = {
  readonly rail: RailName
  identify(): Promise<Payer>
  reserve(payer: Payer, quote: Quote): Promise<Hold>
  settle(hold: Hold, charge: MicroUsd, event: string): Promise<CaptureOutcome>
  release(hold: Hold, reason: string, event: string): Promise<void>
}

/** A rail whose proof type nobody outside needs to know. */
export type AnyRail = {
  readonly name: RailName
  recognize(raw: RawRequest): Payment | undefined
  challenge(quote: Quote | undefined): Challenge | undefined
}

export function defineRail<Proof>(rail: Rail<Proof>): AnyRail {
  return {
    name: rail.name,
    challenge: (quote) => rail.challenge(quote),
    recognize(raw) {
      const proof = rail.recognize(raw)
      if (proof === undefined) return undefined
      return {
        rail: rail.name,
        // Methods, not arrows: this object is made for every call, and the loader names each arrow as it is made.
        identify() {
          return rail.identify(proof)
        },
        reserve(payer, quote) {
          return rail.reserve(payer, proof, quote)
        },
        settle: rail.settle,
        release: rail.release,
      }
    },
  }
}
