import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const DASHBOARD = new URL('../../control-plane/dashboard/', import.meta.url)
/** The ways in which a cell shows an amount, an instant, a share or a price. */
const OF_A_UNIT = /<(?:Money|Time|Ago)\b|\b(?:percent|milliseconds|priceText|unitPriceText)\(/
/** Columns whose cell shows a value, while the file has words. */
const IN_WORDS = ["'Waits for'"]

/** The object literal that holds the text at `index`. */
function objectAround(source: string, index: number): string {
  let start = index
  for (let depth = 0; start > 0; ) {
    start -= 1
    if ('})]'.includes(source[start] ?? '')) depth += 1
    else if ('{(['.includes(source[start] ?? '') && depth-- === 0) break
  }
  let end = start
  for (let depth = 0; end < source.length; end += 1) {
    if ('{(['.includes(source[end] ?? '')) depth += 1
    else if ('})]'.includes(source[end] ?? '') && --depth === 0) break
  }
  return source.slice(start, end + 1)
}

it('a column that shows an amount, an instant or a share names its unit in the file', () => {
  const paths = readdirSync(DASHBOARD, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.tsx'))
  const columns = paths.flatMap((path) => {
    const source = readFileSync(new URL(path, DASHBOARD), 'utf8')
    return [...source.matchAll(/\blabel: ([^\n,]+)/g)].map((found) => {
      return { path, label: found[1] ?? '', text: objectAround(source, found.index) }
    })
  })
  const shown = columns.filter(({ text }) => /\bcell:/.test(text) && /\btext:/.test(text) && OF_A_UNIT.test(text))
  expect(shown.length).toBeGreaterThan(60)
  const bare = shown.filter(({ text, label }) => !/\b(?:unit|file):/.test(text) && !IN_WORDS.includes(label))
  expect(bare.map(({ path, label }) => `${path} ${label}`)).toEqual([])
})
