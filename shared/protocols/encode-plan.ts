import type { Model } from '#shared/catalog/model.ts'

/** The data that the writer of a request needs beside the conversation. */
export type EncodePlan = {
  readonly offer: { readonly providerModel: string }
  readonly target: { readonly model: Model }
  /** The output limit to forward. */
  readonly maxOutputTokens: number
}
