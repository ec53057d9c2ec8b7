/** An offer in the dialogs that change it. */
export type Edited = {
  readonly id: string
  readonly model: string
  readonly status: 'active' | 'paused' | 'inactive'
  readonly discount: number
  readonly capDailyUsd: number | null
  readonly delistedReason: string | null
  /** The price for buyers now, in micro-USD per million tokens or per unit of media. */
  readonly effectiveInputPer1m: number | null
  readonly effectiveOutputPer1m: number | null
  readonly effectiveMediaUnitPrice: number | null
  readonly mediaUnit: string | null
  /** Sales of the window that the screen shows; left out where the screen has no such figure. */
  readonly recent?: { readonly calls: number; readonly window: string } | null
}
