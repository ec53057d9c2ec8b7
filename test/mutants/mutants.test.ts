import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { REPOSITORY } from '#dev/network/programs.ts'
import { ROWS } from '#test/faults/rows/index.ts'
import { seekNotice } from '#test/sim/hunt.ts'
import { replaceOnce } from '#test/support/sources/replace-once.ts'
import { MUTANTS } from './index.ts'
import { createWorkshop } from './judge-by-simulation.ts'
import { quickHunts } from './quick-hunts.ts'

const workshop = createWorkshop()
afterAll(() => workshop.close())

/**
 * Most mutants are built by `npm run test:mutants` only. Without this test, a moved text would be found only there,
 * hours later.
 */
describe('a mutant', () => {
  it('has a name of its own', () => {
    const names = MUTANTS.map(({ name }) => name)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  })

  it.each(MUTANTS)('$name changes texts that occur once in their places', ({ edits }) => {
    const sources = new Map(edits.map(({ file }) => [file, readFileSync(join(REPOSITORY, file), 'utf8')]))
    for (const edit of edits) sources.set(edit.file, replaceOnce(sources.get(edit.file) ?? '', edit))
  })

  it('names a test file or a row that exists', () => {
    const numbers = new Set(ROWS.map(({ number }) => number))
    const missing = MUTANTS.flatMap(({ noticedBy }) => {
      if (noticedBy.by === 'tests') {
        return existsSync(join(REPOSITORY, `test/${noticedBy.file}.test.ts`)) ? [] : noticedBy.file
      }
      return noticedBy.by === 'simulation' || numbers.has(noticedBy.row) ? [] : noticedBy.row
    })
    expect(missing).toEqual([])
  })

  it('finds its place by a function, wherever the function is in the file', () => {
    const source =
      'function one() {\n  go()\n}\n\nconst more = {\n  async two(\n    it: string,\n  ) {\n    go()\n  },\n}\n'
    const edit = { file: 'any.ts', find: 'go()', replace: 'stop()' }
    expect(replaceOnce(source, { ...edit, within: 'one' })).toBe(source.replace('go()', 'stop()'))
    expect(replaceOnce(source, { ...edit, within: 'two' })).toBe(source.replace('    go()', '    stop()'))
    expect(() => replaceOnce(source, edit)).toThrow('2 times')
    expect(() => replaceOnce(source, { ...edit, within: 'three' })).toThrow('not have exactly one three')
  })
})

describe('the simulation', () => {
  it.each(quickHunts())('notices $name', async ({ most, start, ...hunt }) => {
    const found = await seekNotice(await start(workshop), { ...hunt, most })
    expect(found, `not in ${most} seeds`).toBeDefined()
  })
})
