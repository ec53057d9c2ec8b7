import { getLentAnalytics, getResourceAccess, getResourceAnalytics } from '#control-plane/services/lending/analytics.ts'
import {
  deleteLentOffer,
  deleteLentOffers,
  getLentOffer,
  listLentOffers,
  purgeLentOffer,
  updateLentOffer,
} from '#control-plane/services/lending/change.ts'
import { createLentOffer, probeKey } from '#control-plane/services/lending/lend.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

const envelope = 'seller'
const SELLER = '/v1/resource/seller'
const OFFERS = `${SELLER}/offers`

/** Lent keys: their sellers' side, and the reads of a buyer's own account. The data plane answers public reads. */
export const RESOURCE_ROWS: readonly RestRow[] = [
  restRow({ method: 'POST', path: `${SELLER}/keys/probe`, envelope, operation: probeKey }),
  restRow({ method: 'POST', path: OFFERS, status: 201, envelope, operation: createLentOffer }),
  restRow({ method: 'GET', path: OFFERS, envelope, operation: listLentOffers }),
  restRow({ method: 'DELETE', path: OFFERS, envelope, operation: deleteLentOffers }),
  restRow({ method: 'GET', path: `${OFFERS}/:id`, envelope, operation: getLentOffer }),
  restRow({ method: 'PATCH', path: `${OFFERS}/:id`, envelope, operation: updateLentOffer }),
  restRow({ method: 'DELETE', path: `${OFFERS}/:id`, envelope, operation: deleteLentOffer }),
  restRow({ method: 'POST', path: `${OFFERS}/:id/purge`, envelope, operation: purgeLentOffer }),
  restRow({ method: 'GET', path: `${SELLER}/analytics`, envelope, operation: getLentAnalytics }),
  restRow({ method: 'GET', path: '/v1/resource/access', envelope, operation: getResourceAccess }),
  restRow({ method: 'GET', path: '/v1/resource/buyer/analytics', envelope, operation: getResourceAnalytics }),
]
