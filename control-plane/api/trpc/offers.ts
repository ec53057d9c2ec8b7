import { collectLines } from '#control-plane/api/collect-lines.ts'
import { nameOffer, nameOfferPage } from '#control-plane/api/offer-synonyms.ts'
import { listProviderChoices } from '#control-plane/services/catalog/provider-choices.ts'
import { fetchBill, importBill, removeBill } from '#control-plane/services/drift/bills.ts'
import { listProviderDrift, readDrift } from '#control-plane/services/drift/drift.ts'
import { getEarnings } from '#control-plane/services/earnings/earnings.ts'
import { listSalesHistory } from '#control-plane/services/earnings/sales.ts'
import { exportSellerUsage } from '#control-plane/services/earnings/seller-usage-export.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import { deleteConfig, listConfigs } from '#control-plane/services/offers/configs.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import { discoverModels } from '#control-plane/services/offers/discovery.ts'
import { listHealthLog } from '#control-plane/services/offers/health-log.ts'
import { listOfferFigures } from '#control-plane/services/offers/offer-figures.ts'
import { getOutages } from '#control-plane/services/offers/offer-outages.ts'
import { getOfferReach } from '#control-plane/services/offers/offer-reach.ts'
import { getOfferSeries } from '#control-plane/services/offers/offer-series.ts'
import { getOfferShare } from '#control-plane/services/offers/offer-share.ts'
import { getOfferYield } from '#control-plane/services/offers/offer-yield.ts'
import { getOffer, listOffers } from '#control-plane/services/offers/read.ts'
import { resetHealth } from '#control-plane/services/offers/reset-health.ts'
import { rotateCredential } from '#control-plane/services/offers/rotate.ts'
import { bulkCancelOffers, getSellerOperation } from '#control-plane/services/offers/seller-operations.ts'
import { testConnection, testHealth } from '#control-plane/services/offers/test-provider.ts'
import { getPayout, getPayoutPosition } from '#control-plane/services/payouts/payout-position.ts'
import { requestPayout } from '#control-plane/services/payouts/request-payout.ts'
import { mutationOf, queryOf, router } from './procedure.ts'

export const offer = router({
  create: mutationOf(createOffer, nameOffer),
  list: queryOf(listOffers, nameOfferPage),
  get: queryOf(getOffer, nameOffer),
  figures: queryOf(listOfferFigures),
  series: queryOf(getOfferSeries),
  share: queryOf(getOfferShare),
  yield: queryOf(getOfferYield),
  reach: queryOf(getOfferReach),
  update: mutationOf(updateOffer, nameOffer),
  delete: mutationOf(deleteOffer, nameOffer),
  bulkCreate: mutationOf(bulkCreateOffers, ({ lines }) => collectLines(lines)),
  bulkCancel: mutationOf(bulkCancelOffers),
  resetHealth: mutationOf(resetHealth),
  rotateCredential: mutationOf(rotateCredential, nameOffer),
  healthLog: queryOf(listHealthLog),
  outages: queryOf(getOutages),
})

/** Work that continues after its answer. */
export const operation = router({
  get: queryOf(getSellerOperation),
})

/** Probes of a provider with a seller's key. */
export const probe = router({
  discover: mutationOf(discoverModels, collectLines),
  testConnection: mutationOf(testConnection),
  testHealth: mutationOf(testHealth, collectLines),
  providers: queryOf(listProviderChoices),
})

export const config = router({
  list: queryOf(listConfigs),
  delete: mutationOf(deleteConfig),
})

export const earnings = router({
  get: queryOf(getEarnings),
  history: queryOf(listSalesHistory),
  export: queryOf(exportSellerUsage),
  payouts: queryOf(getPayoutPosition),
})

export const bill = router({
  import: mutationOf(importBill),
  fetch: mutationOf(fetchBill),
  remove: mutationOf(removeBill),
})

export const drift = router({
  read: queryOf(readDrift),
  providers: queryOf(listProviderDrift),
})

export const payout = router({
  get: queryOf(getPayout),
  request: mutationOf(requestPayout),
})
