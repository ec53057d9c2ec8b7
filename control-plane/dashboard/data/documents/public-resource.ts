/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type ResourceMethod =
  | 'GET'
  | 'POST'
  | 'PUT';

export type PublicResourceQueryVariables = Exact<{
  id: string;
  model?: string | null | undefined;
  method?: ResourceMethod | null | undefined;
  path?: string | null | undefined;
  require?: ReadonlyArray<string> | string | null | undefined;
  minDiscountPct?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type PublicResourceQuery = { readonly service: { readonly apiBaseUrl: string } | null, readonly resourceMarket: { readonly since: number, readonly market: { readonly id: string, readonly kind: string, readonly name: string, readonly unit: string, readonly style: string, readonly termsUrl: string | null, readonly offers: number, readonly liveOffers: number, readonly bestDiscountPct: number | null, readonly medianDiscountPct: number | null, readonly calls24h: number, readonly volume24hMicro: number, readonly saved24hMicro: number, readonly calls7d: number, readonly volume7dMicro: number, readonly saved7dMicro: number }, readonly hosts: ReadonlyArray<{ readonly role: string, readonly baseUrl: string }>, readonly goods: ReadonlyArray<{ readonly id: string, readonly mustQueue: boolean, readonly prices: ReadonlyArray<{ readonly unit: string, readonly usd: string }> }>, readonly routes: ReadonlyArray<{ readonly id: string, readonly title: string, readonly kind: string, readonly methods: ReadonlyArray<string>, readonly host: string, readonly path: string, readonly rpcMethods: ReadonlyArray<string> | null }>, readonly fences: ReadonlyArray<{ readonly methods: ReadonlyArray<string> | null, readonly path: string, readonly reason: string }>, readonly traits: ReadonlyArray<{ readonly name: string, readonly title: string, readonly provenance: string, readonly liveOffers: number }>, readonly refusedDemand: ReadonlyArray<{ readonly rule: string, readonly calls: number, readonly quotedMicro: number }> } | null, readonly resourceBook: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly rank: number, readonly discountPct: number, readonly canServe: boolean, readonly whyNot: string | null, readonly healthy: boolean, readonly capDailyMicro: number | null, readonly capRemainingMicro: number | null, readonly ratePerMinute: number | null, readonly buyerSharePct: number | null, readonly models: ReadonlyArray<string> | null, readonly methods: ReadonlyArray<string> | null, readonly paths: ReadonlyArray<string> | null, readonly traits: ReadonlyArray<{ readonly name: string, readonly provenance: string }> } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const PublicResourceDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicResource($id: ID!, $model: String, $method: ResourceMethod, $path: String, $require: [String!], $minDiscountPct: Int, $after: String) {
  service {
    apiBaseUrl
  }
  resourceMarket(id: $id) {
    market {
      id
      kind
      name
      unit
      style
      termsUrl
      offers
      liveOffers
      bestDiscountPct
      medianDiscountPct
      calls24h
      volume24hMicro
      saved24hMicro
      calls7d
      volume7dMicro
      saved7dMicro
    }
    hosts {
      role
      baseUrl
    }
    goods {
      id
      mustQueue
      prices {
        unit
        usd
      }
    }
    routes {
      id
      title
      kind
      methods
      host
      path
      rpcMethods
    }
    fences {
      methods
      path
      reason
    }
    traits {
      name
      title
      provenance
      liveOffers
    }
    since
    refusedDemand {
      rule
      calls
      quotedMicro
    }
  }
  resourceBook(
    id: $id
    model: $model
    method: $method
    path: $path
    require: $require
    minDiscountPct: $minDiscountPct
    first: 50
    after: $after
  ) {
    edges {
      node {
        id
        rank
        discountPct
        canServe
        whyNot
        healthy
        capDailyMicro
        capRemainingMicro
        ratePerMinute
        buyerSharePct
        models
        methods
        paths
        traits {
          name
          provenance
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<PublicResourceQuery, PublicResourceQueryVariables>;