/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type FeatureName =
  | 'long_jobs'
  | 'mpp'
  | 'new_offers'
  | 'paid_calls'
  | 'payouts'
  | 'sign_ups'
  | 'x402_exact'
  | 'x402_upto';

export type OfferStatus =
  | 'active'
  | 'inactive'
  | 'paused';

/** US dollars of one unit as decimal texts, named as in a catalogue. */
export type PricingInput = {
  readonly audio?: string | null | undefined;
  readonly audio_output?: string | null | undefined;
  readonly completion: string;
  readonly image_output?: string | null | undefined;
  readonly image_token?: string | null | undefined;
  readonly input_cache_read?: string | null | undefined;
  readonly input_cache_write?: string | null | undefined;
  readonly internal_reasoning?: string | null | undefined;
  readonly prompt: string;
  readonly request?: string | null | undefined;
};

export type TransferState =
  | 'held'
  | 'mined'
  | 'paid'
  | 'returned'
  | 'scheduled'
  | 'signed';

/** US dollars of one unit of media as decimal texts, named as in a catalogue. */
export type UnitPricingInput = {
  readonly characters?: string | null | undefined;
  readonly images?: string | null | undefined;
  readonly images_2k?: string | null | undefined;
  readonly images_4k?: string | null | undefined;
  readonly minutes?: string | null | undefined;
  readonly pixels_per_million?: string | null | undefined;
  readonly seconds?: string | null | undefined;
  readonly seconds_4k?: string | null | undefined;
  readonly seconds_1080p?: string | null | undefined;
};

export type PageDelistOfferMutationVariables = Exact<{
  id: string;
  reason: string;
}>;


export type PageDelistOfferMutation = { readonly delistOffer: { readonly id: string, readonly status: OfferStatus, readonly delistedReason: string | null } };

export type PageRestoreOfferMutationVariables = Exact<{
  id: string;
  reason: string;
}>;


export type PageRestoreOfferMutation = { readonly restoreOffer: { readonly id: string, readonly status: OfferStatus } };

export type PagePutFeatureMutationVariables = Exact<{
  name: FeatureName;
  isOn: boolean;
  reason: string;
}>;


export type PagePutFeatureMutation = { readonly putFeature: { readonly name: FeatureName, readonly isOn: boolean } };

export type PageHoldTransferMutationVariables = Exact<{
  id: string;
  reason: string;
}>;


export type PageHoldTransferMutation = { readonly holdTransfer: { readonly id: string, readonly state: TransferState } };

export type PageReleaseTransferMutationVariables = Exact<{
  id: string;
  reason: string;
}>;


export type PageReleaseTransferMutation = { readonly releaseTransfer: { readonly id: string, readonly state: TransferState } };

export type PagePutPricesMutationVariables = Exact<{
  model: string;
  pricing: PricingInput;
  unitPricing?: UnitPricingInput | null | undefined;
  source: string;
  effectiveAt?: number | null | undefined;
}>;


export type PagePutPricesMutation = { readonly putPrices: { readonly model: string, readonly version: string | null } };

export type PageDeclareIncidentMutationVariables = Exact<{
  title: string;
  note: string;
  state?: string | null | undefined;
  models?: ReadonlyArray<string> | string | null | undefined;
  providers?: ReadonlyArray<string> | string | null | undefined;
  startedAt?: number | null | undefined;
}>;


export type PageDeclareIncidentMutation = { readonly declareIncident: { readonly id: string, readonly title: string } };

export type PageUpdateIncidentMutationVariables = Exact<{
  id: string;
  note: string;
  title?: string | null | undefined;
  state?: string | null | undefined;
  models?: ReadonlyArray<string> | string | null | undefined;
  providers?: ReadonlyArray<string> | string | null | undefined;
}>;


export type PageUpdateIncidentMutation = { readonly updateIncident: { readonly id: string, readonly title: string } };

export type PageEndIncidentMutationVariables = Exact<{
  id: string;
  note: string;
}>;


export type PageEndIncidentMutation = { readonly endIncident: { readonly id: string, readonly title: string } };


export const PageDelistOfferDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageDelistOffer($id: ID!, $reason: String!) {
  delistOffer(id: $id, reason: $reason) {
    id
    status
    delistedReason
  }
}
    `) as unknown as TypedDocumentString<PageDelistOfferMutation, PageDelistOfferMutationVariables>;
export const PageRestoreOfferDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageRestoreOffer($id: ID!, $reason: String!) {
  restoreOffer(id: $id, reason: $reason) {
    id
    status
  }
}
    `) as unknown as TypedDocumentString<PageRestoreOfferMutation, PageRestoreOfferMutationVariables>;
export const PagePutFeatureDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PagePutFeature($name: FeatureName!, $isOn: Boolean!, $reason: String!) {
  putFeature(name: $name, isOn: $isOn, reason: $reason) {
    name
    isOn
  }
}
    `) as unknown as TypedDocumentString<PagePutFeatureMutation, PagePutFeatureMutationVariables>;
export const PageHoldTransferDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageHoldTransfer($id: ID!, $reason: String!) {
  holdTransfer(id: $id, reason: $reason) {
    id
    state
  }
}
    `) as unknown as TypedDocumentString<PageHoldTransferMutation, PageHoldTransferMutationVariables>;
export const PageReleaseTransferDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageReleaseTransfer($id: ID!, $reason: String!) {
  releaseTransfer(id: $id, reason: $reason) {
    id
    state
  }
}
    `) as unknown as TypedDocumentString<PageReleaseTransferMutation, PageReleaseTransferMutationVariables>;
export const PagePutPricesDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PagePutPrices($model: String!, $pricing: PricingInput!, $unitPricing: UnitPricingInput, $source: String!, $effectiveAt: Float) {
  putPrices(
    model: $model
    pricing: $pricing
    unitPricing: $unitPricing
    source: $source
    effectiveAt: $effectiveAt
  ) {
    model
    version
  }
}
    `) as unknown as TypedDocumentString<PagePutPricesMutation, PagePutPricesMutationVariables>;
export const PageDeclareIncidentDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageDeclareIncident($title: String!, $note: String!, $state: String, $models: [String!], $providers: [String!], $startedAt: Float) {
  declareIncident(
    title: $title
    note: $note
    state: $state
    models: $models
    providers: $providers
    startedAt: $startedAt
  ) {
    id
    title
  }
}
    `) as unknown as TypedDocumentString<PageDeclareIncidentMutation, PageDeclareIncidentMutationVariables>;
export const PageUpdateIncidentDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageUpdateIncident($id: ID!, $note: String!, $title: String, $state: String, $models: [String!], $providers: [String!]) {
  updateIncident(
    id: $id
    note: $note
    title: $title
    state: $state
    models: $models
    providers: $providers
  ) {
    id
    title
  }
}
    `) as unknown as TypedDocumentString<PageUpdateIncidentMutation, PageUpdateIncidentMutationVariables>;
export const PageEndIncidentDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageEndIncident($id: ID!, $note: String!) {
  endIncident(id: $id, note: $note) {
    id
    title
  }
}
    `) as unknown as TypedDocumentString<PageEndIncidentMutation, PageEndIncidentMutationVariables>;