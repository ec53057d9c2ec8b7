import type { Clock, Time } from '#shared/clock.ts'
import { internalToken } from '#shared/internal-token.ts'
import type { Logger } from '#shared/logger.ts'
import type { RequestHead } from './call.ts'
import type { DataConfig } from './config.ts'
import type { Funds } from './payment.ts'
import type { PendingSettlements } from './pipeline/claims/pending-settlements.ts'
import { askedBase, askedUrl } from './pipeline/entrance.ts'
import type { BuyerKeys } from './rails/credit.ts'
import { creditRail } from './rails/credit.ts'
import { createChallengeIds } from './rails/mpp/challenge.ts'
import { mppRail } from './rails/mpp/mpp-rail.ts'
import { defineRail } from './rails/rail.ts'
import { createWalletSignatures } from './rails/wallet-signature.ts'
import { createQuoteSeal } from './rails/x402/quote-seal.ts'
import type { X402Ports } from './rails/x402/x402-rail.ts'
import { alone, x402Rail } from './rails/x402/x402-rail.ts'
import type { Rails } from './routes.ts'
import type { PaymentDeskStore } from './store/payment-desk.ts'
import { NO_PAYMENT_DESK, openPaymentDesk } from './store/payment-desk.ts'

/** Opens the desk for payments by wallets, if a control plane is configured. */
export function openDesk({ config, clock, log }: { config: DataConfig; clock: Time; log: Logger }): PaymentDeskStore {
  const { controlPlaneUrl: url, keyPepper } = config
  return url === undefined ? NO_PAYMENT_DESK : openPaymentDesk({ url, token: internalToken(keyPepper), clock, log })
}

type Stores = {
  readonly buyerKeys: BuyerKeys
  readonly pending: Pick<PendingSettlements, 'watched'>
  readonly paymentDesk: PaymentDeskStore
}

/** Makes the ways to pay. */
export function openRails(
  { config, clock }: { config: DataConfig; clock: Clock },
  stores: Stores,
  funds: Funds,
): Rails {
  const { buyerKeys, paymentDesk: desk, pending } = stores
  const urlOf = (head: RequestHead) => askedUrl(config, head)
  const realmOf = (head: RequestHead) => new URL(askedBase(config, head)).hostname
  const signatures = createWalletSignatures({ desk, clock })
  const common = { desk, signatures, clock, urlOf }
  const ports: X402Ports = { ...common, seal: createQuoteSeal(config.keyPepper) }
  const [upto, exact] = [pending.watched(x402Rail('upto', ports)), pending.watched(x402Rail('exact', ports))]
  return {
    credit: creditRail({ funds, buyerKeys }),
    creditByEitherHeader: creditRail({ funds, buyerKeys, takesApiKeyHeader: true }),
    // A stock client takes the first entry that it can pay, and `upto` charges only the actual usage.
    x402: [defineRail(upto), defineRail(exact)],
    x402Exact: [defineRail(alone(exact))],
    mpp: [defineRail(pending.watched(mppRail({ ...common, realmOf, ids: createChallengeIds(config.keyPepper) })))],
  }
}
