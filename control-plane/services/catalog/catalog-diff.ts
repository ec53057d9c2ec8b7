import { z } from 'zod'
import type { Model } from '#shared/catalog/model.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import { byText } from '#shared/text-order.ts'

/**
 * A field of a model before and after. `price.` and a usage class stand for a price in pico-USD. Null means no value.
 */
export const FieldChangeSchema = z.object({
  field: z.string(),
  before: z.unknown(),
  after: z.unknown(),
})
export type FieldChange = z.infer<typeof FieldChangeSchema>

/** The changes that an import would make to one model. */
export const ModelChangeSchema = z.object({
  model: z.string(),
  kind: z.enum(['added', 'changed']),
  fields: z.array(FieldChangeSchema).readonly(),
})
export type ModelChange = z.infer<typeof ModelChangeSchema>

/** Pico-USD by usage class, as decimal strings. */
export type StoredPrices = Readonly<Record<string, string>>

type Version = { readonly model: Model; readonly prices: StoredPrices }

/** Returns the difference between the present and the imported model; undefined when there is none. */
export function changeOf(before: Version | undefined, after: Version): ModelChange | undefined {
  const { id } = after.model
  const prices = changedPrices(before?.prices ?? {}, after.prices)
  if (before === undefined) {
    const added = { field: 'added', before: null, after: after.model }
    return { model: id, kind: 'added', fields: [added, ...prices] }
  }
  const fields = [...changedFields(before.model, after.model), ...prices]
  return fields.length === 0 ? undefined : { model: id, kind: 'changed', fields }
}

function changedFields(before: Model, after: Model): FieldChange[] {
  return ModelSchema.keyof()
    .options.filter((field) => comparable(before[field]) !== comparable(after[field]))
    .map((field) => ({ field, before: before[field], after: after[field] }))
}

/** Makes a value comparable. A list counts as a set, so its order is ignored. */
function comparable(value: Model[keyof Model]): string {
  return JSON.stringify(Array.isArray(value) ? [...new Set(value)].map(String).sort(byText) : value)
}

/** The usage classes whose price differs. */
export function changedPrices(before: StoredPrices, after: StoredPrices): FieldChange[] {
  const classes = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort(byText)
  return classes
    .map((name) => ({ field: `price.${name}`, before: before[name] ?? null, after: after[name] ?? null }))
    .filter((price) => price.before !== price.after)
}
