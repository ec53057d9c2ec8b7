import type { PlaygroundModelFragment } from '#control-plane/dashboard/data/documents/buyer-playground.ts'
import type { MAKINGS } from './choices.ts'

/** Most models side by side. */
export const MAX_COLUMNS = 4
/** The model of a playground that was opened without one. */
const FIRST_MODEL = 'gpt-5-mini'

/** A model of the market in the playground. */
export type PlaygroundModel = PlaygroundModelFragment

/** The kind of answer that a model gives. */
export type Making = (typeof MAKINGS)[number]

/** A model of those side by side, at any provider or at the named one. */
export type ModelColumn = {
  /** Identifies a column, also among columns of the same model. */
  readonly id: string
  readonly model: string
  readonly provider: string | undefined
}

/** A column with the market's data on its model. Undefined for a model that the market does not list. */
export type ShownColumn = ModelColumn & { readonly making: Making; readonly market: PlaygroundModel | undefined }

/** The columns of an address: `model` or `model@provider`, with commas between them. */
export function columnsOf(models: string | undefined): readonly ModelColumn[] {
  const names = (models ?? '').split(',').map((name) => name.trim())
  const given = names.filter((name) => name !== '' && !name.startsWith('@')).slice(0, MAX_COLUMNS)
  const seen = new Map<string, number>()
  return (given.length === 0 ? [FIRST_MODEL] : given).map((name) => {
    const at = name.lastIndexOf('@')
    const [model, provider] = at <= 0 ? [name, ''] : [name.slice(0, at), name.slice(at + 1)]
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    return { id: count === 1 ? name : `${name}#${count}`, model, provider: provider === '' ? undefined : provider }
  })
}

/** The address of columns. */
export function addressOf(columns: readonly Pick<ModelColumn, 'model' | 'provider'>[]): string {
  return columns.map(({ model, provider }) => (provider === undefined ? model : `${model}@${provider}`)).join(',')
}

/** The kind of answer of a model, by the endpoints that it is sold on. */
export function makingOf(market: PlaygroundModel | undefined, chosen: Making | undefined): Making {
  if (market === undefined) return chosen ?? 'chat'
  const { endpoints, outputModalities } = market
  if (endpoints.includes('video')) return 'film'
  if (endpoints.includes('music')) return 'music'
  if (endpoints.includes('chat') && outputModalities.includes('text') && !outputModalities.includes('image'))
    return 'chat'
  if (endpoints.includes('image')) return 'image'
  return endpoints.includes('speech') ? 'speech' : 'chat'
}

/** True for a model that reads pictures. Unknown, so true, for a model that the market does not list. */
export function takesPictures({ market, making }: ShownColumn): boolean {
  if (market === undefined) return true
  return making !== 'speech' && making !== 'music' && market.inputModalities.includes('image')
}

/** True when one of these models takes a parameter. */
export function anyHeeds(columns: readonly ShownColumn[], ...names: readonly string[]): boolean {
  return columns.some(({ market }) => market === undefined || names.some((name) => market.parameters.includes(name)))
}
