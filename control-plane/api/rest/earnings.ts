import type { z } from 'zod'
import { fetchBill, importBill, removeBill } from '#control-plane/services/drift/bills.ts'
import { readDrift } from '#control-plane/services/drift/drift.ts'
import { getEarnings } from '#control-plane/services/earnings/earnings.ts'
import { listSalesHistory } from '#control-plane/services/earnings/sales.ts'
import { exportSellerUsage } from '#control-plane/services/earnings/seller-usage-export.ts'
import type { PayoutReport } from '#control-plane/services/payouts/payout-position.ts'
import { getPayout, getPayoutPosition, PayoutReportSchema } from '#control-plane/services/payouts/payout-position.ts'
import type { PayoutAuthorization } from '#control-plane/services/payouts/payout-views.ts'
import { PayoutAuthorizationSchema } from '#control-plane/services/payouts/payout-views.ts'
import type { PayoutAnswer } from '#control-plane/services/payouts/request-payout.ts'
import { PayoutAnswerSchema, requestPayout } from '#control-plane/services/payouts/request-payout.ts'
import { readTypedData, TypedData } from '#shared/typed-data.ts'
import type { RestRow } from './route.ts'
import { restRow, writtenAs } from './route.ts'

const envelope = 'seller'

/** An authorization with the signed message as an object of EIP-712, with that standard's names. */
const AuthorizationBody = PayoutAuthorizationSchema.extend({
  typedData: TypedData.describe('The domain, types and message that were signed (EIP-712).'),
}).meta({
  id: 'SignedPayoutAuthorization',
  description: 'A transfer by EIP-3009 that the treasury signed, with calldata ready to send.',
})

function writeAuthorization({ typedData, ...rest }: PayoutAuthorization): z.infer<typeof AuthorizationBody> {
  return { ...rest, typedData: readTypedData(typedData) }
}

const ANSWER = writtenAs(
  PayoutAnswerSchema.extend({ authorization: AuthorizationBody.optional() }).meta({
    id: 'PayoutRequestAnswer',
    description: 'The payout that was scheduled, a signed transfer to send, or the reason why the payout is held.',
  }),
  ({ authorization, ...rest }: PayoutAnswer) => ({
    ...rest,
    ...(authorization && { authorization: writeAuthorization(authorization) }),
  }),
)

const REPORT = writtenAs(
  PayoutReportSchema.extend({ authorization: AuthorizationBody.optional() }).meta({
    id: 'PayoutTransaction',
    description: 'The transfer of a payout: its hash, its block and when it was confirmed.',
  }),
  ({ authorization, ...rest }: PayoutReport) => ({
    ...rest,
    ...(authorization && { authorization: writeAuthorization(authorization) }),
  }),
)

/** A seller's earnings. */
export const EARNINGS_ROWS: readonly RestRow[] = [
  restRow({
    method: 'GET',
    path: '/v1/seller/earnings',
    tag: 'Earnings',
    refusals: [403, 404],
    envelope,
    operation: getEarnings,
  }),
  restRow({
    method: 'GET',
    path: '/v1/seller/earnings/history',
    tag: 'Earnings',
    refusals: [403, 404],
    envelope,
    operation: listSalesHistory,
  }),
  restRow({
    method: 'GET',
    path: '/v1/seller/usage/export',
    tag: 'Earnings',
    refusals: [403, 404],
    as: 'redirect',
    envelope,
    operation: exportSellerUsage,
    numbers: ['from', 'to'],
    answer: ({ url }) => ({ kind: 'redirect', location: url }),
  }),
  restRow({
    method: 'GET',
    path: '/v1/seller/drift',
    tag: 'Earnings',
    refusals: [403, 404],
    envelope,
    operation: readDrift,
  }),
  restRow({
    method: 'POST',
    path: '/v1/seller/bills',
    tag: 'Earnings',
    envelope,
    operation: importBill,
  }),
  restRow({
    method: 'POST',
    path: '/v1/seller/bills/fetch',
    tag: 'Earnings',
    refusals: [422, 502],
    envelope,
    operation: fetchBill,
  }),
  restRow({ method: 'DELETE', path: '/v1/seller/bills/:provider', tag: 'Earnings', envelope, operation: removeBill }),
  restRow({
    method: 'GET',
    path: '/v1/seller/payouts',
    tag: 'Earnings',
    refusals: [403, 404],
    envelope,
    operation: getPayoutPosition,
    numbers: ['maxItems'],
  }),
  restRow({
    method: 'POST',
    path: '/v1/seller/payouts',
    tag: 'Earnings',
    refusals: [403, 404, 409],
    envelope,
    operation: requestPayout,
    body: ANSWER,
  }),
  restRow({
    method: 'GET',
    path: '/v1/seller/payouts/:id/tx',
    tag: 'Earnings',
    refusals: [403, 404],
    envelope,
    operation: getPayout,
    body: REPORT,
  }),
  restRow({
    method: 'POST',
    path: '/v1/seller/payouts/:id/tx',
    tag: 'Earnings',
    refusals: [403, 404],
    words: {
      summary: 'Get the transaction of a payout by POST',
      about: 'Answers the same as a GET of the path, and changes nothing.',
      example: {},
    },
    envelope,
    operation: getPayout,
    body: REPORT,
  }),
]
