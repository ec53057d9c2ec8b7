/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
export type ApiFormat =
  | 'fal'
  | 'falqueue'
  | 'messages'
  | 'openai'
  | 'together';

export type BindingCap =
  | 'balance'
  | 'daily'
  | 'monthly';

export type BulkOfferInput = {
  readonly capDailyUsd?: number | null | undefined;
  readonly costMultiplier?: number | null | undefined;
  readonly discount?: number | null | undefined;
  readonly label?: string | null | undefined;
  readonly model: string;
  readonly payoutAddress?: string | null | undefined;
  readonly providerModel?: string | null | undefined;
};

export type CreateBuyerKeyInput = {
  readonly allowUntrusted?: boolean | null | undefined;
  readonly capDailyUsd?: number | null | undefined;
  readonly capMonthlyUsd?: number | null | undefined;
  readonly expiresAt?: number | null | undefined;
  readonly label: string;
  readonly minDiscountPct?: number | null | undefined;
  readonly modelsAllowed?: ReadonlyArray<string> | null | undefined;
  readonly providersBlocked?: ReadonlyArray<string>;
  readonly rateLimitRpm?: number | null | undefined;
};

/** Every code that `extensions.code` of an error of ours may have; the same at every door. */
export type ErrorCode =
  | 'api_secret_unsupported'
  | 'authentication_required'
  | 'conflict'
  | 'context_length_exceeded'
  | 'cost_ceiling_reached'
  | 'duplicate_offer_for_credential'
  | 'forbidden'
  | 'gone'
  | 'idempotency_in_progress'
  | 'idempotency_key_required'
  | 'idempotency_key_reused'
  | 'image_required'
  | 'insufficient_allowance'
  | 'insufficient_balance'
  | 'insufficient_credit'
  | 'internal_error'
  | 'invalid_api_key'
  | 'invalid_base_url'
  | 'invalid_image_input'
  | 'invalid_json'
  | 'invalid_minimum_discount'
  | 'invalid_request'
  | 'invalid_session'
  | 'invalid_signature'
  | 'invalid_target_url'
  | 'job_not_found'
  | 'job_route_required'
  | 'key_cap_reached'
  | 'key_limit_reached'
  | 'mask_not_supported'
  | 'method_not_allowed'
  | 'minimum_discount_not_met'
  | 'model_capability_unsupported'
  | 'model_not_allowed'
  | 'no_healthy_sellers'
  | 'no_resource_offer'
  | 'no_sellers_for_model'
  | 'not_found'
  | 'offer_delisted_by_operator'
  | 'offers_unhealthy'
  | 'overloaded'
  | 'payment_required'
  | 'per_token_pricing_retired'
  | 'platform_route_refused'
  | 'policy_refused'
  | 'pricing_multiplier_unsupported'
  | 'provider_probe_failed'
  | 'provider_unpriceable'
  | 'rate_limited'
  | 'request_too_large'
  | 'seller_cap_reached'
  | 'service_unavailable'
  | 'too_many_in_flight'
  | 'too_many_input_images'
  | 'trait_unavailable'
  | 'unexpected_path'
  | 'unknown_model'
  | 'unresolvable_file_reference'
  | 'unsupported_media_type'
  | 'unsupported_provider'
  | 'upstream_error'
  | 'upstream_rejected'
  | 'upstream_timeout'
  | 'workspace_in_use'
  | 'wrong_key_type';

export type JobState =
  | 'cancelled'
  | 'failed'
  | 'running'
  | 'succeeded';

/** An order of models by the figures of the market: the best first, those without the figure last. */
export type MarketSort =
  | 'discount'
  | 'newest'
  | 'price'
  | 'requests'
  | 'sellers'
  | 'tps'
  | 'ttft'
  | 'uptime'
  | 'volume';

export type OfferStatus =
  | 'active'
  | 'inactive'
  | 'paused';

/** Why no call goes to an offer now. */
export type OfferStop =
  | 'backed_off'
  | 'cap_used'
  | 'delisted'
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

export type TransferState =
  | 'held'
  | 'mined'
  | 'paid'
  | 'returned'
  | 'scheduled'
  | 'signed';

/** What is left out stays, null takes a limit away. */
export type UpdateBuyerKeyInput = {
  readonly allowUntrusted?: boolean | null | undefined;
  readonly capDailyUsd?: number | null | undefined;
  readonly capMonthlyUsd?: number | null | undefined;
  readonly expiresAt?: number | null | undefined;
  readonly label?: string | null | undefined;
  readonly minDiscountPct?: number | null | undefined;
  readonly modelsAllowed?: ReadonlyArray<string> | null | undefined;
  readonly providersBlocked?: ReadonlyArray<string> | null | undefined;
  readonly rateLimitRpm?: number | null | undefined;
};

export type UpdateOfferInput = {
  readonly capDailyUsd?: number | null | undefined;
  readonly costMultiplier?: number | null | undefined;
  readonly discount?: number | null | undefined;
  readonly label?: string | null | undefined;
  readonly payoutAddress?: string | null | undefined;
  readonly pricingMode?: PricingMode | null | undefined;
  readonly status?: SettableOfferStatus | null | undefined;
};

export type UsageFilter = {
  readonly endpoint?: string | null | undefined;
  readonly from?: number | null | undefined;
  readonly keyId?: string | null | undefined;
  readonly model?: string | null | undefined;
  readonly outcome?: string | null | undefined;
  readonly period?: string | null | undefined;
  readonly provider?: string | null | undefined;
  readonly servedBy?: string | null | undefined;
  readonly to?: number | null | undefined;
};

/** A period that ends now, or ends of a window in Unix milliseconds. */
export type UsageWindow = {
  readonly from?: number | null | undefined;
  readonly period?: string | null | undefined;
  readonly to?: number | null | undefined;
};

export type WalletPaymentState =
  | 'claimed'
  | 'confirmed'
  | 'due'
  | 'mined'
  | 'released'
  | 'written_off';

export type PageCreateBuyerKeyMutationVariables = Exact<{
  input: CreateBuyerKeyInput;
}>;


export type PageCreateBuyerKeyMutation = { readonly createBuyerKey: { readonly key: string | null, readonly record: { readonly id: string, readonly label: string } } };

export type PageUpdateBuyerKeyMutationVariables = Exact<{
  id: string;
  input: UpdateBuyerKeyInput;
}>;


export type PageUpdateBuyerKeyMutation = { readonly updateBuyerKey: { readonly id: string } };

export type PageRotateBuyerKeyMutationVariables = Exact<{
  id: string;
  windowSeconds?: number | null | undefined;
}>;


export type PageRotateBuyerKeyMutation = { readonly rotateBuyerKey: { readonly key: string | null, readonly formerExpiresAt: number, readonly record: { readonly id: string, readonly label: string } } };

export type PageRevokeBuyerKeyMutationVariables = Exact<{
  id: string;
}>;


export type PageRevokeBuyerKeyMutation = { readonly revokeBuyerKey: { readonly id: string } };

export type PageUpdatesSubscriptionVariables = Exact<{
  books: ReadonlyArray<string> | string;
  trades: number;
  credit: boolean;
  jobs: boolean;
  offerHealth: boolean;
}>;


