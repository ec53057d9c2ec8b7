import { createSellerKey, listSellerKeys, revokeSellerKey } from '#control-plane/services/keys/keys.ts'
import { EARNINGS_ROWS } from './earnings.ts'
import { NEW_SELLER_KEY, SELLER_KEYS } from './keys.ts'
import { OFFER_ROWS } from './offers.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

const envelope = 'seller'

/** The seller surface: `/v1/seller`. */
export const SELLER_ROWS: readonly RestRow[] = [
  ...OFFER_ROWS,
  ...EARNINGS_ROWS,
  restRow({
    method: 'POST',
    path: '/v1/seller/keys',
    tag: 'Seller keys',
    status: 201,
    envelope,
    operation: createSellerKey,
    body: NEW_SELLER_KEY,
  }),
  restRow({
    method: 'GET',
    path: '/v1/seller/keys',
    tag: 'Seller keys',
    envelope,
    operation: listSellerKeys,
    body: SELLER_KEYS,
  }),
  restRow({
    method: 'DELETE',
    path: '/v1/seller/keys/:id',
    tag: 'Seller keys',
    status: 204,
    envelope,
    operation: revokeSellerKey,
  }),
]
