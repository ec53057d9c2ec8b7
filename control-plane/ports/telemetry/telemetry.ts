import type { PostReport } from './post-report.ts'

/** What a document asked for: its kind and first field, both of the schema; `refused` for one that was not run. */
export type GraphQLDocument = {
  readonly type: 'query' | 'mutation' | 'subscription' | 'refused'
  readonly field: string
}

/** Where it is noted what the plane does, how long it takes and how it ends; and where that becomes spans. */
export type Telemetry = {
  /** Runs an operation. `name` is that of the code, never one that a caller chose. */
  operation<Result>(name: string, work: () => Promise<Result>): Promise<Result>
  /** Posts usage events; the first of them, as its bytes, tells how far the posting is behind. */
  posting(events: readonly string[], work: () => Promise<PostReport>): Promise<PostReport>
  /** Runs one turn of a worker. */
  turn(worker: string, work: () => Promise<void>): Promise<void>
  /** The gate was rebuilt, in so many milliseconds. */
  rebuilt(tookMs: number): void
  /** A webhook was tried. */
  delivered(outcome: 'delivered' | 'retry' | 'failed' | 'gone'): void
  document(document: GraphQLDocument, isOk: boolean): void
}