export type PageUpdatesSubscription = { readonly updates: { readonly books: ReadonlyArray<{ readonly model: string, readonly offers: ReadonlyArray<{ readonly id: string, readonly rank: number, readonly seller: string, readonly provider: string, readonly discountPct: number, readonly capDailyMicro: number | null, readonly capRemainingMicro: number | null, readonly available: boolean, readonly healthy: boolean, readonly trusted: boolean, readonly trades24h: number, readonly effective: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } }> }> | null, readonly trades: ReadonlyArray<{ readonly model: string, readonly costMicro: string, readonly inputTokens: number, readonly outputTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly createdAt: number }> | null, readonly credit: { readonly creditBalanceUsdc: string, readonly heldUsdc: string } | null, readonly jobs: ReadonlyArray<{ readonly id: string, readonly model: string, readonly state: JobState, readonly submittedAt: number, readonly deadlineAt: number, readonly endedAt: number | null, readonly chargeMicro: string | null }> | null, readonly offerHealth: ReadonlyArray<{ readonly id: string, readonly model: string, readonly status: string, readonly healthy: boolean, readonly backedOffUntil: number | null, readonly delistedReason: string | null, readonly capDailyRemainingUsd: number | null }> | null } };

export type PageViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type PageViewerQuery = { readonly viewer: { readonly kind: string, readonly wallet: string | null, readonly keyId: string | null } | null };

export type PageChallengeQueryVariables = Exact<{
  address: string;
}>;


export type PageChallengeQuery = { readonly signInChallenge: { readonly message: string } | null };

export type PagePaletteQueryVariables = Exact<{
  search?: string | null | undefined;
}>;


export type PagePaletteQuery = { readonly markets: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly name: string } }> } | null };

export type PageDiscoverMutationVariables = Exact<{
  place: ProviderPlaceInput;
}>;


export type PageDiscoverMutation = { readonly testConnection: { readonly ok: boolean, readonly status: number | null, readonly latencyMs: number | null, readonly error: string | null }, readonly discoverModels: ReadonlyArray<{ readonly model: string, readonly supported: boolean, readonly availabilityStatus: string, readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly unitPrice: number | null, readonly priceUnit: string | null }> };

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

export type BuyerActivityQueryVariables = Exact<{
  interval?: string | null | undefined;
  groupBy?: string | null | undefined;
  filter?: UsageFilter | null | undefined;
}>;


export type BuyerActivityQuery = { readonly usageBuckets: ReadonlyArray<{ readonly bucket: number, readonly group: string | null, readonly requests: number, readonly failedRequests: number, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number, readonly reasoningTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly imageOutputTokens: number }> | null };

export type BuyerCreditQueryVariables = Exact<{
  after?: string | null | undefined;
  window?: UsageWindow | null | undefined;
}>;


export type BuyerCreditQuery = { readonly me: { readonly creditBalanceUsdc: string, readonly heldUsdc: string, readonly balanceUsdc: string | null, readonly allowanceUsdc: string | null, readonly settlementContract: string | null } | null, readonly statements: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly kind: string, readonly createdAt: number, readonly amountMicro: number, readonly balanceMicro: number, readonly note: string | null, readonly model: string | null, readonly txHash: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type BuyerJobsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type BuyerJobsQuery = { readonly running: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string | null, readonly endpoint: string, readonly keyId: string | null, readonly state: JobState, readonly submittedAt: number, readonly deadlineAt: number, readonly endedAt: number | null, readonly quoteMicro: string, readonly chargeMicro: string | null, readonly kind: string, readonly unit: string | null, readonly units: number | null, readonly artifacts: number | null } }> } | null, readonly jobs: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string | null, readonly endpoint: string, readonly keyId: string | null, readonly state: JobState, readonly submittedAt: number, readonly deadlineAt: number, readonly endedAt: number | null, readonly quoteMicro: string, readonly chargeMicro: string | null, readonly kind: string, readonly unit: string | null, readonly units: number | null, readonly artifacts: number | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type JobFragment = { readonly id: string, readonly model: string, readonly provider: string | null, readonly endpoint: string, readonly keyId: string | null, readonly state: JobState, readonly submittedAt: number, readonly deadlineAt: number, readonly endedAt: number | null, readonly quoteMicro: string, readonly chargeMicro: string | null, readonly kind: string, readonly unit: string | null, readonly units: number | null, readonly artifacts: number | null };

export type BuyerKeysQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type BuyerKeysQuery = { readonly buyerKeys: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly label: string, readonly keyPrefix: string, readonly createdAt: number, readonly lastUsedAt: number | null, readonly expiresAt: number | null, readonly revokedAt: number | null, readonly terms: { readonly minDiscountPct: number | null, readonly providersBlocked: ReadonlyArray<string>, readonly allowUntrusted: boolean | null, readonly capDailyUsd: number | null, readonly capMonthlyUsd: number | null, readonly rateLimitRpm: number | null, readonly modelsAllowed: ReadonlyArray<string> | null } | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly usageBuckets: ReadonlyArray<{ readonly bucket: number, readonly group: string | null, readonly requests: number, readonly buyerCostMicro: number }> | null };

export type BuyerLimitsQueryVariables = Exact<{ [key: string]: never; }>;


export type BuyerLimitsQuery = { readonly caps: { readonly creditBalanceUsdc: string, readonly heldUsdc: string, readonly keys: ReadonlyArray<{ readonly keyId: string, readonly label: string, readonly binds: BindingCap, readonly daily: { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null } | null, readonly monthly: { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null } | null }> } | null, readonly buyerKeys: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly label: string, readonly terms: { readonly rateLimitRpm: number | null, readonly modelsAllowed: ReadonlyArray<string> | null } | null } }> } | null, readonly webhooks: ReadonlyArray<{ readonly id: string, readonly url: string, readonly label: string | null, readonly events: ReadonlyArray<string>, readonly lowBalanceUsd: number | null, readonly enabled: boolean }> | null };

export type CapFragment = { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null };

export type BuyerLogEntryQueryVariables = Exact<{
  id: string;
}>;


export type BuyerLogEntryQuery = { readonly request: { readonly requestId: string, readonly model: string, readonly provider: string | null, readonly settlementStatus: string, readonly settlementError: string | null, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number, readonly reasoningTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly imageInputTokens: number, readonly imageOutputTokens: number, readonly ttftMs: number | null, readonly durationMs: number, readonly finishReason: string | null, readonly attempts: ReadonlyArray<{ readonly provider: string, readonly status: number, readonly ms: number }>, readonly routing: { readonly offers: ReadonlyArray<{ readonly offer: string, readonly provider: string, readonly estimateMicro: number }>, readonly excluded: ReadonlyArray<{ readonly offer: string, readonly reason: string }>, readonly affinity: { readonly offer: string, readonly savingMicro: number } | null } | null } | null };

