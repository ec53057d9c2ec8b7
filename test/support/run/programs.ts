import { createBundles } from '#dev/network/bundles.ts'
import { argumentsOf } from '#dev/network/programs.ts'

/** Programs that only tests start as bundles: a person starts them once, and a test run a hundred times. */
const PROGRAMS = {
  market: 'dev/main.ts',
  operator: 'control-plane/operator.ts',
  'check-ledger': 'control-plane/check-ledger/main.ts',
  'job-poller': 'test/bench/job-poller.ts',
}
const network = createBundles()
const others = createBundles('test', PROGRAMS)

/**
 * Node's arguments, with the bundle of a program of the repository in its place, or its sources where there is no
 * bundle.
 */
export function programArguments(...args: readonly string[]): Promise<readonly string[]> {
  const isOther = Object.values(PROGRAMS).some((program) => args.includes(program))
  return argumentsOf(isOther ? others : network, args)
}

/** Builds the bundles of all programs, so that the files of a run find them. */
export async function makePrograms(): Promise<void> {
  await programArguments(PROGRAMS.market)
  // The process that builds ends with each set of bundles.
  await programArguments('data-plane/main.ts')
}
