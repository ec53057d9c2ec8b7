import { getLentAnalytics, getResourceAccess, getResourceAnalytics } from '#control-plane/services/lending/analytics.ts'
import { createLentOffer, probeKey } from '#control-plane/services/lending/create-lent-offer.ts'
import {
  deleteLentOffer,
  deleteLentOffers,
  getLentOffer,
  listLentOffers,
  purgeLentOffer,
  updateLentOffer,
} from '#control-plane/services/lending/lent-offers.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

const envelope = 'seller'
const SELLER = '/v1/resource/seller'
const OFFERS = `${SELLER}/offers`

/** Lent keys: their sellers' side, and the private reads of a buyer. The data plane answers public reads. */
export const RESOURCE_ROWS: readonly RestRow[] = [
  restRow({ method: 'POST', path: `${SELLER}/keys/probe`, tag: 'Lent keys', envelope, operation: probeKey }),
  restRow({
    method: 'POST',
    path: OFFERS,
    tag: 'Lent keys',
    refusals: [409, 502],
    status: 201,
    envelope,
    operation: createLentOffer,
  }),
  restRow({ method: 'GET', path: OFFERS, tag: 'Lent keys', envelope, operation: listLentOffers }),
  restRow({ method: 'DELETE', path: OFFERS, tag: 'Lent keys', envelope, operation: deleteLentOffers }),
  restRow({ method: 'GET', path: `${OFFERS}/:id`, tag: 'Lent keys', envelope, operation: getLentOffer }),
  restRow({
    method: 'PATCH',
    path: `${OFFERS}/:id`,
    tag: 'Lent keys',
    refusals: [409],
    envelope,
    operation: updateLentOffer,
  }),
  restRow({
    method: 'DELETE',
    path: `${OFFERS}/:id`,
    tag: 'Lent keys',
    refusals: [409],
    envelope,
    operation: deleteLentOffer,
  }),
  restRow({
    method: 'POST',
    path: `${OFFERS}/:id/purge`,
    tag: 'Lent keys',
    refusals: [409],
    envelope,
    operation: purgeLentOffer,
  }),
  restRow({ method: 'GET', path: `${SELLER}/analytics`, tag: 'Lent keys', envelope, operation: getLentAnalytics }),
  restRow({ method: 'GET', path: '/v1/resource/access', tag: 'Lent keys', envelope, operation: getResourceAccess }),
  restRow({
    method: 'GET',
    path: '/v1/resource/buyer/analytics',
    tag: 'Lent keys',
    envelope,
    operation: getResourceAnalytics,
  }),
]
