import type { RailPostings } from '#control-plane/services/booking/rail-postings.ts'
import { RAIL_POSTINGS } from '#control-plane/services/booking/rail-postings.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { VOUCHER_RAIL } from './voucher.ts'

/** The product's rails and vouchers. An outside office pays vouchers, and the gate of credit does not know them. */
export const POSTINGS_WITH_VOUCHERS: RailPostings = new Map([
  ...RAIL_POSTINGS,
  [
    VOUCHER_RAIL,
    {
      payerOf: () => PLATFORM_ACCOUNTS.externalFiat,
      payerKind: 'external_fiat',
      isFree: false,
      isOfWallet: false,
      isCountedInGate: false,
    },
  ],
])
