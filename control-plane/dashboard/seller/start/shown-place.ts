import type { KeyEntry } from './steps.ts'

/** A place at a provider as a command shows it: with a word in place of the key. */
export function shownPlace({ apiKey, ...place }: KeyEntry): KeyEntry {
  return apiKey === undefined ? place : { ...place, apiKey: 'YOUR_PROVIDER_KEY' }
}
