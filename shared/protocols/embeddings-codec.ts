import type { JsonObject } from '#shared/json-members.ts'
import type { ReportedUsage } from './answers/reported-usage.ts'
import type { EncodePlan } from './encode-plan.ts'
import type { EncodedRequest } from './provider-request.ts'

/** A request for the vectors of texts, independent of a protocol. */
export type EmbeddingsAsk = {
  readonly texts: readonly string[]
  readonly dimensions: number | undefined
  /** All other members of the request. Those without a place in the protocol are named as left out. */
  readonly extras: JsonObject
}

/** The messages of a protocol for vectors. Its answers are JSON. */
export type EmbeddingsCodec = {
  encode(ask: EmbeddingsAsk, plan: EncodePlan): EncodedRequest
  /**
   * Reads a list of `{embedding}` in the order of the texts, and adds the figures of the answer. Undefined when an
   * answer without an error has no list.
   */
  read(body: JsonObject, into: ReportedUsage): readonly object[] | undefined
}
