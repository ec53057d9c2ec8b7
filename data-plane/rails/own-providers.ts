import type { Chargeable, Settled } from '#data-plane/payment.ts'
import { OWN_RAIL } from '#shared/contract/rails.ts'
import { AppError } from '#shared/errors.ts'
import { ZERO } from '#shared/money.ts'
import type { Rail } from './rail.ts'

/** Records of calls to a buyer's own providers, for look-ups until they are booked. */
type OwnCallNotes = { ended(call: Pick<Chargeable, 'rid' | 'account'>, event: string): void }

const NOTHING_OWED: Settled = { state: 'final', booking: 'by-event' }

/**
 * Serves calls to the payer's own providers. Nothing is set aside and nothing is charged; the end of a call is
 * recorded. No request carries a proof of this rail. It replaces the rail that the payer used.
 */
export function ownProviderRail(notes: OwnCallNotes): Rail<true> {
  return {
    name: OWN_RAIL,
    recognize: () => undefined,
    identify: () =>
      Promise.reject(new AppError('internal_error', { cause: new Error('this rail identifies no caller') })),
    challenge: null,
    reserve: (payer, _proof, { rid }) => {
      const { account, keyId, wallet } = payer
      const identity = account === null ? { account, keyId, wallet } : { account, keyId, wallet }
      return Promise.resolve({ ...identity, rid, rail: OWN_RAIL, record: null, grantedMicro: ZERO })
    },
    settle(hold, _charge, event) {
      notes.ended(hold, event)
      return Promise.resolve(NOTHING_OWED)
    },
    release(hold, _reason, event) {
      if (event !== '') notes.ended(hold, event)
      return Promise.resolve()
    },
  }
}
