import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

/** Phrases that docs/writing.md replaces everywhere. Each is wrong wherever a person reads it. */
const REFUSED = [
  /went past (?:it|you|them)\b/i,
  /calls that (?:it|you) comes? first for/i,
  /\bout of real calls\b/i,
  /\bempty (?:is|allows|leaves) (?:all|now|it|the limit)\b/i,
  /\bnobody is told\b/i,
  /\bwho is told\b/i,
  /\bSay more\b/,
  /\bRead again\b/,
  /\bhas announced itself\b/i,
  /\bfor the commands to come\b/i,
  /in the folder of the market/i,
  /\bwhat is told is what is booked\b/i,
  /\bis named in printable ASCII\b/i,
  /\bnobody can be asked here\b/i,
  /\bhas not that much of the token\b/i,
  /\bour sealed word\b/i,
  /\bREST has nothing of it\b/i,
  /\bone of (?:ours|yours)\b/i,
  /\ball the same\b/i,
  /\bcall of yours\b/i,
  /\bunverified providers?\b/i,
]
/** The list of replacements itself. */
const EXEMPT = new Set(['docs/writing.md'])
/** The folders whose texts people read, and the names of the files that count in each. */
const PLACES = [
  { folder: 'docs', files: /^[^/]+\.(?:md|txt)$/ },
  { folder: 'control-plane/cli', files: /\.ts$/ },
  { folder: 'control-plane/dashboard', files: /\.tsx?$/ },
  { folder: 'control-plane/services', files: /\.ts$/ },
  { folder: 'shared', files: /^error-table\.ts$/ },
]

/** Lines of a text without the comments of code. */
function linesOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  if (!/\.tsx?$/.test(file)) return text.split('\n')
  return text.split('\n').filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
}

it('uses no phrase that docs/writing.md replaces', () => {
  const found = PLACES.flatMap(({ folder, files }) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => files.test(name) && !name.includes('documents/'))
      .map((name) => `${folder}/${name}`)
      .filter((file) => !EXEMPT.has(file))
      .flatMap((file) =>
        linesOf(file).flatMap((line) =>
          REFUSED.filter((phrase) => phrase.test(line)).map((phrase) => `${file}: ${phrase.exec(line)?.[0]}`),
        ),
      ),
  )
  expect(found).toEqual([])
})
