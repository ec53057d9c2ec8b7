import type { RawRequest, RequestHead } from '#data-plane/call.ts'
import type { Chargeable, Hold, Payer, Quote, Settled } from '#data-plane/payment.ts'
import type { RailName } from '#shared/contract/rails.ts'
import type { MicroUsd } from '#shared/money.ts'

/** What a rail tells somebody who has not paid: entries of `accepts`, and headers of its own. */
export type Challenge = {
  readonly accepts: readonly Readonly<Record<string, unknown>>[]
  readonly headers: Readonly<Record<string, string>>
}

/** One way to pay. An `event` is the usage event of the call, as the bytes to keep. */
export type Rail<Proof> = {
  readonly name: RailName
  /** The credential in the headers, or undefined when this rail's is not there. Throws on one that cannot be. */
  recognize(head: RequestHead): Proof | undefined
  /** Who pays. Throws AppError: `invalid_api_key`, `wrong_key_type`, `service_unavailable`. */
  identify(proof: Proof): Promise<Payer>
  /** What it asks of a stranger for this very call; null where a stranger cannot pay by it. */
  readonly challenge: ((quote: Quote, raw: RawRequest) => Challenge) | null
  reserve(payer: Payer, proof: Proof, quote: Quote): Promise<Hold>
  /**
   * Takes the charge. Called again with the same bytes, by this process or by an heir of its journal, it changes nothing
   * and answers how the charge stands by then. Never rejects for what another try may mend.
   */
  settle(hold: Chargeable, charge: MicroUsd, event: string): Promise<Settled>
  /** Gives back what was set aside. Never rejects. */
  release(hold: Hold, reason: string, event: string): Promise<void>
}

/** What ends a hold, whoever made it. */
export type Settling = Pick<Rail<unknown>, 'settle' | 'release'>

/** A rail with the proof it found: what a call is paid by. */
export type Payment = Settling & {
  readonly rail: RailName
  identify(): Promise<Payer>
  reserve(payer: Payer, quote: Quote): Promise<Hold>
}

/** A rail whose proof type nobody outside needs to know. */
export type AnyRail = Settling &
  Pick<Rail<unknown>, 'name' | 'challenge'> & {
    recognize(head: RequestHead): Payment | undefined
  }

export function defineRail<Proof>(rail: Rail<Proof>): AnyRail {
  return {
    name: rail.name,
    challenge: rail.challenge,
    settle: rail.settle,
    release: rail.release,
    recognize(head) {
      const proof = rail.recognize(head)
      return proof === undefined ? undefined : payBy(rail, proof)
    },
  }
}

/** A payment by a rail whose proof is at hand. */
export function payBy<Proof>(rail: Rail<Proof>, proof: Proof): Payment {
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
}