export type BuyerLogsQueryVariables = Exact<{
  filter?: UsageFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type BuyerLogsQuery = { readonly usageBuckets: ReadonlyArray<{ readonly bucket: number, readonly requests: number, readonly failedRequests: number }> | null, readonly usage: { readonly edges: ReadonlyArray<{ readonly node: { readonly requestId: string, readonly createdAt: number, readonly model: string, readonly provider: string | null, readonly endpoint: string, readonly outcome: string, readonly settlementStatus: string, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number, readonly reasoningTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly ttftMs: number | null, readonly durationMs: number } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type BuyerOrganizationsQueryVariables = Exact<{ [key: string]: never; }>;


export type BuyerOrganizationsQuery = { readonly organizations: ReadonlyArray<{ readonly id: string, readonly name: string, readonly role: string, readonly createdAt: number }> | null, readonly ownInvitations: ReadonlyArray<{ readonly id: string, readonly organizationName: string, readonly role: string, readonly expiresAt: number }> | null };

export type BuyerOverviewQueryVariables = Exact<{
  period: string;
  interval: string;
}>;


export type BuyerOverviewQuery = { readonly me: { readonly wallet: string, readonly creditBalanceUsdc: string, readonly heldUsdc: string } | null, readonly savings: { readonly requests: number, readonly spentMicro: number, readonly listMicro: number, readonly savedMicro: number, readonly savedPct: number, readonly byModel: ReadonlyArray<{ readonly model: string, readonly requests: number, readonly spentMicro: number, readonly savedMicro: number, readonly savedPct: number }> } | null, readonly latency: { readonly calls: number, readonly timed: number, readonly ttftMs: { readonly p50: number, readonly p95: number } | null, readonly durationMs: { readonly p50: number, readonly p95: number } | null } | null, readonly usageBuckets: ReadonlyArray<{ readonly bucket: number, readonly requests: number, readonly failedRequests: number, readonly buyerCostMicro: number, readonly listCostMicro: number }> | null, readonly caps: { readonly keys: ReadonlyArray<{ readonly keyId: string, readonly label: string, readonly binds: BindingCap, readonly daily: { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null } | null, readonly monthly: { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null } | null }> } | null };

export type BuyerProvidersQueryVariables = Exact<{ [key: string]: never; }>;


export type BuyerProvidersQuery = { readonly ownProviders: ReadonlyArray<{ readonly id: string, readonly model: string | null, readonly provider: string, readonly baseUrl: string, readonly apiFormat: string, readonly providerModel: string | null, readonly priority: number, readonly label: string | null, readonly createdAt: number }> | null, readonly preferences: { readonly allowUntrusted: boolean, readonly providersBlocked: ReadonlyArray<string>, readonly minDiscountPct: number | null } | null };

export type OperatorAuditQueryVariables = Exact<{
  operation?: string | null | undefined;
  subject?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type OperatorAuditQuery = { readonly audit: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly at: number, readonly operation: string, readonly actorKind: string, readonly actor: string, readonly subject: string | null, readonly before: string | null, readonly after: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly features: ReadonlyArray<{ readonly name: string, readonly isOn: boolean, readonly meaning: string, readonly reason: string | null, readonly changedAt: number | null }> | null, readonly rateLimits: ReadonlyArray<{ readonly name: string, readonly plane: string, readonly perKey: number, readonly perWallet: number | null, readonly isStandard: boolean }> | null };

export type OperatorCatalogueQueryVariables = Exact<{
  model: string;
  after?: string | null | undefined;
}>;


export type OperatorCatalogueQuery = { readonly providers: ReadonlyArray<{ readonly id: string, readonly name: string, readonly baseUrl: string, readonly costReferenceUrl: string | null, readonly trusted: boolean, readonly activeOffers: number }> | null, readonly aliases: ReadonlyArray<{ readonly alias: string, readonly isManual: boolean }> | null, readonly referencePrices: ReadonlyArray<{ readonly version: string, readonly effectiveAt: number, readonly source: string, readonly state: string, readonly unitPrices: ReadonlyArray<{ readonly unit: string, readonly pico: string }> }> | null, readonly catalogHistory: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly at: number, readonly effectiveAt: number, readonly field: string, readonly before: string, readonly after: string, readonly source: string, readonly actor: string } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type OperatorCockpitQueryVariables = Exact<{ [key: string]: never; }>;


export type OperatorCockpitQuery = { readonly rails: ReadonlyArray<{ readonly rail: string, readonly state: string }> | null, readonly marketSeries: ReadonlyArray<{ readonly bucket: number, readonly calls: number, readonly trades: number, readonly volumeMicro: string, readonly uptimePct: number | null }> | null, readonly providers: ReadonlyArray<{ readonly bucket: number, readonly provider: string | null, readonly calls: number, readonly uptimePct: number | null, readonly ttftP50Ms: number | null }> | null, readonly moneyState: { readonly runs: ReadonlyArray<{ readonly id: string, readonly startedAt: number, readonly tookMs: number, readonly breaches: ReadonlyArray<string>, readonly failure: string | null }>, readonly differences: ReadonlyArray<{ readonly kind: string, readonly subject: string, readonly firstSeenAt: number, readonly timesSeen: number }>, readonly payoutHolds: ReadonlyArray<{ readonly id: string, readonly reason: string, readonly setAt: number }> } | null, readonly openHolds: ReadonlyArray<{ readonly rid: string, readonly amountMicro: string, readonly isOverdue: boolean }> | null, readonly poisonedEvents: ReadonlyArray<{ readonly payloadHash: string }> | null, readonly queues: ReadonlyArray<{ readonly queue: string, readonly waiting: number, readonly active: number, readonly delayed: number, readonly failed: number }> | null, readonly dataPlaneProcesses: ReadonlyArray<{ readonly node: string, readonly isAlive: boolean, readonly isMember: boolean, readonly lastSeenAt: number | null, readonly version: string | null, readonly offers: number | null }> | null, readonly snapshotState: { readonly isWhole: boolean, readonly documents: number, readonly bytes: number, readonly behind: ReadonlyArray<string> } | null };

export type OperatorIncidentsQueryVariables = Exact<{
  from?: number | null | undefined;
  model?: string | null | undefined;
  provider?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type OperatorIncidentsQuery = { readonly rails: ReadonlyArray<{ readonly rail: string, readonly state: string }> | null, readonly features: ReadonlyArray<{ readonly name: string, readonly isOn: boolean, readonly reason: string | null, readonly changedAt: number | null }> | null, readonly incidents: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string, readonly startedAt: number, readonly endedAt: number | null, readonly offers: number, readonly offersOnSale: number, readonly backOffs: number, readonly cause: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly anyOffers: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string, readonly delistedReason: string | null } }> } | null, readonly declaredIncidents: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly title: string, readonly models: ReadonlyArray<string>, readonly providers: ReadonlyArray<string>, readonly state: string, readonly startedAt: number, readonly endedAt: number | null, readonly notes: ReadonlyArray<{ readonly at: number, readonly state: string, readonly note: string }> } }> } | null };

export type OperatorMoneyQueryVariables = Exact<{ [key: string]: never; }>;


export type OperatorMoneyQuery = { readonly shortfall: { readonly owedMicro: string, readonly lines: ReadonlyArray<{ readonly tx: string, readonly kind: string, readonly amountMicro: string, readonly at: number, readonly account: string | null, readonly reason: string | null }> } | null, readonly treasury: { readonly isSetUp: boolean, readonly balanceMicro: string | null, readonly floorMicro: string | null, readonly ceilingMicro: string | null, readonly needsRefill: boolean, readonly stoppedFor: string | null, readonly drainedAt: number | null, readonly states: ReadonlyArray<{ readonly state: TransferState, readonly count: number, readonly amountMicro: string, readonly oldestAt: number }>, readonly stops: ReadonlyArray<{ readonly seller: string, readonly reason: string, readonly setBy: string, readonly setAt: number }> } | null, readonly treasuryTransfers: ReadonlyArray<{ readonly id: string, readonly state: TransferState, readonly purpose: string, readonly recipient: string, readonly amountMicro: string, readonly plannedAt: number, readonly reason: string | null, readonly transaction: string | null }> | null, readonly walletPaymentsState: { readonly isOpen: boolean, readonly closedFor: string | null, readonly facilitator: string | null, readonly gasWei: string | null, readonly exposureMicro: string, readonly exposureLimitMicro: string | null, readonly hanging: number, readonly unminedTransactions: number, readonly states: ReadonlyArray<{ readonly state: WalletPaymentState, readonly count: number, readonly amountMicro: string, readonly oldestAt: number }> } | null, readonly walletPayments: ReadonlyArray<{ readonly rid: string, readonly rail: string, readonly payer: string, readonly state: WalletPaymentState, readonly dueMicro: string | null, readonly changedAt: number, readonly reason: string | null, readonly transaction: string | null }> | null, readonly walletDebtors: ReadonlyArray<{ readonly payer: string, readonly owedMicro: string, readonly payments: number, readonly since: number }> | null, readonly openHolds: ReadonlyArray<{ readonly rid: string, readonly account: string, readonly node: string, readonly amountMicro: string, readonly openedAt: number, readonly expiresAt: number, readonly isOverdue: boolean }> | null, readonly poisonedEvents: ReadonlyArray<{ readonly payloadHash: string, readonly rid: string | null, readonly reason: string, readonly detail: string, readonly timesSeen: number, readonly isSettled: boolean }> | null, readonly conflictingEvents: ReadonlyArray<{ readonly rid: string, readonly payloadHash: string, readonly source: string, readonly settledChargeMicro: string | null }> | null };

