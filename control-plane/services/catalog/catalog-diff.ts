import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Model } from '#shared/catalog/model.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import type { PriceLines } from '#shared/price-list.ts'
import { writeUnitPrices } from '#shared/pricing.ts'
import { byText } from '#shared/text-order.ts'

/**
 * A field of a model before and after. `price.` with a usage class is a price in pico-USD, followed by ` when `
 * and the conditions of a conditional price. ` at least` marks the least billed units of a request. Null means no
 * value.
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

type Version = { readonly model: Model; readonly prices: PriceLines }

export const NO_LINES: PriceLines = { unitPrices: {} }

/** Returns the difference between the present and the imported model; undefined when there is none. */
export function changeOf(before: Version | undefined, after: Version): ModelChange | undefined {
  const { id } = after.model
  const prices = changedPrices(before?.prices ?? NO_LINES, after.prices)
  if (before === undefined) {
    const added = { field: 'added', before: null, after: after.model }
    return { model: id, kind: 'added', fields: [added, ...prices] }
  }
  const fields = [...changedFields(before.model, after.model), ...prices]
  return fields.length === 0 ? undefined : { model: id, kind: 'changed', fields }
}

function changedFields(before: Model, after: Model): FieldChange[] {
  return ModelSchema.keyof()
    .options.filter((field) => !isDeepStrictEqual(comparable(before[field]), comparable(after[field])))
    .map((field) => ({ field, before: before[field], after: after[field] }))
}

/** Makes a value comparable. A list counts as a set, so its order is ignored, as that of an object's members is. */
function comparable(value: Model[keyof Model]): unknown {
  return Array.isArray(value) ? [...new Set(value)].map(String).sort(byText) : value
}

/** The lines whose price differs, and the order of the conditions where that alone differs. */
export function changedPrices(before: PriceLines, after: PriceLines): FieldChange[] {
  const [old, next] = [linesOf(before), linesOf(after)]
  const names = [...new Set([...old.keys(), ...next.keys()])].sort(byText)
  const changed = names
    .map((name) => ({ field: `price.${name}`, before: old.get(name) ?? null, after: next.get(name) ?? null }))
    .filter((price) => price.before !== price.after)
  if (changed.length > 0) return changed
  const [order, newOrder] = [before, after].map(({ overrides = [] }) => overrides.map(({ name }) => name).join(', '))
  return order === newOrder ? [] : [{ field: 'price.conditions', before: order, after: newOrder }]
}

/** Every line of a price list by its class and conditions: `input`, `input when prompt_tokens>=272001`. */
function linesOf({ unitPrices, overrides = [], minimums = {} }: PriceLines): Map<string, string> {
  const lines = new Map(Object.entries(writeUnitPrices(unitPrices)))
  for (const { name, unitPrices: own } of overrides) {
    for (const [usageClass, price] of Object.entries(writeUnitPrices(own)))
      lines.set(`${usageClass} when ${name}`, price)
  }
  for (const [usageClass, least] of Object.entries(minimums)) lines.set(`${usageClass} at least`, String(least))
  return lines
}
