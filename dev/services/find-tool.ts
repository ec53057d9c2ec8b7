import { execFile } from 'node:child_process'
import { existsSync, lstatSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { AppError } from '#shared/errors.ts'

const run = promisify(execFile)

const DOWNLOAD_LIMIT_MS = 120_000
const MAX_OUTPUT_BYTES = 4_000_000
/**
 * The exit codes of a shell for a missing program or one that cannot run. The loader returns them for a missing
 * library.
 */
const CANNOT_RUN = [126, 127]
const PACKAGERS = ['apt-get', 'apt-cache', 'dpkg-deb']

/** A program of the distribution that a plain system may lack. */
export type Tool = {
  /** The names of the programs. The first one is in the package. */
  readonly programs: readonly [string, ...string[]]
  /**
   * Debian's packages with links, the program and its own libraries. Libraries that these depend on are found without a
   * name here.
   */
  readonly packages: readonly string[]
  /** The folder of a program on the system. `bin` by default. */
  readonly folder?: 'bin' | 'sbin'
  /** The name of our copy's folder in the cache. */
  readonly shelf: string
}

export type Binary = {
  readonly command: string
  readonly env: NodeJS.ProcessEnv
  /** The arguments that start it in any environment. */
  readonly words: readonly string[]
}

export type ToolSearch = {
  /** Receives a line before anything that takes time. */
  readonly log?: (line: string) => void
  /** Folders to search first, in the form of PATH. */
  readonly path?: string
}

/**
 * Finds a program on the PATH, or makes a private copy of Debian's or Ubuntu's own package in the user's cache
 * directory. That needs neither root nor an installation. Throws an AppError with the reason.
 */
export async function findTool(
  tool: Tool,
  { log, path = process.env['PATH'] ?? '' }: ToolSearch = {},
): Promise<Binary> {
  const command = commandOn(path, tool.programs)
  if (command !== undefined) return { command, env: process.env, words: [command] }
  const shelf = join(cacheFolder(), tool.shelf)
  const kept = binaryIn(tool, shelf)
  if (await canStart(kept)) return kept
  const [name] = tool.programs
  if (!PACKAGERS.every((packager) => commandOn(process.env['PATH'] ?? '', [packager]))) {
    throw missing(name, 'this system has no Debian packages')
  }
  log?.(`fetching a private copy of ${name}`)
  await copyInto(shelf, tool)
  const fresh = binaryIn(tool, shelf)
  if (!(await canStart(fresh))) throw missing(name, 'its private copy does not start')
  return fresh
}

/** The first existing program of some names in the folders of a path. */
function commandOn(path: string, names: readonly string[]): string | undefined {
  const folders = path.split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find((file) => existsSync(file))
}

function missing(name: string, why: string, cause?: unknown): AppError {
  return new AppError('internal_error', { message: `${name} is not on the PATH, and ${why}`, cause })
}

/** Unpacks the packages beside the shelf, and moves them there in one step. */
async function copyInto(shelf: string, tool: Tool): Promise<void> {
  const [name] = tool.programs
  await mkdir(dirname(shelf), { recursive: true, mode: 0o700 })
  const work = await mkdtemp(`${shelf}-`)
  try {
    await fetchPackages(tool.packages, work)
    if (!(await canStart(binaryIn(tool, join(work, 'tree'))))) throw missing(name, 'its package does not start here')
    await rm(shelf, { recursive: true, force: true })
    // A second process may have made the same tree faster.
    await rename(join(work, 'tree'), shelf).catch(() => undefined)
  } catch (cause) {
    throw cause instanceof AppError ? cause : missing(name, 'its package could not be fetched', cause)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** The cache folder of the user. A user without a usable home gets a temporary folder of its own. */
function cacheFolder(): string {
  const uid = process.getuid?.() ?? 0
  const given = process.env['XDG_CACHE_HOME']
  const home = process.env['HOME'] ?? homedir()
  const base = given !== undefined && given !== '' ? given : existsSync(home) ? join(home, '.cache') : undefined
  return join(base ?? join(tmpdir(), `inference-marketplace-${uid}`), 'inference-marketplace')
}

function binaryIn({ programs: [name], folder = 'bin' }: Tool, tree: string): Binary {
  const machines = ['x86_64', 'aarch64'].map((machine) => join(tree, 'usr', 'lib', `${machine}-linux-gnu`))
  const libraries = machines.join(':')
  const command = join(tree, 'usr', folder, name)
  return {
    command,
    env: { ...process.env, LD_LIBRARY_PATH: libraries },
    words: ['/usr/bin/env', `LD_LIBRARY_PATH=${libraries}`, command],
  }
}

async function canStart({ command, env }: Binary): Promise<boolean> {
  // A program that another user put in a shared temporary folder is not run.
  const stat = lstatSync(command, { throwIfNoEntry: false })
  if (stat === undefined || stat.uid !== process.getuid?.()) return false
  return run(command, ['--version'], { env }).then(
    () => true,
    // Some programs print their version and end with 1.
    (error: { code?: unknown }) => typeof error.code === 'number' && !CANNOT_RUN.includes(error.code),
  )
}

/** Downloads and unpacks with its own state and lists, so that no part of the system is locked or changed. */
async function fetchPackages(packages: readonly string[], work: string): Promise<void> {
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
  const { stdout } = await run('apt-cache', [...options, 'depends', '--important', ...packages], limits)
  const names = [...packages, ...(await missingLibraries(stdout))]
  await run('apt-get', [...options, '-qq', 'download', ...names], limits)
  const archivesHere = (await readdir(work)).filter((name) => name.endsWith('.deb'))
  for (const name of archivesHere) await run('dpkg-deb', ['-x', join(work, name), join(work, 'tree')], limits)
}

/** Libraries that packages depend on, from apt-cache's list, and that the system lacks. */
async function missingLibraries(depends: string): Promise<string[]> {
  const status = await readFile('/var/lib/dpkg/status', 'utf8').catch(() => '')
  const installed = new Set(
    status
      .split('\n\n')
      .filter((entry) => /^Status: .* installed$/m.test(entry))
      .map((entry) => /^Package: (\S+)/m.exec(entry)?.[1]),
  )
  const named = [...depends.matchAll(/^\s*\|?Depends: (lib\S+|lua-\S+)/gm)].map((match) => match[1] ?? '')
  return [...new Set(named)].filter((name) => name !== '' && !installed.has(name))
}