export type OperatorOffersQueryVariables = Exact<{
  model?: string | null | undefined;
  provider?: string | null | undefined;
  isDelisted?: boolean | null | undefined;
  after?: string | null | undefined;
}>;


export type OperatorOffersQuery = { readonly anyOffers: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly sellerAccount: string, readonly wallet: string | null, readonly model: string, readonly provider: string, readonly trusted: boolean, readonly status: OfferStatus, readonly delistedReason: string | null, readonly discountPct: number, readonly capDailyMicro: string | null, readonly createdAt: number } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type PublicErrorsQueryVariables = Exact<{ [key: string]: never; }>;


export type PublicErrorsQuery = { readonly errorKinds: ReadonlyArray<{ readonly code: ErrorCode, readonly status: number, readonly message: string }> | null };

export type PublicFeedQueryVariables = Exact<{
  from?: number | null | undefined;
}>;


export type PublicFeedQuery = { readonly trades: ReadonlyArray<{ readonly model: string, readonly inputTokens: number, readonly outputTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly costMicro: string, readonly createdAt: number }> | null, readonly marketSeries: ReadonlyArray<{ readonly bucket: number, readonly model: string | null, readonly trades: number, readonly volumeMicro: string, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly listMicro: string, readonly discountPct: number | null, readonly bestDiscountPct: number | null }> | null };

export type PublicHomeQueryVariables = Exact<{ [key: string]: never; }>;


export type PublicHomeQuery = { readonly service: { readonly apiBaseUrl: string } | null, readonly marketTotals: { readonly since: number, readonly trades: number, readonly volumeMicro: string, readonly listMicro: string, readonly savedMicro: string } | null, readonly marketSeries: ReadonlyArray<{ readonly bucket: number, readonly calls: number, readonly trades: number, readonly volumeMicro: string, readonly listMicro: string, readonly discountPct: number | null }> | null, readonly markets: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly name: string, readonly lab: string, readonly bestDiscountPct: number | null, readonly healthySellerCount: number, readonly requests24h: number, readonly mediaUnit: string | null, readonly best: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null }, readonly direct: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } } }> } | null, readonly trades: ReadonlyArray<{ readonly model: string, readonly costMicro: string, readonly inputTokens: number, readonly outputTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly createdAt: number }> | null };

export type PublicModelQueryVariables = Exact<{
  model: string;
  name: string;
  after?: string | null | undefined;
}>;


export type PublicModelQuery = { readonly service: { readonly apiBaseUrl: string } | null, readonly market: { readonly id: string, readonly name: string, readonly description: string, readonly aliases: ReadonlyArray<string>, readonly contextLength: number, readonly maxCompletionTokens: number, readonly parameters: ReadonlyArray<string>, readonly features: ReadonlyArray<string>, readonly endpoints: ReadonlyArray<string>, readonly mediaUnit: string | null, readonly uptimePct: number | null, readonly cacheHitRatePct: number | null, readonly ttftP50Ms: number | null, readonly ttftSamples: number, readonly tpsP50: number | null, readonly tpsSamples: number, readonly best: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly cacheReadPer1m: number | null, readonly mediaUnitPrice: number | null, readonly unitPrices: ReadonlyArray<{ readonly unit: string, readonly usd: number }> }, readonly direct: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly cacheReadPer1m: number | null, readonly mediaUnitPrice: number | null, readonly unitPrices: ReadonlyArray<{ readonly unit: string, readonly usd: number }> }, readonly discountTrend: { readonly direction: string, readonly currentDiscountPct: number, readonly buckets: ReadonlyArray<{ readonly bucket: number, readonly discountPct: number | null }> } | null, readonly providers: ReadonlyArray<{ readonly provider: string, readonly trusted: boolean, readonly healthySellerCount: number, readonly ttftP50Ms: number | null, readonly ttftSamples: number, readonly tpsP50: number | null, readonly uptimePct: number | null, readonly best: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } }> } | null, readonly orderBook: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly rank: number, readonly seller: string, readonly provider: string, readonly discountPct: number, readonly capDailyMicro: number | null, readonly capRemainingMicro: number | null, readonly available: boolean, readonly trusted: boolean, readonly trades24h: number, readonly effective: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly priceHistory: { readonly references: ReadonlyArray<{ readonly version: string, readonly effectiveAt: number, readonly source: string, readonly unitPrices: ReadonlyArray<{ readonly unit: string, readonly pico: string }> }>, readonly paid: ReadonlyArray<{ readonly bucket: number, readonly trades: number, readonly volumeMicro: string, readonly discountPct: number | null, readonly bestDiscountPct: number | null }> } | null, readonly marketSeries: ReadonlyArray<{ readonly bucket: number, readonly provider: string | null, readonly calls: number, readonly ttftP50Ms: number | null, readonly ttftSamples: number, readonly tpsP50: number | null, readonly uptimePct: number | null }> | null };

export type PublicModelsQueryVariables = Exact<{
  search?: string | null | undefined;
  modality?: string | null | undefined;
  feature?: string | null | undefined;
  minContext?: number | null | undefined;
  minDiscountPct?: number | null | undefined;
  minSellers?: number | null | undefined;
  minUptimePct?: number | null | undefined;
  sort?: MarketSort | null | undefined;
  after?: string | null | undefined;
}>;


export type PublicModelsQuery = { readonly markets: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly name: string, readonly lab: string, readonly contextLength: number, readonly inputModalities: ReadonlyArray<string>, readonly outputModalities: ReadonlyArray<string>, readonly features: ReadonlyArray<string>, readonly mediaUnit: string | null, readonly bestDiscountPct: number | null, readonly healthySellerCount: number, readonly uptimePct: number | null, readonly requests24h: number, readonly volume24hMicro: string, readonly ttftP50Ms: number | null, readonly tpsP50: number | null, readonly best: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null }, readonly direct: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type PublicStatusQueryVariables = Exact<{
  from?: number | null | undefined;
}>;


