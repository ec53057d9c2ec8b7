import type { FeatureName } from '#shared/contract/features.ts'

/** Calls a minute of one key, and of one wallet over all its keys. Null sets no limit. */
export type CallLimit = { readonly perKey: number; readonly perWallet: number | null }

/**
 * Switches and limits set by operators, at most a second old. Without the database, the last known values or the
 * defaults.
 */
export type Controls = {
  /** The limit that operators set for a kind of call; `standard` when they set none. */
  limitOf(kind: string, standard: CallLimit): Promise<CallLimit>
  isOn(feature: FeatureName): Promise<boolean>
}
