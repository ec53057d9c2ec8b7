import type { ProductMutant } from './product-mutants.ts'

/** A mistake in the product's code that only the long run of the simulation tries. */
export type LongMutant = ProductMutant & {
  /** The share of operations that have a long job before them. */
  readonly jobs: number
  /** The share that have a call before them that a wallet pays for. None unless named. */
  readonly wallets?: number
  /** True where the ledger goes back in time. */
  readonly restores?: boolean
  /** The largest number of seeds that may pass before it is noticed. */
  readonly mostSeeds: number
}
