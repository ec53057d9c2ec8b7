import { getEarnings } from '#control-plane/services/sellers/earnings.ts'
import { getPayoutPosition } from '#control-plane/services/sellers/payout-position.ts'
import { listSalesHistory } from '#control-plane/services/sellers/sales.ts'
import { exportSellerUsage } from '#control-plane/services/sellers/seller-usage-export.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

const envelope = 'seller'

/** A seller's earnings. */
export const EARNINGS_ROWS: readonly RestRow[] = [
  restRow({ method: 'GET', path: '/v1/seller/earnings', envelope, operation: getEarnings }),
  restRow({ method: 'GET', path: '/v1/seller/earnings/history', envelope, operation: listSalesHistory }),
  restRow({
    method: 'GET',
    path: '/v1/seller/usage/export',
    envelope,
    operation: exportSellerUsage,
    numbers: ['from', 'to'],
    answer: ({ url }) => ({ kind: 'redirect', location: url }),
  }),
  restRow({ method: 'GET', path: '/v1/seller/payouts', envelope, operation: getPayoutPosition }),
]