export type PublicStatusQuery = { readonly rails: ReadonlyArray<{ readonly rail: string, readonly state: string }> | null, readonly models: ReadonlyArray<{ readonly bucket: number, readonly model: string | null, readonly calls: number, readonly uptimePct: number | null }> | null, readonly providers: ReadonlyArray<{ readonly bucket: number, readonly provider: string | null, readonly calls: number, readonly uptimePct: number | null }> | null, readonly incidents: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string, readonly startedAt: number, readonly endedAt: number | null, readonly offers: number, readonly offersOnSale: number, readonly cause: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly declaredIncidents: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly title: string, readonly models: ReadonlyArray<string>, readonly providers: ReadonlyArray<string>, readonly state: string, readonly startedAt: number, readonly endedAt: number | null, readonly notes: ReadonlyArray<{ readonly at: number, readonly state: string, readonly note: string }> } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type SellerEarningsQueryVariables = Exact<{
  range?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type SellerEarningsQuery = { readonly earnings: { readonly totalEarnedUsdc: string, readonly pendingUsdc: string, readonly inFlightUsdc: string, readonly paidUsdc: string, readonly daily: ReadonlyArray<{ readonly day: string, readonly earnedMicro: number, readonly requests: number, readonly totalTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number }>, readonly byModel: ReadonlyArray<{ readonly model: string, readonly earnedMicro: number, readonly requests: number, readonly totalTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly lastSaleAt: number }>, readonly payoutHold: { readonly reason: string, readonly since: number } | null } | null, readonly sales: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly offerId: string | null, readonly createdAt: number, readonly sellerCostUsdc: string, readonly inputTokens: number, readonly outputTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly mediaUnit: string | null, readonly effectiveMediaUnitPrice: number | null, readonly settlementStatus: string, readonly txHash: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type SellerHealthQueryVariables = Exact<{
  after?: string | null | undefined;
  since?: number | null | undefined;
  until?: number | null | undefined;
}>;


export type SellerHealthQuery = { readonly healthLog: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly timestamp: number, readonly offerId: string, readonly model: string, readonly errorCategory: string | null, readonly errorDetail: string, readonly statusCode: number | null, readonly actionTaken: string, readonly backedOffUntil: number | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type SellerKeysQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type SellerKeysQuery = { readonly sellerKeys: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly label: string, readonly keyPrefix: string, readonly createdAt: number, readonly lastUsedAt: number | null, readonly expiresAt: number | null, readonly revokedAt: number | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type SellerOfferQueryVariables = Exact<{
  id: string;
}>;


export type SellerOfferQuery = { readonly offer: { readonly id: string, readonly model: string, readonly provider: string, readonly providerModel: string, readonly status: OfferStatus, readonly stoppedBy: OfferStop | null, readonly healthy: boolean, readonly consecutiveFailures: number, readonly backedOffUntil: number | null, readonly delistedReason: string | null, readonly pricingMode: PricingMode, readonly discount: number, readonly directInputPer1m: number | null, readonly directOutputPer1m: number | null, readonly effectiveInputPer1m: number | null, readonly effectiveOutputPer1m: number | null, readonly mediaUnit: string | null, readonly directMediaUnitPrice: number | null, readonly effectiveMediaUnitPrice: number | null, readonly capDailyUsd: number | null, readonly capDailyRemainingUsd: number | null, readonly payoutAddress: string | null, readonly effectiveUnitPrices: ReadonlyArray<{ readonly unit: string, readonly usd: number }> } | null, readonly offerShare: { readonly won: number, readonly failedOver: number, readonly outranked: number, readonly excluded: ReadonlyArray<{ readonly reason: string, readonly calls: number }> } | null, readonly healthLog: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly timestamp: number, readonly errorCategory: string | null, readonly errorDetail: string, readonly statusCode: number | null, readonly actionTaken: string, readonly backedOffUntil: number | null } }> } | null };

export type SellerOffersQueryVariables = Exact<{
  status?: OfferStatus | null | undefined;
  model?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type SellerOffersQuery = { readonly offers: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string, readonly label: string | null, readonly status: OfferStatus, readonly stoppedBy: OfferStop | null, readonly healthy: boolean, readonly backedOffUntil: number | null, readonly delistedReason: string | null, readonly discount: number, readonly effectiveInputPer1m: number | null, readonly effectiveOutputPer1m: number | null, readonly mediaUnit: string | null, readonly effectiveMediaUnitPrice: number | null, readonly capDailyUsd: number | null, readonly capDailyRemainingUsd: number | null, readonly updatedAt: number } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type SellerOnboardingQueryVariables = Exact<{
  search?: string | null | undefined;
}>;


export type SellerOnboardingQuery = { readonly viewer: { readonly kind: string, readonly wallet: string | null } | null, readonly savedConfigs: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly label: string | null, readonly baseUrl: string, readonly keyFingerprint: string, readonly hint: string } }> } | null, readonly markets: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly name: string, readonly bestDiscountPct: number | null, readonly healthySellerCount: number, readonly requests24h: number } }> } | null };

export type SellerPayoutsQueryVariables = Exact<{
  nextToken?: string | null | undefined;
}>;


export type SellerPayoutsQuery = { readonly payouts: { readonly availableUsdc: string, readonly inFlightUsdc: string, readonly paidUsdc: string, readonly thresholdUsdc: string, readonly nextToken: string | null, readonly recipients: ReadonlyArray<{ readonly recipient: string | null, readonly earnedUsdc: string, readonly availableUsdc: string, readonly inFlightUsdc: string, readonly paidUsdc: string, readonly holdReason: string | null, readonly coolsUntil: number | null }>, readonly payouts: ReadonlyArray<{ readonly payoutId: string, readonly status: PayoutStatus, readonly amountUsdc: string, readonly recipient: string, readonly createdAt: number, readonly confirmedAt: number | null, readonly txHash: string | null, readonly reason: string | null }>, readonly payoutHold: { readonly reason: string, readonly since: number } | null } | null };

export type SellerYieldQueryVariables = Exact<{
  model: string;
  name: string;
}>;


export type SellerYieldQuery = { readonly priceHistory: { readonly paid: ReadonlyArray<{ readonly bucket: number, readonly trades: number, readonly volumeMicro: string, readonly discountPct: number | null, readonly bestDiscountPct: number | null }> } | null, readonly demand: { readonly since: number, readonly steps: ReadonlyArray<{ readonly discountPct: number, readonly calls: number, readonly listMicro: string, readonly paidMicro: string }> } | null, readonly orderBook: { readonly edges: ReadonlyArray<{ readonly node: { readonly rank: number, readonly discountPct: number, readonly capDailyMicro: number | null, readonly capRemainingMicro: number | null, readonly available: boolean, readonly trades24h: number } }> } | null };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const JobFragmentDoc = /* @__PURE__ */ new TypedDocumentString(`
    fragment Job on Job {
  id
  model
  provider
  endpoint
  keyId
  state
  submittedAt
  deadlineAt
  endedAt
  quoteMicro
  chargeMicro
  kind
  unit
  units
  artifacts
}
    `, {"fragmentName":"Job"}) as unknown as TypedDocumentString<JobFragment, unknown>;
export const CapFragmentDoc = /* @__PURE__ */ new TypedDocumentString(`
    fragment Cap on Cap {
  capUsdc
  usedUsdc
  leftUsdc
  isRefusing
  resetsAt
  runsOutAt
}
    `, {"fragmentName":"Cap"}) as unknown as TypedDocumentString<CapFragment, unknown>;
export const PageCreateBuyerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageCreateBuyerKey($input: CreateBuyerKeyInput!) {
  createBuyerKey(input: $input) {
    key
    record {
      id
      label
    }
  }
}
    `) as unknown as TypedDocumentString<PageCreateBuyerKeyMutation, PageCreateBuyerKeyMutationVariables>;
export const PageUpdateBuyerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageUpdateBuyerKey($id: ID!, $input: UpdateBuyerKeyInput!) {
  updateBuyerKey(id: $id, input: $input) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageUpdateBuyerKeyMutation, PageUpdateBuyerKeyMutationVariables>;
export const PageRotateBuyerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageRotateBuyerKey($id: ID!, $windowSeconds: Int) {
  rotateBuyerKey(id: $id, windowSeconds: $windowSeconds) {
    key
    formerExpiresAt
    record {
      id
      label
    }
  }
}
    `) as unknown as TypedDocumentString<PageRotateBuyerKeyMutation, PageRotateBuyerKeyMutationVariables>;
