import type { TestProject } from 'vitest/node'
import { freshDashboard } from '#bundle/dashboard.mjs'
import { makePrograms } from './programs.ts'
import { setup as startServices } from './services.ts'

/**
 * Starts the services of a run of all files. The page and the programs are built meanwhile, because the workers of a
 * new checkout would otherwise all build them at the same moment.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [stop] = await Promise.all([startServices(project), makePrograms(), freshDashboard()])
  return stop
}
