import { getBalance, getMe } from '#control-plane/services/buyers.ts'
import { createBuyerKey, listBuyerKeys, revokeBuyerKey } from '#control-plane/services/keys.ts'
import { getRequest, listRequests } from '#control-plane/services/lookup.ts'
import { writeCreatedKey, writeKey } from './keys.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

const envelope = 'v1'

/** The buyer surface: `/v1/buyer`, the balance, and lookups of calls older than Redis. */
export const BUYER_ROWS: readonly RestRow[] = [
  restRow({ method: 'GET', path: '/v1/buyer/me', envelope, operation: getMe }),
  restRow({ method: 'GET', path: '/v1/payments/balance', envelope, operation: getBalance }),
  restRow({
    method: 'POST',
    path: '/v1/buyer/keys',
    status: 201,
    envelope,
    operation: createBuyerKey,
    write: writeCreatedKey,
  }),
  restRow({
    method: 'GET',
    path: '/v1/buyer/keys',
    envelope,
    operation: listBuyerKeys,
    write: ({ keys }) => ({ keys: keys.map(writeKey) }),
  }),
  restRow({ method: 'DELETE', path: '/v1/buyer/keys/:id', status: 204, envelope, operation: revokeBuyerKey }),
  restRow({ method: 'GET', path: '/v1/requests', envelope, operation: listRequests, numbers: ['limit'] }),
  restRow({ method: 'GET', path: '/v1/requests/:id', envelope, operation: getRequest, write: (record) => record }),
]
