/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type PublicModelQueryVariables = Exact<{
  model: string;
  name: string;
  after?: string | null | undefined;
  since?: number | null | undefined;
}>;


export type PublicModelQuery = { readonly service: { readonly apiBaseUrl: string } | null, readonly market: { readonly id: string, readonly name: string, readonly description: string, readonly aliases: ReadonlyArray<string>, readonly contextLength: number, readonly maxCompletionTokens: number, readonly parameters: ReadonlyArray<string>, readonly features: ReadonlyArray<string>, readonly endpoints: ReadonlyArray<string>, readonly mediaUnit: string | null, readonly uptimePct: number | null, readonly cacheHitRatePct: number | null, readonly ttftP50Ms: number | null, readonly ttftSamples: number, readonly tpsP50: number | null, readonly tpsSamples: number, readonly best: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly cacheReadPer1m: number | null, readonly mediaUnitPrice: number | null, readonly unitPrices: ReadonlyArray<{ readonly unit: string, readonly usd: number }> }, readonly direct: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly cacheReadPer1m: number | null, readonly mediaUnitPrice: number | null, readonly unitPrices: ReadonlyArray<{ readonly unit: string, readonly usd: number }> }, readonly discountTrend: { readonly direction: string, readonly currentDiscountPct: number, readonly buckets: ReadonlyArray<{ readonly bucket: number, readonly discountPct: number | null }> } | null, readonly providers: ReadonlyArray<{ readonly provider: string, readonly trusted: boolean, readonly healthySellerCount: number, readonly ttftP50Ms: number | null, readonly ttftSamples: number, readonly tpsP50: number | null, readonly uptimePct: number | null, readonly best: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } }> } | null, readonly orderBook: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly rank: number, readonly seller: string, readonly provider: string, readonly discountPct: number, readonly capDailyMicro: number | null, readonly capRemainingMicro: number | null, readonly available: boolean, readonly trusted: boolean, readonly trades24h: number | null, readonly effective: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly declaredIncidents: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly title: string, readonly state: string, readonly startedAt: number, readonly endedAt: number | null } }> } | null, readonly priceHistory: { readonly references: ReadonlyArray<{ readonly version: string, readonly effectiveAt: number, readonly source: string, readonly unitPrices: ReadonlyArray<{ readonly unit: string, readonly pico: string }> }>, readonly paid: ReadonlyArray<{ readonly bucket: number, readonly trades: number, readonly volumeMicro: string, readonly discountPct: number | null, readonly bestDiscountPct: number | null }> | null } | null, readonly marketSeries: ReadonlyArray<{ readonly bucket: number, readonly provider: string | null, readonly calls: number, readonly ttftP50Ms: number | null, readonly ttftP10Ms: number | null, readonly ttftP90Ms: number | null, readonly ttftSamples: number, readonly tpsP50: number | null, readonly tpsP10: number | null, readonly tpsP90: number | null, readonly tpsSamples: number, readonly uptimePct: number | null }> | null };


export const PublicModelDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicModel($model: ID!, $name: String!, $after: String, $since: Float) {
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
  declaredIncidents(first: 10, from: $since, model: $model) {
    edges {
      node {
        id
        title
        state
        startedAt
        endedAt
      }
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
  marketSeries(models: [$name], groupBy: [provider], withBands: true) {
    bucket
    provider
    calls
    ttftP50Ms
    ttftP10Ms
    ttftP90Ms
    ttftSamples
    tpsP50
    tpsP10
    tpsP90
    tpsSamples
    uptimePct
  }
}
    `) as unknown as TypedDocumentString<PublicModelQuery, PublicModelQueryVariables>;