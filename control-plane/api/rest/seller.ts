import { createSellerKey, listSellerKeys, revokeSellerKey } from '#control-plane/services/keys.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import { getOffer, listOffers } from '#control-plane/services/offers/read.ts'
import { writeCreatedKey, writeKey } from './keys.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

const envelope = 'seller'

/** The seller surface: `/v1/seller`. */
export const SELLER_ROWS: readonly RestRow[] = [
  restRow({ method: 'POST', path: '/v1/seller/offers', status: 201, envelope, operation: createOffer }),
  restRow({ method: 'GET', path: '/v1/seller/offers', envelope, operation: listOffers }),
  restRow({ method: 'GET', path: '/v1/seller/offers/:id', envelope, operation: getOffer }),
  restRow({ method: 'PATCH', path: '/v1/seller/offers/:id', envelope, operation: updateOffer }),
  restRow({ method: 'DELETE', path: '/v1/seller/offers/:id', envelope, operation: deleteOffer }),
  restRow({
    method: 'POST',
    path: '/v1/seller/keys',
    status: 201,
    envelope,
    operation: createSellerKey,
    write: writeCreatedKey,
  }),
  restRow({
    method: 'GET',
    path: '/v1/seller/keys',
    envelope,
    operation: listSellerKeys,
    write: ({ keys }) => ({ keys: keys.map(writeKey) }),
  }),
  restRow({ method: 'DELETE', path: '/v1/seller/keys/:id', status: 204, envelope, operation: revokeSellerKey }),
]
