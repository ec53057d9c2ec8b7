/**
 * The unit of a column's values. The file has times in ISO 8601 and amounts in whole units, and its head names the
 * unit.
 * `time` is Unix milliseconds, `microUsd` and `microUsdc` are millionths.
 */
export type Unit = 'time' | 'microUsd' | 'microUsdc' | 'usd' | 'ms' | 'percent'

export type FileValue = string | number | bigint | null | undefined

export type FileColumn<Row> = {
  readonly label: string
  /** The cell in a file; left out for a column of buttons. */
  readonly text?: (row: Row) => FileValue
  readonly unit?: Unit
  /** The columns of a file in place of this one, when a cell shows several values. */
  readonly file?: readonly FileColumn<Row>[]
}

/** Saves a text as a file of the reader. */
export function saveFile(name: string, text: string, type = 'text/csv'): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }))
  openLink(url, name)
  URL.revokeObjectURL(url)
}

/** Follows a link to a file. */
export function openLink(url: string, name?: string): void {
  const link = document.createElement('a')
  link.href = url
  link.download = name ?? ''
  link.click()
}
