import type { PostReport } from './post-report.ts'

/**
 * The kind and the first field of a GraphQL document, both from the schema. The type is `refused` for a document that
 * was not run.
 */
export type GraphQLDocument = {
  readonly type: 'query' | 'mutation' | 'subscription' | 'refused'
  readonly field: string
}

/** Records the work of the plane, its duration and its result, as metrics and spans. */
export type Telemetry = {
  /** Runs an operation. `name` comes from the code, never from a caller. */
  operation<Result>(name: string, work: () => Promise<Result>): Promise<Result>
  /** Posts usage events. The first event shows how far the posting is behind. */
  posting(events: readonly string[], work: () => Promise<PostReport>): Promise<PostReport>
  /** Runs one turn of a worker. */
  turn(worker: string, work: () => Promise<void>): Promise<void>
  /** Records a rebuild of the gate and its length in milliseconds. */
  rebuilt(tookMs: number): void
  /** Records one attempt of a webhook. */
  delivered(outcome: 'delivered' | 'retry' | 'failed' | 'gone'): void
  document(document: GraphQLDocument, isOk: boolean): void
}