export const PageRevokeBuyerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageRevokeBuyerKey($id: ID!) {
  revokeBuyerKey(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageRevokeBuyerKeyMutation, PageRevokeBuyerKeyMutationVariables>;
export const PageUpdatesDocument = /* @__PURE__ */ new TypedDocumentString(`
    subscription PageUpdates($books: [ID!]!, $trades: Int!, $credit: Boolean!, $jobs: Boolean!, $offerHealth: Boolean!) {
  updates(
    books: $books
    trades: $trades
    credit: $credit
    jobs: $jobs
    offerHealth: $offerHealth
  ) {
    books {
      model
      offers(first: 50) {
        id
        rank
        seller
        provider
        discountPct
        capDailyMicro
        capRemainingMicro
        available
        healthy
        trusted
        trades24h
        effective {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
      }
    }
    trades {
      model
      costMicro
      inputTokens
      outputTokens
      images
      megapixels
      seconds
      characters
      createdAt
    }
    credit {
      creditBalanceUsdc
      heldUsdc
    }
    jobs {
      id
      model
      state
      submittedAt
      deadlineAt
      endedAt
      chargeMicro
    }
    offerHealth {
      id
      model
      status
      healthy
      backedOffUntil
      delistedReason
      capDailyRemainingUsd
    }
  }
}
    `) as unknown as TypedDocumentString<PageUpdatesSubscription, PageUpdatesSubscriptionVariables>;
export const PageViewerDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PageViewer {
  viewer {
    kind
    wallet
    keyId
  }
}
    `) as unknown as TypedDocumentString<PageViewerQuery, PageViewerQueryVariables>;
export const PageChallengeDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PageChallenge($address: String!) {
  signInChallenge(address: $address) {
    message
  }
}
    `) as unknown as TypedDocumentString<PageChallengeQuery, PageChallengeQueryVariables>;
export const PagePaletteDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PagePalette($search: String) {
  markets(first: 8, search: $search) {
    edges {
      node {
        id
        name
      }
    }
  }
}
    `) as unknown as TypedDocumentString<PagePaletteQuery, PagePaletteQueryVariables>;
export const PageDiscoverDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageDiscover($place: ProviderPlaceInput!) {
  testConnection(place: $place) {
    ok
    status
    latencyMs
    error
  }
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
export const BuyerActivityDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerActivity($interval: String, $groupBy: String, $filter: UsageFilter) {
  usageBuckets(interval: $interval, groupBy: $groupBy, filter: $filter) {
    bucket
    group
    requests
    failedRequests
    buyerCostMicro
    listCostMicro
    inputTokens
    outputTokens
    cacheReadTokens
    reasoningTokens
    images
    megapixels
    seconds
    characters
    imageOutputTokens
  }
}
    `) as unknown as TypedDocumentString<BuyerActivityQuery, BuyerActivityQueryVariables>;
