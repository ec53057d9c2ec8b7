import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startHeld } from '#dev/services/held-process.ts'
import { AppError } from '#shared/errors.ts'
import type { Bundles } from './bundles.ts'
import { createBundles } from './bundles.ts'
import type { RunningProcess } from './member.ts'

/** Longer than a data plane's own limit for draining. */
const DRAIN_LIMIT_MS = 45_000
const KILL_LIMIT_MS = 5_000
const TAIL_LINES = 30

/** The folder of the repository, in which every program is started. */
export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href

/** A program of this repository. */
export type Program = {
  /** `['data-plane/main.ts']`, relative to the repository's folder. */
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly logFile: string
}

/** The programs of one network. */
export type Programs = {
  /** Starts a program that ends with the launcher. */
  start(program: Program): Promise<RunningProcess>
  /** Runs a program to its end. Throws an AppError with the last lines of its log when it fails. */
  run(name: string, program: Program): Promise<void>
}

export function createPrograms(): Programs {
  const bundles = createBundles()
  return {
    start: (program) => startProgram(bundles, program),
    async run(name, program) {
      const { exited } = await startProgram(bundles, program)
      const code = await exited
      if (code === 0) return
      throw new AppError('internal_error', { message: `${name} failed:\n${tailOf(program.logFile)}` })
    },
  }
}

async function startProgram(bundles: Bundles, program: Program): Promise<RunningProcess> {
  const held = await startHeld({
    command: process.execPath,
    args: await argumentsOf(bundles, program.args),
    cwd: REPOSITORY,
    env: program.env,
    logFile: program.logFile,
    orphanSignal: 'TERM',
  })
  return {
    pid: held.pid,
    exited: held.exited,
    stop: async () => {
      await held.stop([
        { signal: 'TERM', waitMs: DRAIN_LIMIT_MS },
        { signal: 'KILL', waitMs: KILL_LIMIT_MS },
      ])
    },
  }
}

/** Node's arguments for a program: its bundle if it has one, otherwise its sources. */
export async function argumentsOf(bundles: Bundles, args: readonly string[]): Promise<readonly string[]> {
  const at = args.findIndex((argument) => argument.endsWith('.ts'))
  const bundle = await bundles.bundleOf(args[at] ?? '')
  return bundle === undefined ? ['--import', TSX, ...args] : args.with(at, bundle)
}

/** The last lines of a log, for a reader. */
export function tailOf(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-TAIL_LINES).join('\n')
  } catch {
    return ''
  }
}
