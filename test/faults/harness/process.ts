import { readFileSync } from 'node:fs'
import { REPOSITORY } from '#dev/network/programs.ts'
import { startHeld } from '#dev/services/held-process.ts'
import { until } from '#test/support/run/until.ts'

const READY_MS = 20_000
const KILLED = 137

export type Environment = Readonly<Record<string, string>>

export type ProcessOptions = {
  readonly name: string
  /** The arguments of `node`: flags, script, arguments. */
  readonly args: readonly string[]
  readonly environment: Environment
  readonly logFile: string
  /** The URL that answers when the process is ready. Undefined for a process that is not asked. */
  readonly readyUrl?: string
}

/** The end of a process, and whether the row intended it. */
export type Exit = { readonly name: string; readonly code: number; readonly isMeant: boolean }

export type StartChanges = {
  readonly environment?: Environment
  readonly args?: readonly string[]
  /** Arguments in front of node: a tracer that lets the program keep its process id. */
  readonly wrapper?: readonly string[]
  /** True when the process is expected to end by itself. */
  readonly mustEnd?: boolean
  /** True when the start does not wait until the process is ready. */
  readonly isHasty?: boolean
}

/** A real process that can be killed, frozen and started again under the same name. */
export type Program = {
  readonly name: string
  readonly logFile: string
  pid(): number
  isRunning(): boolean
  /** Resident memory in bytes. 0 for a process that does not run. */
  memoryBytes(): number
  /** Starts the process and waits until it is ready. Returns the milliseconds of the start. */
  start(changes?: StartChanges): Promise<number>
  untilReady(limitMs?: number): Promise<void>
  signal(name: NodeJS.Signals): void
  kill(): Promise<void>
  /** Ends the process by SIGTERM. Returns its exit code. */
  end(): Promise<number>
  /** Waits for an end that the row intends. Returns the exit code. */
  ended(): Promise<number>
}

export function createProgram(options: ProcessOptions, exits: Exit[]): Program {
  let pid = 0
  let isRunning = false
  let isMeant = false
  let exited: Promise<number> = Promise.resolve(0)

  async function untilReady(limitMs = READY_MS): Promise<void> {
    const { readyUrl, name, logFile } = options
    if (readyUrl === undefined) return
    await until(`${name} is ready (${logFile})`, limitMs, () => isRunning && isOk(readyUrl))
  }

  return {
    name: options.name,
    logFile: options.logFile,
    pid: () => pid,
    isRunning: () => isRunning,
    memoryBytes() {
      const text = isRunning ? readFileSync(`/proc/${pid}/status`, 'utf8') : ''
      return Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? 0) * 1_024
    },
    async start(changes = {}) {
      const began = performance.now()
      const given = changes.args ?? options.args
      const [command = process.execPath, ...args] = [...(changes.wrapper ?? []), process.execPath, ...given]
      const held = await startHeld({
        command,
        args,
        cwd: REPOSITORY,
        env: { PATH: process.env['PATH'] ?? '', ...options.environment, ...changes.environment },
        logFile: options.logFile,
        orphanSignal: 'KILL',
      })
      pid = held.pid
      isRunning = true
      isMeant = changes.mustEnd ?? false
      exited = held.exited.then((code) => {
        isRunning = false
        exits.push({ name: options.name, code, isMeant })
        return code
      })
      if (changes.isHasty !== true) await untilReady()
      return performance.now() - began
    },
    untilReady,
    signal(name) {
      if (isRunning) process.kill(pid, name)
    },
    async kill() {
      isMeant = true
      if (isRunning) process.kill(pid, 'SIGKILL')
      await exited
    },
    async end() {
      isMeant = true
      if (isRunning) process.kill(pid, 'SIGTERM')
      return exited
    },
    ended() {
      isMeant = true
      return exited
    },
  }
}

/** True for the exit code of a process that was killed. */
export function wasKilled(code: number): boolean {
  return code === KILLED
}

async function isOk(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    (answer) => answer.ok,
    () => false,
  )
}
