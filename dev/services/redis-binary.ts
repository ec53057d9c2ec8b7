import { execFile } from 'node:child_process'
import { existsSync, lstatSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { AppError } from '#shared/errors.ts'

const run = promisify(execFile)

const SERVERS = ['redis-server', 'valkey-server']
/** Debian's packages: the server's link, its program, and the libraries that a plain system lacks. */
const PACKAGES = ['redis-server', 'redis-tools']
const DOWNLOAD_LIMIT_MS = 120_000
const MAX_OUTPUT_BYTES = 4_000_000

export type RedisBinary = { readonly command: string; readonly env: NodeJS.ProcessEnv }

/**
 * A real Redis server: one on the PATH, else a private copy of Debian's or Ubuntu's own package in the user's cache
 * directory, for which neither root nor an installation is needed. `log` is told what takes time.
 */
export async function findRedisServer(log: (line: string) => void): Promise<RedisBinary> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const name of SERVERS) {
      const command = join(folder, name)
      if (folder !== '' && existsSync(command)) return { command, env: process.env }
    }
  }
  const shelf = cacheFolder()
  const kept = binaryIn(shelf)
  if (await canStart(kept)) return kept
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/usr/bin/dpkg-deb')) throw missing()
  log('fetching a private copy of the Redis server')
  await mkdir(dirname(shelf), { recursive: true, mode: 0o700 })
  const work = await mkdtemp(`${shelf}-`)
  try {
    await fetchPackages(work)
    const fresh = binaryIn(join(work, 'tree'))
    if (!(await canStart(fresh))) throw missing()
    await rm(shelf, { recursive: true, force: true })
    await rename(join(work, 'tree'), shelf).catch(() => undefined)
  } catch (cause) {
    throw cause instanceof AppError ? cause : missing(cause)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  const installed = binaryIn(shelf)
  if (!(await canStart(installed))) throw missing()
  return installed
}

function missing(cause?: unknown): AppError {
  const message = 'no Redis server was found: install one (apt-get install redis-server) or set REDIS_URL'
  return new AppError('internal_error', { message, cause })
}

/** Per user; a user without a usable home gets a folder of its own among the temporary ones. */
function cacheFolder(): string {
  const uid = process.getuid?.() ?? 0
  const given = process.env['XDG_CACHE_HOME']
  const home = process.env['HOME'] ?? homedir()
  const base = given !== undefined && given !== '' ? given : existsSync(home) ? join(home, '.cache') : undefined
  return join(base ?? join(tmpdir(), `inference-marketplace-${uid}`), 'inference-marketplace', 'redis')
}

function binaryIn(tree: string): RedisBinary {
  const libraries = ['x86_64', 'aarch64'].map((machine) => join(tree, 'usr', 'lib', `${machine}-linux-gnu`))
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(':') }
  return { command: join(tree, 'usr', 'bin', 'redis-server'), env }
}

async function canStart(binary: RedisBinary): Promise<boolean> {
  // A program that another user put in a shared temporary folder is not run.
  const stat = lstatSync(binary.command, { throwIfNoEntry: false })
  if (stat === undefined || stat.uid !== process.getuid?.()) return false
  return run(binary.command, ['--version'], { env: binary.env }).then(
    () => true,
    () => false,
  )
}

/** Downloads and unpacks with state and lists of its own, so that nothing of the system is read-locked or changed. */
async function fetchPackages(work: string): Promise<void> {
  const [lists, state, archives, tree] = ['lists', 'state', 'cache/archives/partial', 'tree'].map((name) =>
    join(work, name),
  )
  for (const folder of [lists, state, archives, tree]) await mkdir(folder ?? work, { recursive: true })
  const options = [
    `Dir::State=${state}`,
    `Dir::State::lists=${lists}`,
    'Dir::State::status=/var/lib/dpkg/status',
    `Dir::Cache=${join(work, 'cache')}`,
    `Dir::Log=${work}`,
    'Debug::NoLocking=1',
    'APT::Sandbox::User=',
  ].flatMap((option) => ['-o', option])
  const limits = { cwd: work, timeout: DOWNLOAD_LIMIT_MS, maxBuffer: MAX_OUTPUT_BYTES }
  await run('apt-get', [...options, '-qq', 'update'], limits)
  const names = [...PACKAGES, ...(await missingLibraries(options, limits.cwd))]
  await run('apt-get', [...options, '-qq', 'download', ...names], limits)
  const packages = (await readdir(work)).filter((name) => name.endsWith('.deb'))
  for (const name of packages) await run('dpkg-deb', ['-x', join(work, name), join(work, 'tree')], limits)
}

/** The libraries that the packages name and the system does not have. */
async function missingLibraries(options: readonly string[], cwd: string): Promise<string[]> {
  const { stdout } = await run('apt-cache', [...options, 'depends', '--important', ...PACKAGES], { cwd })
  const status = await readFile('/var/lib/dpkg/status', 'utf8').catch(() => '')
  const installed = new Set(
    status
      .split('\n\n')
      .filter((entry) => /^Status: .* installed$/m.test(entry))
      .map((entry) => /^Package: (\S+)/m.exec(entry)?.[1]),
  )
  const named = [...stdout.matchAll(/^\s*\|?Depends: (lib\S+|lua-\S+)/gm)].map((match) => match[1] ?? '')
  return [...new Set(named)].filter((name) => name !== '' && !installed.has(name))
}
