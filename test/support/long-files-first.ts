import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/** Files that take a minute or more. One that began last would run alone at the end. */
const LONG = [
  'faults/faults.test.ts',
  'sim/simulation.test.ts',
  'doors/same-answers.test.ts',
  'flows/outcomes.test.ts',
  'flows/page-payouts.test.ts',
  'flows/page.test.ts',
  'flows/busy-ports.test.ts',
  'sim/mutants.test.ts',
  'sim/scripts.test.ts',
]

/** Begins with the long files. A fresh checkout knows of no earlier run, and the size of a file does not tell. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONG.findIndex((name) => moduleId.endsWith(name))
      return place === -1 ? LONG.length : place
    }
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}
