/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type ApiFormat =
  | 'fal'
  | 'falqueue'
  | 'messages'
  | 'openai'
  | 'together';

export type BulkOfferInput = {
  readonly capDailyUsd?: number | null | undefined;
  readonly costMultiplier?: number | null | undefined;
  readonly discount?: number | null | undefined;
  readonly label?: string | null | undefined;
  readonly model: string;
  readonly payoutAddress?: string | null | undefined;
  readonly providerModel?: string | null | undefined;
};

export type OfferStatus =
  | 'active'
  | 'inactive'
  | 'paused';

export type PayoutStatus =
  | 'authorized'
  | 'held'
  | 'in_flight'
  | 'paid'
  | 'returned'
  | 'scheduled';

export type PricingMode =
  | 'cost_multiplier'
  | 'discount';

/** A provider and a key for it: given, or a saved one named by its fingerprint. */
export type ProviderPlaceInput = {
  readonly apiFormat?: ApiFormat | null | undefined;
  readonly apiKey?: string | null | undefined;
  readonly baseUrl: string;
  readonly reuseKeyFingerprint?: string | null | undefined;
};

export type SettableOfferStatus =
  | 'active'
  | 'paused';

export type UpdateOfferInput = {
  readonly capDailyUsd?: number | null | undefined;
  readonly costMultiplier?: number | null | undefined;
  readonly discount?: number | null | undefined;
  readonly label?: string | null | undefined;
  readonly payoutAddress?: string | null | undefined;
  readonly pricingMode?: PricingMode | null | undefined;
  readonly status?: SettableOfferStatus | null | undefined;
};

export type PageDiscoverMutationVariables = Exact<{
  place: ProviderPlaceInput;
}>;


export type PageDiscoverMutation = { readonly discoverModels: ReadonlyArray<{ readonly model: string, readonly supported: boolean, readonly availabilityStatus: string, readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly unitPrice: number | null, readonly priceUnit: string | null }> };

export type PageListMutationVariables = Exact<{
  place: ProviderPlaceInput;
  offers: ReadonlyArray<BulkOfferInput> | BulkOfferInput;
  payoutAddress?: string | null | undefined;
}>;


export type PageListMutation = { readonly bulkCreateOffers: ReadonlyArray<{ readonly model: string, readonly status: string, readonly offerId: string | null, readonly code: string | null, readonly error: string | null }> };

export type PageProbeMutationVariables = Exact<{
  place: ProviderPlaceInput;
  models: ReadonlyArray<string> | string;
}>;


export type PageProbeMutation = { readonly testHealth: ReadonlyArray<{ readonly model: string, readonly ok: boolean, readonly latencyMs: number | null, readonly error: string | null }> };

export type PageUpdateOfferMutationVariables = Exact<{
  id: string;
  input: UpdateOfferInput;
}>;


export type PageUpdateOfferMutation = { readonly updateOffer: { readonly id: string, readonly status: OfferStatus, readonly discount: number, readonly capDailyUsd: number | null } };

export type PageDeleteOfferMutationVariables = Exact<{
  id: string;
}>;


export type PageDeleteOfferMutation = { readonly deleteOffer: { readonly id: string } };

export type PageResetHealthMutationVariables = Exact<{
  id: string;
}>;


export type PageResetHealthMutation = { readonly resetOfferHealth: { readonly healthy: boolean } };

export type PageRequestPayoutMutationVariables = Exact<{
  recipient?: string | null | undefined;
}>;


export type PageRequestPayoutMutation = { readonly requestPayout: { readonly status: PayoutStatus, readonly reason: string | null, readonly payoutId: string | null } };

export type PageCreateSellerKeyMutationVariables = Exact<{
  label: string;
  expiresAt?: number | null | undefined;
}>;


export type PageCreateSellerKeyMutation = { readonly createSellerKey: { readonly key: string | null, readonly record: { readonly id: string, readonly label: string } } };

export type PageRevokeSellerKeyMutationVariables = Exact<{
  id: string;
}>;


export type PageRevokeSellerKeyMutation = { readonly revokeSellerKey: { readonly id: string } };


export const PageDiscoverDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageDiscover($place: ProviderPlaceInput!) {
  discoverModels(place: $place) {
    model
    supported
    availabilityStatus
    inputPer1m
    outputPer1m
    unitPrice
    priceUnit
  }
}
    `) as unknown as TypedDocumentString<PageDiscoverMutation, PageDiscoverMutationVariables>;
export const PageListDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageList($place: ProviderPlaceInput!, $offers: [BulkOfferInput!]!, $payoutAddress: String) {
  bulkCreateOffers(place: $place, offers: $offers, payoutAddress: $payoutAddress) {
    model
    status
    offerId
    code
    error
  }
}
    `) as unknown as TypedDocumentString<PageListMutation, PageListMutationVariables>;
export const PageProbeDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageProbe($place: ProviderPlaceInput!, $models: [String!]!) {
  testHealth(place: $place, models: $models) {
    model
    ok
    latencyMs
    error
  }
}
    `) as unknown as TypedDocumentString<PageProbeMutation, PageProbeMutationVariables>;
export const PageUpdateOfferDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageUpdateOffer($id: ID!, $input: UpdateOfferInput!) {
  updateOffer(id: $id, input: $input) {
    id
    status
    discount
    capDailyUsd
  }
}
    `) as unknown as TypedDocumentString<PageUpdateOfferMutation, PageUpdateOfferMutationVariables>;
export const PageDeleteOfferDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageDeleteOffer($id: ID!) {
  deleteOffer(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageDeleteOfferMutation, PageDeleteOfferMutationVariables>;
export const PageResetHealthDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageResetHealth($id: ID!) {
  resetOfferHealth(id: $id) {
    healthy
  }
}
    `) as unknown as TypedDocumentString<PageResetHealthMutation, PageResetHealthMutationVariables>;
export const PageRequestPayoutDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageRequestPayout($recipient: String) {
  requestPayout(recipient: $recipient) {
    status
    reason
    payoutId
  }
}
    `) as unknown as TypedDocumentString<PageRequestPayoutMutation, PageRequestPayoutMutationVariables>;
export const PageCreateSellerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageCreateSellerKey($label: String!, $expiresAt: Float) {
  createSellerKey(label: $label, expiresAt: $expiresAt) {
    key
    record {
      id
      label
    }
  }
}
    `) as unknown as TypedDocumentString<PageCreateSellerKeyMutation, PageCreateSellerKeyMutationVariables>;
export const PageRevokeSellerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageRevokeSellerKey($id: ID!) {
  revokeSellerKey(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageRevokeSellerKeyMutation, PageRevokeSellerKeyMutationVariables>;