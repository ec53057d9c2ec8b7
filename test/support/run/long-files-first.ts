import { readFileSync } from 'node:fs'
import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/** The slowest files, longest first. A slow file that began last would run alone at the end. */
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

/** The call by which a file uses its worker's shared market. */
const SHARES = /\bshared(?:Network|RoutedMarket)\(/

/**
 * Puts the slow files first, because a new checkout has no record of earlier runs, and the size of a file does not show
 * its time. The files that share a market follow in one sequence, so that the market ends before the other files.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONG.findIndex((name) => moduleId.endsWith(name))
      const length = place === -1 ? LONG.length : place
      const shares = SHARES.test(readFileSync(moduleId, 'utf8'))
      return shares ? LONG.length + length : place === -1 ? 3 * LONG.length : place
    }
    const ranks = new Map(files.map((file) => [file, rank(file)]))
    return (await super.sort(files)).toSorted((one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0))
  }
}
