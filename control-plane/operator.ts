import { parseArgs } from 'node:util'
import type { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { Operation } from '#control-plane/operation/operation.ts'
import { SECOND } from '#shared/clock.ts'
import { AppError, describeCause, toAppError } from '#shared/errors.ts'
import { toCamelName } from '#shared/field-names.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'
import { readConfig } from './config.ts'
import { reachDatabase } from './db/database.ts'
import { machineOperator } from './operation/actor.ts'
import type { ControlPlane } from './plane.ts'
import { createControlPlane } from './plane.ts'
import { openRedisGateKeeper } from './ports/gate-keeper/redis-gate-keeper.ts'
import type { GateStatus } from './services/gate/gate-status.ts'
import { readGateStatus } from './services/gate/gate-status.ts'
import { createManagementKey, createUser } from './services/users/users.ts'

const CONNECT_WAIT_MS = 3 * SECOND

/** The options of a command by name. A missing option is absent. */
type Options = { readonly [name: string]: string | undefined }

type Command = {
  readonly usage: string
  readonly run: (plane: ControlPlane, options: Options) => Promise<unknown>
}

/** Defines a command that invokes one operation. `read` turns the option texts into its input. */
function command<Input extends z.ZodType, Output>(
  usage: string,
  operation: Operation<'operator', Input, Output>,
  read: (options: Options) => unknown = (options) => options,
): Command {
  return {
    usage,
    run: (plane, options) => invoke(plane, machineOperator('command line'), operation, read(options)),
  }
}

async function readStatus(plane: ControlPlane): Promise<GateStatus> {
  const { redisUrl, moneyBuckets } = plane.config
  const { clock, log } = plane
  const { keeper, close } = openRedisGateKeeper({ url: redisUrl.reveal(), buckets: moneyBuckets, clock, log })
  try {
    return await readGateStatus({ db: plane.db, keeper, clock: plane.clock })
  } finally {
    close()
  }
}

/**
 * Commands that only the machine itself may run, or that need everything else to be stopped. All other commands are in
 * `market operator`.
 */
const COMMANDS: Readonly<Record<string, Command>> = {
  'user:create': command('--wallet 0x… [--label text] [--keys buyer,seller]', createUser, ({ keys, ...rest }) => ({
    ...rest,
    ...(keys === undefined ? {} : { keys: keys.split(',') }),
  })),
  'management-key:create': command(
    '--label text --scope org|operator [--organization org_… --role admin]',
    createManagementKey,
  ),
  'gate:status': { usage: '', run: readStatus },
}

/** Reads the options after a command: `--some-thing value` becomes `someThing`. Throws for anything else. */
function readOptions(args: readonly string[]): Record<string, string> {
  const names = args.filter((arg) => /^--[a-z-]+/.test(arg)).map((arg) => arg.slice(2).split('=', 1)[0] ?? '')
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]))
  const { values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false })
  const given: Record<string, string> = {}
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string') given[toCamelName(name.replaceAll('-', '_'))] = value
  }
  return given
}

/** Prints the answer of a command. A new key is shown, because this is the operator's own terminal. */
function print(value: unknown): void {
  const json = JSON.stringify(revealed(value), null, 2)
  process.stdout.write(`${json}\n`)
}

function revealed(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal()
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(revealed)
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, revealed(part)]))
}

/** Throws `service_unavailable` with the server's own message when Postgres cannot be reached. */
async function requireDatabase({ db }: ControlPlane): Promise<void> {
  await reachDatabase(db).catch((cause: unknown) => {
    const word = describeCause(cause)?.message ?? 'no answer'
    throw new AppError('service_unavailable', { message: `The database cannot be reached: ${word}.`, cause })
  })
}

async function main([name = 'help', ...args]: readonly string[]): Promise<void> {
  const chosen = COMMANDS[name]
  if (chosen === undefined) {
    const lines = Object.entries(COMMANDS).map(([known, { usage }]) => `  ${known} ${usage}`.trimEnd())
    process.stdout.write(`npm run operator -- <command> [options]\n${lines.join('\n')}\n`)
    if (name !== 'help') process.exitCode = 1
    return
  }
  const config = readConfig()
  // Logs go to the standard error, so that the standard output holds only the answer, for a program to read.
  const log = createLogger('operator', config.logLevel, process.stderr)
  const plane = createControlPlane({ ...config, databasePool: 2 }, { log })
  try {
    await requireDatabase(plane)
    await plane.connected(CONNECT_WAIT_MS)
    print(await chosen.run(plane, readOptions(args)))
  } catch (error) {
    const { code, message, param, detail, cause } = toAppError(error)
    print({ error: { code, message, param, detail } })
    if (code === 'internal_error') plane.log.error({ err: cause }, 'the command failed')
    process.exitCode = 1
  } finally {
    await plane.close()
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : 'the command failed'}\n`)
  process.exitCode = 1
})
