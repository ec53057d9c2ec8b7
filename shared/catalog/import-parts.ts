import { isRecord } from '#shared/json-members.ts'

/** The market takes bodies of one megabyte. A part stays below that, in characters. */
const MAX_PART_CHARS = 700_000
const MAX_DESCRIPTION_CHARS = 2_000

/** The fields of a model that an import reads. Other fields are not sent. */
const READ_FIELDS = [
  'id',
  'canonical',
  'canonical_slug',
  'aliases',
  'name',
  'created',
  'description',
  'context_length',
  'architecture',
  'pricing',
  'unit_pricing',
  'top_provider',
  'supported_parameters',
  'supported_features',
  'endpoints',
  'image_tokens',
]

/** Models of a catalogue that fit in one request. */
export type ImportPart = {
  /** The index of the first model in the whole list. */
  readonly from: number
  readonly models: readonly unknown[]
}

/**
 * The models of a parsed file in the shape `{data: […]}`, `{models: […]}` or `[…]`, with the fields that an import
 * reads. Undefined for a file without models.
 */
export function catalogueModels(parsed: unknown): readonly unknown[] | undefined {
  const rows = isRecord(parsed) ? (parsed['data'] ?? parsed['models']) : parsed
  return Array.isArray(rows) && rows.length > 0 ? rows.map(slim) : undefined
}

function slim(row: unknown): unknown {
  if (!isRecord(row)) return row
  const kept = Object.fromEntries(READ_FIELDS.filter((name) => name in row).map((name) => [name, row[name]]))
  const { description } = kept
  return typeof description === 'string' ? { ...kept, description: description.slice(0, MAX_DESCRIPTION_CHARS) } : kept
}

/** Splits models into parts that fit in one request. */
export function importParts(rows: readonly unknown[]): readonly ImportPart[] {
  const parts: { from: number; models: unknown[]; chars: number }[] = []
  for (const [at, row] of rows.entries()) {
    const chars = JSON.stringify(row).length
    const last = parts.at(-1)
    if (last === undefined || last.chars + chars > MAX_PART_CHARS) parts.push({ from: at, models: [row], chars })
    else {
      last.models.push(row)
      last.chars += chars
    }
  }
  return parts.map(({ from, models }) => ({ from, models }))
}
