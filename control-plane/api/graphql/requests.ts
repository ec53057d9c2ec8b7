import { CallBillSchema, getCallBill } from '#control-plane/services/usage/call-bill.ts'
import { getRequest, listRequests, PaymentRecordSchema, readPayment } from '#control-plane/services/usage/lookup.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'

const RequestAttempt = objectOf('RequestAttempt', LookupRecordSchema.shape.attempts.element, { ints: ['status'] })

const RoutingSchema = LookupRecordSchema.shape.routing.unwrap()

const RoutedOffer = objectOf('RoutedOffer', RoutingSchema.shape.offers.element, {
  description: 'An offer in the order of the attempts, with the most that the call could cost there.',
})

const Affinity = objectOf('RequestAffinity', RoutingSchema.shape.affinity.unwrap(), {
  description: 'The offer that has the conversation cached, when the cache put it first.',
})

const RequestRouting = objectOf('RequestRouting', RoutingSchema, {
  description: 'The reasons for the route of a call.',
  types: { offers: RoutedOffer, excluded: 'ExcludedOffer', affinity: Affinity },
})

const RequestRecord = objectOf('RequestRecord', LookupRecordSchema, {
  description:
    'The result of a call. Costs are whole micro-USD, instants Unix milliseconds, but `confirmedAt` is ISO 8601.',
  types: { attempts: RequestAttempt, routing: RequestRouting },
})

const PaymentRecord = objectOf('PaymentRecord', PaymentRecordSchema, {
  description: 'The payment state of a call that a wallet paid.',
})

const BillLine = objectOf('BillLine', CallBillSchema.shape.lines.unwrap().element, {
  types: { item: 'BillItem', unit: 'BillUnit' },
  ints: ['priceUnits'],
})

const CallBill = objectOf('CallBill', CallBillSchema, {
  description: 'The charge of a call line by line. Amounts are whole micro-USD, prices US dollars.',
  types: { lines: BillLine },
})

builder.queryFields((t) => ({
  payment: t.field({
    type: PaymentRecord,
    ...fieldOf(readPayment),
  }),
  requestBill: t.field({ type: CallBill, ...fieldOf(getCallBill) }),
  request: t.field({ type: RequestRecord, ...fieldOf(getRequest) }),
  requests: t.connection({
    type: RequestRecord,
    ...pageOf(listRequests, { without: ['limit', 'before'] }, ({ requests, ...page }) => ({
      ...page,
      items: requests,
    })),
  }),
}))
