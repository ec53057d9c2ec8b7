import { getCallBill } from '#control-plane/services/usage/call-bill.ts'
import { getRequest, listRequests, readPayment } from '#control-plane/services/usage/lookup.ts'
import { queryOf, router } from './procedure.ts'

/** Look-ups of calls. */
export const request = router({
  bill: queryOf(getCallBill),
  get: queryOf(getRequest),
  list: queryOf(listRequests),
  payment: queryOf(readPayment),
})
