import type { z } from 'zod'

/** The description of a REST row, beside what the row itself holds. */
export type Described = {
  readonly tag: string
  /** A line in the imperative. */
  readonly summary: string
  readonly description: string
  /** The operation's full input, where its own schema parses a part of it later. */
  readonly input?: z.ZodType
  /** The form of a good answer that is not one JSON body. */
  readonly as?: 'lines' | 'redirect' | 'csv'
  /** The query or the body of a call that works on a fresh market, in the wire's spelling. */
  readonly example?: Readonly<Record<string, unknown>>
  /** Statuses of refusals that other rows of the same kind do not have. */
  readonly refusals?: readonly number[]
}

/** Descriptions by method and path: `GET /v1/buyer/me`. */
export type Descriptions = Readonly<Record<string, Described>>
