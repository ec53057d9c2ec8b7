import type { FeatureName } from '#shared/contract/features.ts'

/** Calls a minute of one key, and of one wallet over all its keys; null sets none. */
export type CallLimit = { readonly perKey: number; readonly perWallet: number | null }

/** What operators have turned, at most a second old. Without the database the last known, or the defaults. */
export type Controls = {
  /** The limit of a kind of call as it is set; `standard` where nobody has set one. */
  limitOf(kind: string, standard: CallLimit): Promise<CallLimit>
  isOn(feature: FeatureName): Promise<boolean>
}
