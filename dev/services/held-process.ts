import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { AppError } from '#shared/errors.ts'

/**
 * Runs `"$@"` and holds it. Each line on standard input is a signal to pass on. The end of that input, which also comes
 * when the launcher is killed, stops the program by the signal in $1, and after $2 tenths of a second by KILL.
 */
const HOLDER = `
eof="$1"; patience="$2"; shift 2
exec 3<&0 </dev/null
"$@" 3<&- >&2 &
pid=$!
echo "$pid"
exec >/dev/null
(
  while read -r name; do kill -s "$name" "$pid"; done
  kill -s "$eof" "$pid"
  waited=0
  while [ "$waited" -lt "$patience" ] && kill -0 "$pid"; do sleep 0.1; waited=$((waited + 1)); done
  kill -s KILL "$pid"
) <&3 3<&- 2>/dev/null &
watcher=$!
exec 3<&-
wait "$pid"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"
`

/** An orphan that has not ended after this time is killed. */
const ORPHAN_PATIENCE_MS = 15_000

export type HeldOptions = {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** The program's output is appended to this file, which is made with mode 0600. */
  readonly logFile: string
  /** The signal that ends the program when the launcher is gone. */
  readonly orphanSignal: SignalName
  /** The user and group to run as. By default those of the launcher. */
  readonly uid?: number
}

export type SignalName = 'TERM' | 'INT' | 'QUIT' | 'KILL'

/** A child that ends with the launcher. */
export type HeldProcess = {
  /** The id of the program itself, not of the shell that holds it. */
  readonly pid: number
  readonly signal: (name: SignalName) => void
  /** Resolves to the exit code when the program has ended. */
  readonly exited: Promise<number>
  /** Sends the next signal whenever the program has not ended in time. The last one must be KILL. */
  readonly stop: (steps: readonly StopStep[]) => Promise<number>
}

export type StopStep = { readonly signal: SignalName; readonly waitMs: number }

/** Starts a program in its own process group. A shell ends the program when the pipe from the launcher closes. */
export async function startHeld(options: HeldOptions): Promise<HeldProcess> {
  const log = openSync(options.logFile, 'a', 0o600)
  const patience = String(ORPHAN_PATIENCE_MS / 100)
  const shell = spawn(
    '/bin/sh',
    ['-c', HOLDER, 'holder', options.orphanSignal, patience, options.command, ...options.args],
    {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: ['pipe', 'pipe', log],
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    },
  )
  closeSync(log)
  const { stdin, stdout } = shell
  if (!stdin || !stdout) throw new AppError('internal_error', { message: 'a child process has no pipes' })
  const exited = new Promise<number>((resolve) => {
    shell.once('exit', (code) => resolve(code ?? 1))
    shell.once('error', () => resolve(127))
  })
  // Writing to a program that has just ended is no fault.
  stdin.on('error', () => undefined)
  void exited.then(() => stdin.destroy())
  const pid = await firstNumber(stdout)
  const signal = (name: SignalName) => {
    if (!stdin.destroyed) stdin.write(`${name}\n`)
  }
  return { pid, signal, exited, stop: (steps) => stopInSteps(signal, exited, steps) }
}

async function stopInSteps(
  signal: (name: SignalName) => void,
  exited: Promise<number>,
  steps: readonly StopStep[],
): Promise<number> {
  for (const step of steps) {
    signal(step.signal)
    const code = await within(exited, step.waitMs)
    if (code !== undefined) return code
  }
  return exited
}

/** The value, or undefined when the promise takes longer. */
async function within<Value>(promise: Promise<Value>, limitMs: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

async function firstNumber(stream: NodeJS.ReadableStream): Promise<number> {
  let text = ''
  for await (const chunk of stream) {
    text += String(chunk)
    if (text.includes('\n')) return Number(text.split('\n', 1)[0])
  }
  throw new AppError('internal_error', { message: 'a child process could not be started' })
}
