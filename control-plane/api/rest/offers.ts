import { z } from 'zod'
import { NamedOfferPageSchema, NamedOfferSchema, nameOffer, nameOfferPage } from '#control-plane/api/offer-synonyms.ts'
import type { BulkRun } from '#control-plane/services/offers/bulk.ts'
import { BulkLineSchema, BulkRow, bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import type { ConfigList } from '#control-plane/services/offers/configs.ts'
import { ConfigCardSchema, deleteConfig, listConfigs } from '#control-plane/services/offers/configs.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import type { DiscoveredModel } from '#control-plane/services/offers/discovery.ts'
import { DiscoveredModelSchema, discoverModels } from '#control-plane/services/offers/discovery.ts'
import { listHealthLog } from '#control-plane/services/offers/health-log.ts'
import { listOfferFigures } from '#control-plane/services/offers/offer-figures.ts'
import { getOutages } from '#control-plane/services/offers/offer-outages.ts'
import { getOfferSeries } from '#control-plane/services/offers/offer-series.ts'
import { getOffer, listOffers } from '#control-plane/services/offers/read.ts'
import { resetHealth } from '#control-plane/services/offers/reset-health.ts'
import { rotateCredential } from '#control-plane/services/offers/rotate.ts'
import { bulkCancelOffers, getSellerOperation } from '#control-plane/services/offers/seller-operations.ts'
import type { HealthTest } from '#control-plane/services/offers/test-provider.ts'
import { HealthTestSchema, testConnection, testHealth } from '#control-plane/services/offers/test-provider.ts'
import { NextTokenIfAny, nextIfAny } from './keys.ts'
import type { RestRow } from './route.ts'
import { linesAs, restRow, writtenAs } from './route.ts'

const envelope = 'seller'
const OFFERS = '/v1/seller/offers'

const SAVED_KEYS = writtenAs(
  z.object({ configs: z.array(ConfigCardSchema).readonly(), nextToken: NextTokenIfAny }),
  ({ configs, nextToken }: ConfigList) => ({ configs, ...nextIfAny(nextToken) }),
)

const OFFER = writtenAs(NamedOfferSchema, nameOffer)
const OFFER_PAGE = writtenAs(NamedOfferPageSchema, nameOfferPage)

/** Offers, probes of providers before and after listing, and the log of failures. */
export const OFFER_ROWS: readonly RestRow[] = [
  restRow({
    method: 'POST',
    path: OFFERS,
    tag: 'Offers',
    refusals: [404, 502],
    status: 201,
    envelope,
    operation: createOffer,
    body: OFFER,
  }),
  restRow({ method: 'GET', path: OFFERS, tag: 'Offers', envelope, operation: listOffers, body: OFFER_PAGE }),
  restRow({
    method: 'POST',
    path: `${OFFERS}/bulk`,
    tag: 'Offers',
    refusals: [404, 502],
    envelope,
    operation: bulkCreateOffers,
    input: bulkCreateOffers.input.extend({ offers: z.array(BulkRow).min(1).max(200) }),
    list: 'offers',
    lines: linesAs(BulkLineSchema, ({ lines }: BulkRun) => lines),
  }),
  restRow({
    method: 'POST',
    path: `${OFFERS}/bulk-cancel`,
    tag: 'Offers',
    status: 202,
    envelope,
    operation: bulkCancelOffers,
  }),
  restRow({ method: 'GET', path: `${OFFERS}/figures`, tag: 'Offers', envelope, operation: listOfferFigures }),
  restRow({ method: 'GET', path: `${OFFERS}/:id`, tag: 'Offers', envelope, operation: getOffer, body: OFFER }),
  restRow({ method: 'GET', path: `${OFFERS}/:id/series`, tag: 'Offers', envelope, operation: getOfferSeries }),
  restRow({
    method: 'PATCH',
    path: `${OFFERS}/:id`,
    tag: 'Offers',
    refusals: [409],
    envelope,
    operation: updateOffer,
    body: OFFER,
  }),
  restRow({
    method: 'DELETE',
    path: `${OFFERS}/:id`,
    tag: 'Offers',
    refusals: [409],
    envelope,
    operation: deleteOffer,
    body: OFFER,
  }),
  restRow({
    method: 'POST',
    path: `${OFFERS}/:id/reset-health`,
    tag: 'Offers',
    refusals: [409],
    envelope,
    operation: resetHealth,
  }),
  restRow({
    method: 'POST',
    path: `${OFFERS}/:id/rotate-credential`,
    tag: 'Offers',
    refusals: [409, 502],
    envelope,
    operation: rotateCredential,
    body: OFFER,
  }),
  restRow({ method: 'GET', path: '/v1/seller/operations/:id', tag: 'Offers', envelope, operation: getSellerOperation }),
  restRow({
    method: 'POST',
    path: '/v1/seller/discover',
    tag: 'Offers',
    refusals: [404, 502],
    envelope,
    operation: discoverModels,
    lines: linesAs(DiscoveredModelSchema, (lines: AsyncIterable<DiscoveredModel>) => lines),
  }),
  restRow({
    method: 'POST',
    path: '/v1/seller/test-connection',
    tag: 'Offers',
    refusals: [404],
    envelope,
    operation: testConnection,
  }),
  restRow({
    method: 'POST',
    path: '/v1/seller/test-health',
    tag: 'Offers',
    refusals: [404],
    envelope,
    operation: testHealth,
    lines: linesAs(HealthTestSchema, (lines: AsyncIterable<HealthTest>) => lines),
  }),
  restRow({
    method: 'GET',
    path: '/v1/seller/health-log',
    tag: 'Offers',
    refusals: [404],
    envelope,
    operation: listHealthLog,
  }),
  restRow({
    method: 'GET',
    path: '/v1/seller/outages',
    tag: 'Offers',
    refusals: [404],
    envelope,
    operation: getOutages,
  }),
  restRow({
    method: 'GET',
    path: '/v1/seller/configs',
    tag: 'Offers',
    envelope,
    operation: listConfigs,
    body: SAVED_KEYS,
  }),
  restRow({
    method: 'DELETE',
    path: '/v1/seller/configs/:id',
    tag: 'Offers',
    status: 204,
    envelope,
    operation: deleteConfig,
  }),
]
