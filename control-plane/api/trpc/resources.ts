import {
  listResourceHistory,
  listResources,
  previewResource,
  putResource,
} from '#control-plane/services/catalog/resources.ts'
import { getLentAnalytics, getResourceAccess, getResourceAnalytics } from '#control-plane/services/lending/analytics.ts'
import { createLentOffer, probeKey } from '#control-plane/services/lending/create-lent-offer.ts'
import {
  blockLentOffer,
  deleteLentOffer,
  deleteLentOffers,
  getLentOffer,
  listLentOffers,
  purgeLentOffer,
  restoreLentOffer,
  updateLentOffer,
} from '#control-plane/services/lending/lent-offers.ts'
import { readResourceBook } from '#control-plane/services/lending/resource-book.ts'
import { getResourceMarket, listResourceMarkets } from '#control-plane/services/lending/resource-market.ts'
import { mutationOf, queryOf, router } from './procedure.ts'

/** The market of lent keys for all callers, its records for operators, and a buyer's access to it. */
export const resource = router({
  list: queryOf(listResources),
  preview: queryOf(previewResource),
  put: mutationOf(putResource),
  history: queryOf(listResourceHistory),
  markets: queryOf(listResourceMarkets),
  market: queryOf(getResourceMarket),
  book: queryOf(readResourceBook, ({ items, nextToken }) => ({ items, nextToken })),
  access: queryOf(getResourceAccess),
  buyerAnalytics: queryOf(getResourceAnalytics),
})

/** Lent keys. `block` and `restore` are operators'. */
export const lentOffer = router({
  probe: mutationOf(probeKey),
  create: mutationOf(createLentOffer),
  list: queryOf(listLentOffers),
  get: queryOf(getLentOffer),
  update: mutationOf(updateLentOffer),
  delete: mutationOf(deleteLentOffer),
  deleteAll: mutationOf(deleteLentOffers),
  purge: mutationOf(purgeLentOffer),
  analytics: queryOf(getLentAnalytics),
  block: mutationOf(blockLentOffer),
  restore: mutationOf(restoreLentOffer),
})
