import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/** The files that take longest, longest first. One that began last would run alone at the end. */
const LONG = [
  'faults/faults.test.ts',
  'flows/page-payouts.test.ts',
  'flows/outcomes.test.ts',
  'services/payout-restores.test.ts',
  'flows/page.test.ts',
  'flows/survival.test.ts',
  'services/payment-faults.test.ts',
  'flows/busy-ports.test.ts',
  'services/lost-claims.test.ts',
  'services/ledger-restores.test.ts',
  'mutants/mutants.test.ts',
  'sim/simulation.test.ts',
  'flows/page-dialogs.test.ts',
  'rails/parity.test.ts',
  'services/job-polls.test.ts',
  'dev/blocked-start.test.ts',
  'flows/snippets.test.ts',
  'doors/same-answers.test.ts',
  'services/payout-faults.test.ts',
  'flows/command-line.test.ts',
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
