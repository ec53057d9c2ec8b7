/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type OperatorCockpitQueryVariables = Exact<{ [key: string]: never; }>;


export type OperatorCockpitQuery = { readonly rails: ReadonlyArray<{ readonly rail: string, readonly state: string }> | null, readonly marketSeries: ReadonlyArray<{ readonly bucket: number, readonly calls: number, readonly trades: number, readonly volumeMicro: string, readonly uptimePct: number | null }> | null, readonly providers: ReadonlyArray<{ readonly bucket: number, readonly provider: string | null, readonly calls: number, readonly uptimePct: number | null, readonly ttftP50Ms: number | null }> | null, readonly moneyState: { readonly runs: ReadonlyArray<{ readonly id: string, readonly startedAt: number, readonly tookMs: number, readonly breaches: ReadonlyArray<string>, readonly failure: string | null }>, readonly differences: ReadonlyArray<{ readonly kind: string, readonly subject: string, readonly firstSeenAt: number, readonly timesSeen: number }>, readonly payoutHolds: ReadonlyArray<{ readonly id: string, readonly reason: string, readonly setAt: number }> } | null, readonly openHolds: ReadonlyArray<{ readonly rid: string, readonly amountMicro: string, readonly isOverdue: boolean }> | null, readonly poisonedEvents: ReadonlyArray<{ readonly payloadHash: string }> | null, readonly queues: ReadonlyArray<{ readonly queue: string, readonly waiting: number, readonly active: number, readonly delayed: number, readonly failed: number }> | null, readonly dataPlaneProcesses: ReadonlyArray<{ readonly node: string, readonly isAlive: boolean, readonly isMember: boolean, readonly lastSeenAt: number | null, readonly version: string | null, readonly offers: number | null }> | null, readonly snapshotState: { readonly isWhole: boolean, readonly documents: number, readonly bytes: number, readonly behind: ReadonlyArray<string> } | null };


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