export const BuyerCreditDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerCredit($after: String, $window: UsageWindow) {
  me {
    creditBalanceUsdc
    heldUsdc
    balanceUsdc
    allowanceUsdc
    settlementContract
  }
  statements(first: 50, after: $after, window: $window) {
    edges {
      node {
        id
        kind
        createdAt
        amountMicro
        balanceMicro
        note
        model
        txHash
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<BuyerCreditQuery, BuyerCreditQueryVariables>;
export const BuyerJobsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerJobs($after: String) {
  running: jobs(first: 25, state: running) {
    edges {
      node {
        ...Job
      }
    }
  }
  jobs(first: 25, after: $after) {
    edges {
      node {
        ...Job
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment Job on Job {
  id
  model
  provider
  endpoint
  keyId
  state
  submittedAt
  deadlineAt
  endedAt
  quoteMicro
  chargeMicro
  kind
  unit
  units
  artifacts
}`) as unknown as TypedDocumentString<BuyerJobsQuery, BuyerJobsQueryVariables>;
export const BuyerKeysDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerKeys($after: String) {
  buyerKeys(first: 50, after: $after) {
    edges {
      node {
        id
        label
        keyPrefix
        createdAt
        lastUsedAt
        expiresAt
        revokedAt
        terms {
          minDiscountPct
          providersBlocked
          allowUntrusted
          capDailyUsd
          capMonthlyUsd
          rateLimitRpm
          modelsAllowed
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  usageBuckets(interval: "day", groupBy: "key", filter: {period: "30d"}) {
    bucket
    group
    requests
    buyerCostMicro
  }
}
    `) as unknown as TypedDocumentString<BuyerKeysQuery, BuyerKeysQueryVariables>;
export const BuyerLimitsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerLimits {
  caps {
    creditBalanceUsdc
    heldUsdc
    keys {
      keyId
      label
      binds
      daily {
        ...Cap
      }
      monthly {
        ...Cap
      }
    }
  }
  buyerKeys(first: 25) {
    edges {
      node {
        id
        label
        terms {
          rateLimitRpm
          modelsAllowed
        }
      }
    }
  }
  webhooks {
    id
    url
    label
    events
    lowBalanceUsd
    enabled
  }
}
    fragment Cap on Cap {
  capUsdc
  usedUsdc
  leftUsdc
  isRefusing
  resetsAt
  runsOutAt
}`) as unknown as TypedDocumentString<BuyerLimitsQuery, BuyerLimitsQueryVariables>;
export const BuyerLogEntryDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerLogEntry($id: ID!) {
  request(id: $id) {
    requestId
    model
    provider
    settlementStatus
    settlementError
    buyerCostMicro
    listCostMicro
    inputTokens
    outputTokens
    cacheReadTokens
    reasoningTokens
    images
    megapixels
    seconds
    characters
    imageInputTokens
    imageOutputTokens
    ttftMs
    durationMs
    finishReason
    attempts {
      provider
      status
      ms
    }
    routing {
      offers {
        offer
        provider
        estimateMicro
      }
      excluded {
        offer
        reason
      }
      affinity {
        offer
        savingMicro
      }
    }
  }
}
    `) as unknown as TypedDocumentString<BuyerLogEntryQuery, BuyerLogEntryQueryVariables>;
export const BuyerLogsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerLogs($filter: UsageFilter, $after: String) {
  usageBuckets(interval: "hour", filter: $filter) {
    bucket
    requests
    failedRequests
  }
  usage(first: 50, after: $after, filter: $filter) {
    edges {
      node {
        requestId
        createdAt
        model
        provider
        endpoint
        outcome
        settlementStatus
        buyerCostMicro
        listCostMicro
        inputTokens
        outputTokens
        cacheReadTokens
        reasoningTokens
        images
        megapixels
        seconds
        characters
        ttftMs
        durationMs
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<BuyerLogsQuery, BuyerLogsQueryVariables>;
export const BuyerOrganizationsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerOrganizations {
  organizations {
    id
    name
    role
    createdAt
  }
  ownInvitations {
    id
    organizationName
    role
    expiresAt
  }
}
    `) as unknown as TypedDocumentString<BuyerOrganizationsQuery, BuyerOrganizationsQueryVariables>;
export const BuyerOverviewDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerOverview($period: String!, $interval: String!) {
  me {
    wallet
    creditBalanceUsdc
    heldUsdc
  }
  savings(period: $period) {
    requests
    spentMicro
    listMicro
    savedMicro
    savedPct
    byModel {
      model
      requests
      spentMicro
      savedMicro
      savedPct
    }
  }
  latency(period: $period) {
    calls
    timed
    ttftMs {
      p50
      p95
    }
    durationMs {
      p50
      p95
    }
  }
  usageBuckets(interval: $interval, filter: {period: $period}) {
    bucket
    requests
    failedRequests
    buyerCostMicro
    listCostMicro
  }
  caps {
    keys {
      keyId
      label
      binds
      daily {
        capUsdc
        usedUsdc
        leftUsdc
        isRefusing
        resetsAt
        runsOutAt
      }
      monthly {
        capUsdc
        usedUsdc
        leftUsdc
        isRefusing
        resetsAt
        runsOutAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<BuyerOverviewQuery, BuyerOverviewQueryVariables>;
export const BuyerProvidersDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerProviders {
  ownProviders {
    id
    model
    provider
    baseUrl
    apiFormat
    providerModel
    priority
    label
    createdAt
  }
  preferences {
    allowUntrusted
    providersBlocked
    minDiscountPct
  }
}
    `) as unknown as TypedDocumentString<BuyerProvidersQuery, BuyerProvidersQueryVariables>;
export const OperatorAuditDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorAudit($operation: String, $subject: String, $after: String) {
  audit(first: 50, after: $after, operation: $operation, subject: $subject) {
    edges {
      node {
        id
        at
        operation
        actorKind
        actor
        subject
        before
        after
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  features {
    name
    isOn
    meaning
    reason
    changedAt
  }
  rateLimits {
    name
    plane
    perKey
    perWallet
    isStandard
  }
}
    `) as unknown as TypedDocumentString<OperatorAuditQuery, OperatorAuditQueryVariables>;
export const OperatorCatalogueDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorCatalogue($model: String!, $after: String) {
  providers {
    id
    name
    baseUrl
    costReferenceUrl
    trusted
    activeOffers
  }
  aliases(model: $model) {
    alias
    isManual
  }
  referencePrices(model: $model) {
    version
    effectiveAt
    source
    state
    unitPrices {
      unit
      pico
    }
  }
  catalogHistory(first: 50, after: $after, model: $model) {
    edges {
      node {
        id
        at
        effectiveAt
        field
        before
        after
        source
        actor
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<OperatorCatalogueQuery, OperatorCatalogueQueryVariables>;
export const OperatorCockpitDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorCockpit {
  rails {
    rail
    state
  }
  marketSeries {
    bucket
    calls
    trades
    volumeMicro
    uptimePct
  }
  providers: marketSeries(groupBy: [provider]) {
    bucket
    provider
    calls
    uptimePct
    ttftP50Ms
  }
  moneyState {
    runs {
      id
      startedAt
      tookMs
      breaches
      failure
    }
    differences {
      kind
      subject
      firstSeenAt
      timesSeen
    }
    payoutHolds {
      id
      reason
      setAt
    }
  }
  openHolds(limit: 50) {
    rid
    amountMicro
    isOverdue
  }
  poisonedEvents {
    payloadHash
  }
  queues {
    queue
    waiting
    active
    delayed
    failed
  }
  dataPlaneProcesses {
    node
    isAlive
    isMember
    lastSeenAt
    version
    offers
  }
  snapshotState {
    isWhole
    documents
    bytes
    behind
  }
}
    `) as unknown as TypedDocumentString<OperatorCockpitQuery, OperatorCockpitQueryVariables>;
export const OperatorIncidentsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorIncidents($from: Float, $model: ID, $provider: String, $after: String) {
  rails {
    rail
    state
  }
  features {
    name
    isOn
    reason
    changedAt
  }
  incidents(
    first: 50
    after: $after
    from: $from
    model: $model
    provider: $provider
  ) {
    edges {
      node {
        id
        model
        provider
        startedAt
        endedAt
        offers
        offersOnSale
        backOffs
        cause
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  anyOffers(first: 50, isDelisted: true) {
    edges {
      node {
        id
        model
        provider
        delistedReason
      }
    }
  }
  declaredIncidents(first: 10, from: $from, model: $model, provider: $provider) {
    edges {
      node {
        id
        title
        models
        providers
        state
        startedAt
        endedAt
        notes {
          at
          state
          note
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<OperatorIncidentsQuery, OperatorIncidentsQueryVariables>;
export const OperatorMoneyDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorMoney {
  shortfall {
    owedMicro
    lines {
      tx
      kind
      amountMicro
      at
      account
      reason
    }
  }
  treasury {
    isSetUp
    balanceMicro
    floorMicro
    ceilingMicro
    needsRefill
    stoppedFor
    drainedAt
    states {
      state
      count
      amountMicro
      oldestAt
    }
    stops {
      seller
      reason
      setBy
      setAt
    }
  }
  treasuryTransfers(limit: 25) {
    id
    state
    purpose
    recipient
    amountMicro
    plannedAt
    reason
    transaction
  }
  walletPaymentsState {
    isOpen
    closedFor
    facilitator
    gasWei
    exposureMicro
    exposureLimitMicro
    hanging
    unminedTransactions
    states {
      state
      count
      amountMicro
      oldestAt
    }
  }
  walletPayments(isHanging: true, limit: 50) {
    rid
    rail
    payer
    state
    dueMicro
    changedAt
    reason
    transaction
  }
  walletDebtors {
    payer
    owedMicro
    payments
    since
  }
  openHolds(limit: 50) {
    rid
    account
    node
    amountMicro
    openedAt
    expiresAt
    isOverdue
  }
  poisonedEvents {
    payloadHash
    rid
    reason
    detail
    timesSeen
    isSettled
  }
  conflictingEvents {
    rid
    payloadHash
    source
    settledChargeMicro
  }
}
    `) as unknown as TypedDocumentString<OperatorMoneyQuery, OperatorMoneyQueryVariables>;
export const OperatorOffersDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorOffers($model: String, $provider: String, $isDelisted: Boolean, $after: String) {
  anyOffers(
    first: 50
    after: $after
    model: $model
    provider: $provider
    isDelisted: $isDelisted
  ) {
    edges {
      node {
        id
        sellerAccount
        wallet
        model
        provider
        trusted
        status
        delistedReason
        discountPct
        capDailyMicro
        createdAt
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<OperatorOffersQuery, OperatorOffersQueryVariables>;
export const PublicErrorsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicErrors {
  errorKinds {
    code
    status
    message
  }
}
    `) as unknown as TypedDocumentString<PublicErrorsQuery, PublicErrorsQueryVariables>;
export const PublicFeedDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicFeed($from: Float) {
  trades(limit: 100) {
    model
    inputTokens
    outputTokens
    images
    megapixels
    seconds
    characters
    costMicro
    createdAt
  }
  marketSeries(from: $from, bucket: day, groupBy: [model]) {
    bucket
    model
    trades
    volumeMicro
    images
    megapixels
    seconds
    characters
    listMicro
    discountPct
    bestDiscountPct
  }
}
    `) as unknown as TypedDocumentString<PublicFeedQuery, PublicFeedQueryVariables>;
export const PublicHomeDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicHome {
  service {
    apiBaseUrl
  }
  marketTotals {
    since
    trades
    volumeMicro
    listMicro
    savedMicro
  }
  marketSeries {
    bucket
    calls
    trades
    volumeMicro
    listMicro
    discountPct
  }
  markets(first: 8, sort: volume) {
    edges {
      node {
        id
        name
        lab
        bestDiscountPct
        healthySellerCount
        requests24h
        mediaUnit
        best {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
        direct {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
      }
    }
  }
  trades(limit: 8) {
    model
    costMicro
    inputTokens
    outputTokens
    images
    megapixels
    seconds
    characters
    createdAt
  }
}
    `) as unknown as TypedDocumentString<PublicHomeQuery, PublicHomeQueryVariables>;
export const PublicModelDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicModel($model: ID!, $name: String!, $after: String) {
  service {
    apiBaseUrl
  }
  market(model: $model) {
    id
    name
    description
    aliases
    contextLength
    maxCompletionTokens
    parameters
    features
    endpoints
    mediaUnit
    uptimePct
    cacheHitRatePct
    ttftP50Ms
    ttftSamples
    tpsP50
    tpsSamples
    best {
      inputPer1m
      outputPer1m
      cacheReadPer1m
      mediaUnitPrice
      unitPrices {
        unit
        usd
      }
    }
    direct {
      inputPer1m
      outputPer1m
      cacheReadPer1m
      mediaUnitPrice
      unitPrices {
        unit
        usd
      }
    }
    discountTrend {
      direction
      currentDiscountPct
      buckets {
        bucket
        discountPct
      }
    }
    providers {
      provider
      trusted
      healthySellerCount
      ttftP50Ms
      ttftSamples
      tpsP50
      uptimePct
      best {
        inputPer1m
        outputPer1m
        mediaUnitPrice
      }
    }
  }
  orderBook(model: $model, first: 100, after: $after) {
    edges {
      node {
        id
        rank
        seller
        provider
        discountPct
        capDailyMicro
        capRemainingMicro
        available
        trusted
        trades24h
        effective {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  priceHistory(model: $name) {
    references {
      version
      effectiveAt
      source
      unitPrices {
        unit
        pico
      }
    }
    paid {
      bucket
      trades
      volumeMicro
      discountPct
      bestDiscountPct
    }
  }
  marketSeries(models: [$name], groupBy: [provider]) {
    bucket
    provider
    calls
    ttftP50Ms
    ttftSamples
    tpsP50
    uptimePct
  }
}
    `) as unknown as TypedDocumentString<PublicModelQuery, PublicModelQueryVariables>;
export const PublicModelsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicModels($search: String, $modality: String, $feature: String, $minContext: Int, $minDiscountPct: Float, $minSellers: Int, $minUptimePct: Float, $sort: MarketSort, $after: String) {
  markets(
    first: 50
    after: $after
    search: $search
    modality: $modality
    feature: $feature
    minContext: $minContext
    minDiscountPct: $minDiscountPct
    minSellers: $minSellers
    minUptimePct: $minUptimePct
    sort: $sort
  ) {
    edges {
      node {
        id
        name
        lab
        contextLength
        inputModalities
        outputModalities
        features
        mediaUnit
        bestDiscountPct
        healthySellerCount
        uptimePct
        requests24h
        volume24hMicro
        ttftP50Ms
        tpsP50
        best {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
        direct {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<PublicModelsQuery, PublicModelsQueryVariables>;
export const PublicStatusDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicStatus($from: Float) {
  rails {
    rail
    state
  }
  models: marketSeries(from: $from, groupBy: [model]) {
    bucket
    model
    calls
    uptimePct
  }
  providers: marketSeries(from: $from, groupBy: [provider]) {
    bucket
    provider
    calls
    uptimePct
  }
  incidents(first: 50, from: $from) {
    edges {
      node {
        id
        model
        provider
        startedAt
        endedAt
        offers
        offersOnSale
        cause
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  declaredIncidents(first: 10, from: $from) {
    edges {
      node {
        id
        title
        models
        providers
        state
        startedAt
        endedAt
        notes {
          at
          state
          note
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<PublicStatusQuery, PublicStatusQueryVariables>;
export const SellerEarningsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerEarnings($range: String, $after: String) {
  earnings(range: $range) {
    totalEarnedUsdc
    pendingUsdc
    inFlightUsdc
    paidUsdc
    daily {
      day
      earnedMicro
      requests
      totalTokens
      images
      megapixels
      seconds
      characters
    }
    byModel {
      model
      earnedMicro
      requests
      totalTokens
      images
      megapixels
      seconds
      characters
      lastSaleAt
    }
    payoutHold {
      reason
      since
    }
  }
  sales(first: 50, after: $after) {
    edges {
      node {
        id
        model
        offerId
        createdAt
        sellerCostUsdc
        inputTokens
        outputTokens
        images
        megapixels
        seconds
        characters
        mediaUnit
        effectiveMediaUnitPrice
        settlementStatus
        txHash
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SellerEarningsQuery, SellerEarningsQueryVariables>;
export const SellerHealthDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerHealth($after: String, $since: Float, $until: Float) {
  healthLog(first: 100, after: $after, since: $since, until: $until) {
    edges {
      node {
        id
        timestamp
        offerId
        model
        errorCategory
        errorDetail
        statusCode
        actionTaken
        backedOffUntil
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SellerHealthQuery, SellerHealthQueryVariables>;
export const SellerKeysDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerKeys($after: String) {
  sellerKeys(first: 50, after: $after) {
    edges {
      node {
        id
        label
        keyPrefix
        createdAt
        lastUsedAt
        expiresAt
        revokedAt
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SellerKeysQuery, SellerKeysQueryVariables>;
export const SellerOfferDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerOffer($id: ID!) {
  offer(id: $id) {
    id
    model
    provider
    providerModel
    status
    stoppedBy
    healthy
    consecutiveFailures
    backedOffUntil
    delistedReason
    pricingMode
    discount
    directInputPer1m
    directOutputPer1m
    effectiveInputPer1m
    effectiveOutputPer1m
    mediaUnit
    directMediaUnitPrice
    effectiveMediaUnitPrice
    effectiveUnitPrices {
      unit
      usd
    }
    capDailyUsd
    capDailyRemainingUsd
    payoutAddress
  }
  offerShare(id: $id) {
    won
    failedOver
    outranked
    excluded {
      reason
      calls
    }
  }
  healthLog(first: 50, offerId: $id) {
    edges {
      node {
        id
        timestamp
        errorCategory
        errorDetail
        statusCode
        actionTaken
        backedOffUntil
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SellerOfferQuery, SellerOfferQueryVariables>;
export const SellerOffersDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerOffers($status: OfferStatus, $model: String, $after: String) {
  offers(first: 50, after: $after, status: $status, model: $model) {
    edges {
      node {
        id
        model
        provider
        label
        status
        stoppedBy
        healthy
        backedOffUntil
        delistedReason
        discount
        effectiveInputPer1m
        effectiveOutputPer1m
        mediaUnit
        effectiveMediaUnitPrice
        capDailyUsd
        capDailyRemainingUsd
        updatedAt
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SellerOffersQuery, SellerOffersQueryVariables>;
export const SellerOnboardingDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerOnboarding($search: String) {
  viewer {
    kind
    wallet
  }
  savedConfigs(first: 25) {
    edges {
      node {
        id
        label
        baseUrl
        keyFingerprint
        hint
      }
    }
  }
  markets(first: 100, sort: volume, search: $search) {
    edges {
      node {
        id
        name
        bestDiscountPct
        healthySellerCount
        requests24h
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SellerOnboardingQuery, SellerOnboardingQueryVariables>;
export const SellerPayoutsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerPayouts($nextToken: String) {
  payouts(maxItems: 50, nextToken: $nextToken) {
    availableUsdc
    inFlightUsdc
    paidUsdc
    thresholdUsdc
    nextToken
    recipients {
      recipient
      earnedUsdc
      availableUsdc
      inFlightUsdc
      paidUsdc
      holdReason
      coolsUntil
    }
    payouts {
      payoutId
      status
      amountUsdc
      recipient
      createdAt
      confirmedAt
      txHash
      reason
    }
    payoutHold {
      reason
      since
    }
  }
}
    `) as unknown as TypedDocumentString<SellerPayoutsQuery, SellerPayoutsQueryVariables>;
export const SellerYieldDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerYield($model: ID!, $name: String!) {
  priceHistory(model: $name, bucket: hour) {
    paid {
      bucket
      trades
      volumeMicro
      discountPct
      bestDiscountPct
    }
  }
  demand(model: $name) {
    since
    steps {
      discountPct
      calls
      listMicro
      paidMicro
    }
  }
  orderBook(model: $model, first: 100) {
    edges {
      node {
        rank
        discountPct
        capDailyMicro
        capRemainingMicro
        available
        trades24h
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SellerYieldQuery, SellerYieldQueryVariables>;