/** An offer in the dialogs that change it. */
export type Edited = {
  readonly id: string
  readonly model: string
  readonly status: 'active' | 'paused' | 'inactive'
  readonly discount: number
  readonly capDailyUsd: number | null
  readonly delistedReason: string | null
  /** Sales of the window that the screen shows; left out where the screen has no such figure. */
  readonly recent?: { readonly calls: number; readonly window: string } | null
}
