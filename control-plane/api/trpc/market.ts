import { nameOffer } from '#control-plane/api/offer-synonyms.ts'
import { searchAudit } from '#control-plane/services/audit/operator-audit.ts'
import { listAliases, putAlias, removeAlias } from '#control-plane/services/catalog/aliases.ts'
import { diffCatalog, importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { listCatalogHistory } from '#control-plane/services/catalog/catalog-history.ts'
import {
  compareProviders,
  listProviders,
  removeProvider,
  trustProvider,
} from '#control-plane/services/catalog/provider-list.ts'
import { listPrices, previewPrices, putPrices } from '#control-plane/services/catalog/reference-prices.ts'
import { compareCatalog, refreshCatalog } from '#control-plane/services/catalog/refresh.ts'
import { listNodes } from '#control-plane/services/controls/nodes.ts'
import { listOpenHolds, releaseOpenHold } from '#control-plane/services/controls/open-holds.ts'
import {
  listFeatures,
  listRateLimits,
  putFeature,
  putRateLimit,
} from '#control-plane/services/controls/operator-controls.ts'
import { listFailedJobs, listQueues, retryFailedJobs } from '#control-plane/services/controls/queues.ts'
import { declareIncident, endIncident, updateIncident } from '#control-plane/services/incidents/declared-incidents.ts'
import { delistOffer, restoreOffer, searchOffers } from '#control-plane/services/offers/operator-offers.ts'
import { readSnapshot, republishSnapshot } from '#control-plane/services/snapshot/operator-snapshot.ts'
import { mutationOf, queryOf, router } from './procedure.ts'

/** Operators' operations on the market and the running system. No other key opens them. */

export const catalog = router({
  import: mutationOf(importCatalog),
  diff: queryOf(diffCatalog),
  compare: queryOf(compareCatalog),
  refresh: mutationOf(refreshCatalog),
  history: queryOf(listCatalogHistory),
})

export const alias = router({
  list: queryOf(listAliases),
  put: mutationOf(putAlias),
  remove: mutationOf(removeAlias),
})

export const price = router({
  list: queryOf(listPrices),
  preview: queryOf(previewPrices),
  put: mutationOf(putPrices),
})

export const provider = router({
  list: queryOf(listProviders),
  compare: queryOf(compareProviders),
  put: mutationOf(putProvider),
  trust: mutationOf(trustProvider),
  remove: mutationOf(removeProvider),
})

export const marketOffer = router({
  search: queryOf(searchOffers),
  delist: mutationOf(delistOffer, nameOffer),
  restore: mutationOf(restoreOffer, nameOffer),
})

export const hold = router({
  list: queryOf(listOpenHolds),
  release: mutationOf(releaseOpenHold),
})

export const queue = router({
  list: queryOf(listQueues),
  failed: queryOf(listFailedJobs),
  retry: mutationOf(retryFailedJobs),
})

export const node = router({
  list: queryOf(listNodes),
})

export const snapshot = router({
  read: queryOf(readSnapshot),
  republish: mutationOf(republishSnapshot),
})

export const rateLimit = router({
  list: queryOf(listRateLimits),
  put: mutationOf(putRateLimit),
})

export const feature = router({
  list: queryOf(listFeatures),
  put: mutationOf(putFeature),
})

export const auditLog = router({
  search: queryOf(searchAudit),
})

export const incident = router({
  declare: mutationOf(declareIncident),
  update: mutationOf(updateIncident),
  end: mutationOf(endIncident),
})
