import type { PageDiscoverMutation, PageListMutation } from '#control-plane/dashboard/data/documents/seller.ts'

export type KeyEntry = { readonly baseUrl: string; readonly apiKey?: string; readonly reuseKeyFingerprint?: string }

export type Discovered = PageDiscoverMutation['discoverModels'][number]

export type Chosen = { readonly model: string; readonly discount: number }

export type Listed = PageListMutation['bulkCreateOffers'][number]
