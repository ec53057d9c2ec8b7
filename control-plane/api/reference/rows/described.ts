import type { z } from 'zod'

/** What the description of the doors says of a REST row beside what the row itself holds. */
export type Described = {
  readonly tag: string
  /** One line in the imperative. */
  readonly summary: string
  readonly description?: string
  /** What the operation takes, where its own schema reads a part of it later. */
  readonly input?: z.ZodType
  /** How a good answer comes where that is not one JSON body. */
  readonly as?: 'lines' | 'redirect' | 'csv'
  /** The query or the body of a call that works on a fresh market, as it is written on the wire. */
  readonly example?: Readonly<Record<string, unknown>>
  /** Statuses of refusals beside those that any row of its kind may answer with. */
  readonly refusals?: readonly number[]
}

/** Descriptions by method and path: `GET /v1/buyer/me`. */
export type Descriptions = Readonly<Record<string, Described>>
