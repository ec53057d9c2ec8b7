import type { ImportPart } from '#shared/catalog/import-parts.ts'
import { catalogueModels, importParts } from '#shared/catalog/import-parts.ts'

/** Longest text of a catalogue that the page reads, in characters. Longer ones are for the command line. */
export const MAX_FILE_CHARS = 8_000_000

/** Reads a catalogue, in parts that fit in one request. Throws an Error in words. */
export function partsOfFile(text: string): readonly ImportPart[] {
  if (text.length > MAX_FILE_CHARS) throw new Error('The file is longer than 8 MB. Import it with the command line.')
  const rows = catalogueModels(parse(text))
  if (rows === undefined) {
    throw new Error('There is no list of models. Expected [ … ], or an object with the member data or models.')
  }
  return importParts(rows)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw new Error(`This is not JSON: ${thrown instanceof Error ? thrown.message : 'the text ends too early'}`)
  }
}
