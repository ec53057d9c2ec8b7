/** Longest text of a catalogue that the page reads, in characters. Longer ones are for the command line. */
export const MAX_FILE_CHARS = 8_000_000
/** The market takes bodies of one megabyte. A part stays below that, in characters. */
const MAX_PART_CHARS = 700_000
const MAX_DESCRIPTION_CHARS = 2_000

/** The fields of a model that an import reads, as the command line sends them. Other fields are not sent. */
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

export type CataloguePart = {
  /** The index of the first row in the whole list. */
  readonly from: number
  readonly models: readonly unknown[]
}

/**
 * Reads a catalogue in the shape `{data: […]}`, `{models: […]}` or `[…]`, in parts that fit in one request. Throws an
 * Error in words.
 */
export function partsOfFile(text: string): readonly CataloguePart[] {
  if (text.length > MAX_FILE_CHARS) throw new Error('The file is longer than 8 MB. Import it with the command line.')
  const rows = rowsOf(parse(text))
  const parts: { from: number; models: unknown[]; chars: number }[] = []
  for (const [at, row] of rows.map(slim).entries()) {
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw new Error(`This is not JSON: ${thrown instanceof Error ? thrown.message : 'the text ends too early'}`)
  }
}

function rowsOf(parsed: unknown): readonly unknown[] {
  const rows = isRecord(parsed) ? (parsed['data'] ?? parsed['models']) : parsed
  if (!Array.isArray(rows) || rows.length === 0) {
    throw new Error('There is no list of models. Expected [ … ], or an object with the member data or models.')
  }
  return rows
}

function slim(row: unknown): unknown {
  if (!isRecord(row)) return row
  const kept = Object.fromEntries(READ_FIELDS.filter((name) => name in row).map((name) => [name, row[name]]))
  const { description } = kept
  return typeof description === 'string' ? { ...kept, description: description.slice(0, MAX_DESCRIPTION_CHARS) } : kept
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
